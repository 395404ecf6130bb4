package config

import (
	"strings"
	"testing"
)

func TestNotes(t *testing.T) {
	n, err := ParseNotes([]byte(`
notes:
  - at: 2026-02-17
    change: 25 % more hosts
    observed: p99 moved by 11 of 187 ms
    outcome: failed
    tests: { kind: load, service: "ing*" }
  - at: 2026-02-18T10:00:00Z
    change: a cache
    outcome: unclear
    action: cache
`))
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Notes) != 2 || n.Notes[1].Action != "cache" {
		t.Fatalf("%+v", n)
	}
	m := &n.Notes[0].Tests
	for _, c := range []struct {
		kind, service string
		want          bool
	}{{"load", "ingress", true}, {"load", "pricing", false}, {"client-wait", "ingress", false}} {
		if got := m.Fits(c.kind, c.service, "GET /", "", "", "", ""); got != c.want {
			t.Errorf("%s of %s fits: %v", c.kind, c.service, got)
		}
	}
	if (&Mechanism{}).Fits("", "", "", "", "", "", "") {
		t.Error("a note without a mechanism fits a cause")
	}
	if n, err := ParseNotes(nil); err != nil || len(n.Notes) != 0 {
		t.Errorf("no notes: %v, %v", n, err)
	}
}

func TestBadNotes(t *testing.T) {
	for text, want := range map[string]string{
		"notes: [{outcome: failed, tests: {kind: load}}]":                              "change is missing",
		"notes: [{change: x, tests: {kind: load}}]":                                    "outcome",
		"notes: [{change: x, outcome: failed}]":                                        "tests.kind is missing",
		"notes: [{change: x, outcome: failed, tests: {kind: load}, at: last tuesday}]": "neither a day",
		"notes: [{change: x, outcome: failed, tests: {kid: load}}]":                    "kid",
		"notes: {": "",
		"note: []": "note",
	} {
		if _, err := ParseNotes([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
