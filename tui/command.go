package tui

import (
	"regexp"
	"strings"

	"github.com/tailscope/tailscope/internal/escape"
)

// The commands that reproduce a view. They are pasted into shells: nothing that the data held may be more than an
// argument there, or steer the terminal it is pasted into.

// Quote makes an argument of a POSIX shell of s.
func Quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%^") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// exactly is a regular expression for one name. What could steer a terminal becomes a dot, which matches it.
func exactly(s string) string {
	var b strings.Builder
	b.WriteString("^")
	for _, r := range regexp.QuoteMeta(s) {
		if !escape.Shown(r) || r == '\ufffd' {
			b.WriteByte('.')
			continue
		}
		b.WriteRune(r)
	}
	b.WriteString("$")
	re := b.String()
	if strings.ContainsAny(s, "\n") {
		re = "(?s)" + re
	}
	return re
}

// analyzeCommand is the analysis of one endpoint, or of all.
func analyzeCommand(src *Source, service, operation string, inner bool) string {
	cmd := "tailscope analyze " + src.Args
	if inner {
		cmd += " --inner"
	}
	if operation != "" {
		cmd += " --endpoint " + Quote(exactly(service+" "+operation))
	}
	return cmd
}

// traceCommand shows one request.
func traceCommand(src *Source, r TraceRef) string {
	var b strings.Builder
	for _, c := range r.ID {
		if escape.Shown(c) {
			b.WriteRune(c)
		}
	}
	return "tailscope trace " + Quote(b.String()) + " " + src.Inputs(r.Set)
}
