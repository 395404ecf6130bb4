package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents are the pages for people, from here.
func documents(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(names) == 0 {
		t.Fatal("no documents: ", err)
	}
	return append(names, "../../README.md", "../../ARCHITECTURE.md", "../../CHANGELOG.md")
}

var session = regexp.MustCompile("(?ms)^```console\n\\$ (tailscope [^\n]*)\n(.*?)^```\n")

// Sessions in documents are run again, from the root of the repository: what a
// reader sees is what the command prints. -update rewrites them.
func TestSessions(t *testing.T) {
	if testing.Short() {
		t.Skip("runs whole analyses")
	}
	pages := documents(t)
	t.Chdir("../..") // paths are part of what is printed
	n := 0
	for _, name := range pages {
		name = strings.TrimPrefix(name, "../../")
		doc, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		now := session.ReplaceAllFunc(doc, func(b []byte) []byte {
			n++
			m := session.FindSubmatch(b)
			out := command(t, strings.Fields(string(m[1]))[1:]...)
			return []byte("```console\n$ " + string(m[1]) + "\n" + string(out) + "```\n")
		})
		if bytes.Equal(now, doc) {
			continue
		}
		if *update {
			if err := os.WriteFile(name, now, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		was, is := strings.Split(string(doc), "\n"), strings.Split(string(now), "\n")
		for i := range min(len(was), len(is)) {
			if was[i] != is[i] {
				t.Errorf("%s:%d: the session prints\n\t%s\nand not\n\t%s\nrun go test ./cmd/tailscope -run Sessions -update and read the difference", name, i+1, is[i], was[i])
				break
			}
		}
	}
	if n == 0 {
		t.Error("no session in any document")
	}
}

var link = regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)]*)?\)`)

// Links to files in documents lead somewhere.
func TestLinks(t *testing.T) {
	for _, name := range documents(t) {
		doc, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllSubmatch(doc, -1) {
			to := string(m[1])
			if strings.Contains(to, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), to)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, to)
			}
		}
	}
}

// Every trap names tests that exist, so that none is only a story.
func TestTrapsAreCovered(t *testing.T) {
	doc, err := os.ReadFile("../../docs/traps.md")
	if err != nil {
		t.Fatal(err)
	}
	traps := strings.Split(string(doc), "\n## ")[1:]
	if len(traps) < 10 {
		t.Fatalf("%d traps", len(traps))
	}
	for _, trap := range traps {
		title, body, _ := strings.Cut(trap, "\n")
		_, tests, ok := strings.Cut(body, "Covered by ")
		if !ok || !link.MatchString(tests) {
			t.Errorf("the trap %q links to no test", title)
		}
	}
}

var require = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`)

// Each direct requirement of go.mod stands in ARCHITECTURE.md with its reason,
// and nothing that is not required does.
func TestDependenciesHaveReasons(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(doc, []byte("\n")); n >= 150 {
		t.Errorf("ARCHITECTURE.md has %d lines", n)
	}
	_, section, _ := strings.Cut(string(doc), "\n## Dependencies\n")
	section, _, _ = strings.Cut(section, "\n## ")
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\S+/\S+) \| (.*) \|$`).FindAllStringSubmatch(section, -1) {
		listed[m[1]] = true
		if len(m[2]) < 20 {
			t.Errorf("%s: no reason", m[1])
		}
	}
	for _, m := range require.FindAllStringSubmatch(string(mod), -1) {
		if !listed[m[1]] {
			t.Errorf("%s is required and has no row under Dependencies in ARCHITECTURE.md", m[1])
		}
		delete(listed, m[1])
	}
	for name := range listed {
		t.Errorf("%s has a row under Dependencies in ARCHITECTURE.md and is not required", name)
	}
}
