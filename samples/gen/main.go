// Gen simulates systems of services and writes their telemetry, with the truth beside it.
//
//	gen --list
//	gen --scenario mercury/client-wait --seed 1 --requests 2000 --out DIR
//
// It writes DIR/baseline and DIR/current, OTLP files as the Collector's file exporter writes them, and
// DIR/truth.json: the causes, and what really happened. The same flags write the same bytes.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/tailscope/tailscope/samples/gen/otlp"
	"github.com/tailscope/tailscope/samples/gen/scenario"
)

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(2)
	}
}

func run(stdout io.Writer, args []string) error {
	fs := flag.NewFlagSet("gen", flag.ContinueOnError)
	list := fs.Bool("list", false, "list the scenarios")
	name := fs.String("scenario", "", "simulate the scenario `NAME`")
	seed := fs.Uint64("seed", 1, "seed `N` of all random numbers")
	requests := fs.Int("requests", 2000, "simulate `N` requests a side")
	out := fs.String("out", "", "write into `DIR`")
	encoding := fs.String("encoding", "json", "`json` lines or length-prefixed proto")
	compress := fs.String("compress", "none", "none, gzip, zstd, or zstd-framed (each message by itself, as the file exporter does): `HOW`")
	rotate := fs.Int("rotate", 0, "begin another file before one exceeds `BYTES` uncompressed; 0: never")
	truth := fs.String("truth", "full", "truth.json with each request's waits (`full`) or without (summary)")
	fs.SetOutput(io.Discard) // main prints the error
	if err := fs.Parse(args); err == flag.ErrHelp {
		fs.SetOutput(stdout)
		fmt.Fprint(stdout, "gen --list\ngen --scenario NAME --out DIR [flags]\n\n")
		fs.PrintDefaults()
		return nil
	} else if err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("what is %q? there are flags only", fs.Arg(0))
	}
	if *list {
		for _, s := range scenario.List() {
			fmt.Fprintf(stdout, "%-40s %-13s %s\n", s.Name, s.Verdict, s.About)
		}
		return nil
	}
	format, err := parseFormat(*encoding, *compress)
	if err != nil {
		return err
	}
	format.MaxBytes = *rotate
	switch {
	case *name == "":
		return fmt.Errorf("--scenario is missing; --list names them")
	case *out == "":
		return fmt.Errorf("--out is missing")
	case *requests < 1:
		return fmt.Errorf("--requests must be at least 1")
	case *truth != "full" && *truth != "summary":
		return fmt.Errorf("--truth is full or summary, not %q", *truth)
	}
	r, err := scenario.Generate(*name, *seed, *requests)
	if err != nil {
		return err
	}
	return r.Write(*out, format, *truth == "full")
}

func parseFormat(encoding, compress string) (f otlp.Format, err error) {
	switch encoding {
	case "json":
	case "proto":
		f.Encoding = otlp.Proto
	default:
		return f, fmt.Errorf("--encoding is json or proto, not %q", encoding)
	}
	c, ok := map[string]otlp.Compression{"none": otlp.None, "gzip": otlp.Gzip, "zstd": otlp.Zstd, "zstd-framed": otlp.ZstdFramed}[compress]
	if !ok {
		return f, fmt.Errorf("--compress is none, gzip, zstd or zstd-framed, not %q", compress)
	}
	f.Compression = c
	return f, nil
}
