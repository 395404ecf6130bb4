package config

import (
	"fmt"
	"slices"
	"time"
)

// Notes is a file of experiments that were made before: what was changed, which
// mechanism it tested, and what came of it. A hypothesis is written down before
// the change; that is what lets a failed one falsify it.
type Notes struct {
	Notes []Note `yaml:"notes"`
}

// A Note is one experiment.
type Note struct {
	// At is its day, or its instant in RFC 3339.
	At string `yaml:"at"`

	// Change is what was done, Observed what came of it, in the team's words.
	Change   string `yaml:"change"`
	Observed string `yaml:"observed"`

	// Outcome is one of NoteOutcomes.
	Outcome string `yaml:"outcome"`

	// Tests is the mechanism that the change would have cured.
	Tests Mechanism `yaml:"tests"`

	// Action is that of the report's actions that the change was, if it was one.
	Action string `yaml:"action"`
	Target string `yaml:"target"`
}

// A Mechanism names a cause by its kind and component. What is not stated fits
// all; services and operations are patterns (see Match).
type Mechanism struct {
	Kind      string `yaml:"kind"`
	Service   string `yaml:"service"`
	Operation string `yaml:"operation"`
	Peer      string `yaml:"peer"`
	Attribute string `yaml:"attribute"`
	Value     string `yaml:"value"`
	Instance  string `yaml:"instance"`
}

// Fits reports whether a cause is of the mechanism.
func (m *Mechanism) Fits(kind, service, operation, peer, attribute, value, instance string) bool {
	return m.Kind != "" && m.Kind == kind && fits(m.Service, service) && fits(m.Operation, operation) && fits(m.Peer, peer) &&
		fits(m.Attribute, attribute) && fits(m.Value, value) && fits(m.Instance, instance)
}

// NoteOutcomes is what can come of an experiment: the tail went down as the
// mechanism foretold, it did not, or nothing could be told.
var NoteOutcomes = []string{"confirmed", "failed", "unclear"}

// LoadNotes is ParseNotes of a file. Errors name it.
func LoadNotes(path string) (*Notes, error) { return load(path, ParseNotes) }

// ParseNotes reads notes. kinds of causes are checked by who knows them.
func ParseNotes(b []byte) (*Notes, error) {
	n := &Notes{}
	if _, err := document(b, n); err != nil {
		return nil, err
	}
	for i := range n.Notes {
		if err := n.Notes[i].check(); err != nil {
			return nil, &Error{Message: fmt.Sprintf(" note %d: %v", i+1, err)}
		}
	}
	return n, nil
}

func (n *Note) check() error {
	switch {
	case n.Change == "":
		return fmt.Errorf("change is missing: say what was done")
	case !slices.Contains(NoteOutcomes, n.Outcome):
		return fmt.Errorf("outcome %q is none of confirmed, failed, unclear", n.Outcome)
	case n.Tests.Kind == "" && n.Action == "":
		return fmt.Errorf("tests.kind is missing: say which mechanism the change would have cured, or which action it was")
	}
	if n.At != "" {
		if _, err := n.Day(); err != nil {
			return err
		}
	}
	return nil
}

// Day is when the experiment was; the zero time if the note does not say.
func (n *Note) Day() (time.Time, error) {
	if n.At == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.Parse(layout, n.At); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("at %q is neither a day (2026-02-17) nor a time in RFC 3339", n.At)
}
