package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/tailscope/tailscope/ingest"
)

func convertCommand() *cobra.Command {
	var to, output string
	c := &cobra.Command{
		Use:   "convert PATH...",
		Short: "write any input as OTLP: JSON lines or length-prefixed protobuf",
		Long: `Convert reads whatever analyze reads and writes spans and metric points as the
Collector's file exporter does, with all attributes. What could not be read is
told on standard error, and so is what is not written: descriptions, scopes and
schema URLs of metrics, and attributes of exemplars.`,
		Example: `  tailscope convert --to json jaeger-export.json > traces.jsonl`,
		RunE: func(c *cobra.Command, args []string) error {
			encodings := map[string]ingest.Encoding{"json": ingest.JSONLines, "proto": ingest.ProtoFrames}
			encoding, ok := encodings[to]
			if !ok {
				return &usageError{fmt.Sprintf("--to: %q is not an encoding", to), "json or proto"}
			}
			if len(args) == 0 {
				return &usageError{"no input", "tailscope convert PATH"}
			}
			progress := newProgress(c.ErrOrStderr())
			set, err := ingest.Read(c.Context(), args, ingest.Options{Stdin: c.InOrStdin(), KeepAll: true, Progress: progress.read})
			progress.done()
			if err != nil {
				return err
			}
			for _, f := range set.Files {
				for _, e := range f.Errors {
					fmt.Fprintf(c.ErrOrStderr(), "tailscope: %s: %s: %s\n", printable(f.Path), printable(e.Where), printable(e.Message))
				}
				if more := f.ErrorsTotal - int64(len(f.Errors)); more > 0 {
					fmt.Fprintf(c.ErrOrStderr(), "tailscope: %s: %d more\n", printable(f.Path), more)
				}
			}
			for _, what := range slices.Sorted(maps.Keys(set.Lost)) {
				fmt.Fprintf(c.ErrOrStderr(), "tailscope: not written: %s (%d)\n", what, set.Lost[what])
			}
			return write(c.OutOrStdout(), output, func(w io.Writer) error { return ingest.Convert(w, set, encoding) })
		},
	}
	c.Flags().StringVar(&to, "to", "json", "json (one document a line) or proto (each message behind its length)")
	c.Flags().StringVarP(&output, "output", "o", "", "write to `FILE`")
	return c
}
