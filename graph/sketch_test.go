package graph

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

var update = flag.Bool("update", false, "rewrite the answers in testdata")

// drawn is a set of traces and what follows from them.
type drawn struct {
	store    *trace.Store
	dict     *Dict
	records  []*Record
	spans    [][]Refs
	trees    []*Tree
	fold     *Fold
	verdicts *Verdicts
	defects  []string
}

func judgeAll(*trace.Store, trace.SpanRef, bool) Judgement { return Judgement{Weight: OneRequest} }

func draw(s *trace.Store) *drawn {
	d := &drawn{store: s, dict: NewDict(), fold: NewFold()}
	b := NewBuilder(d.dict, s, judgeAll)
	folder := &Folder{Fold: d.fold, Dict: d.dict}
	Group(s, func(id trace.TraceID, refList []trace.SpanRef) {
		t := &Tree{}
		t.Build(s, id, refList)
		if t.Duplicates > 0 {
			d.defects = append(d.defects, fmt.Sprintf("duplicate %d", t.Duplicates))
		}
		for _, f := range t.Defects {
			where := "trace"
			if f.Node != NoNode {
				where = s.String(s.Name(t.Spans[f.Node]))
			}
			d.defects = append(d.defects, fmt.Sprintf("%s %s", f.Kind, where))
		}
		b.Records(t, func(r *Record, spans []Refs) {
			d.records = append(d.records, r)
			d.spans = append(d.spans, append([]Refs(nil), spans...))
			d.trees = append(d.trees, t)
			folder.Add(r)
		})
	})
	Hold(d.records)
	d.verdicts = NewVerdicts(d.dict, d.fold, SolveClocks(d.fold))
	return d
}

func (d *drawn) name(rec int, call int32, client bool) string {
	ref := d.spans[rec][call]
	n := ref.Work
	if client {
		n = ref.Client
	}
	s := d.store
	sp := d.trees[rec].Spans[n]
	return s.String(s.Resource(s.ResourceOf(sp)).Service) + " " + s.String(s.Name(sp)) + " " + s.Kind(sp).String()
}

// section renders one kind of answer.
func (d *drawn) section(kind string) string {
	var out strings.Builder
	w := &Walker{Dict: d.dict, Verdicts: d.verdicts}
	ms := tracetest.Format
	shown := func(slot SlotID) string { return d.dict.String(d.dict.SlotAt(slot).Shown().Operation) }
	switch kind {
	case "path", "late", "after":
		for i, r := range d.records {
			if i > 0 {
				out.WriteString("\n")
			}
			w.Walk(r)
			switch kind {
			case "path":
				for _, s := range w.Path {
					fmt.Fprintf(&out, "%s..%sms  %s  %s", ms(s.Start), ms(s.End), d.name(i, s.Call, s.Client), kindNames[s.Kind])
					if s.Inferred {
						out.WriteString(" inferred")
					}
					out.WriteString("\n")
				}
			case "late":
				for _, b := range w.Late {
					fmt.Fprintf(&out, "%s..%sms  %s  left at %s\n", ms(b.Start), ms(b.End), d.name(i, b.Call, b.Client), ms(b.Departed))
				}
			case "after":
				for _, b := range w.After {
					fmt.Fprintf(&out, "%s..%sms  %s\n", ms(b.Start), ms(b.End), d.name(i, b.Call, b.Client))
				}
			}
		}
	case "defects":
		for _, f := range d.defects {
			out.WriteString(f + "\n")
		}
	case "orders":
		for _, p := range sortedKeys(d.fold.Orders, comparePairs) {
			o := d.verdicts.Order(p.A, p.B)
			fmt.Fprintf(&out, "%s before %s: held %d refuted %d %s\n", shown(p.A), shown(p.B), o.Held, o.Refuted, [...]string{"undecided", "held", "refuted"}[o.Verdict])
		}
	case "clocks":
		for _, p := range d.verdicts.Clocks.Windows[0].Pairs {
			o := d.verdicts.Clocks.Windows[0].Offset[p]
			shift, _ := d.verdicts.Clocks.Windows[0].Shift(p.A, p.B)
			fmt.Fprintf(&out, "%s to %s: %s..%sms, shift %sms, contradictions %d\n", d.dict.String(p.A), d.dict.String(p.B), ms(o.Lo), ms(o.Hi), ms(shift), o.Contradictions)
		}
	case "requests":
		for _, r := range d.records {
			e := d.dict.SlotAt(r.Calls[0].Slot).Shown()
			fmt.Fprintf(&out, "%s %s %sms", d.dict.String(e.Service), d.dict.String(e.Operation), ms(r.Duration()))
			if r.Before != NoBefore {
				fmt.Fprintf(&out, " before %sms (%s)", ms(r.Before), d.dict.String(r.BeforeEvidence))
			}
			if r.Orphan {
				out.WriteString(" orphan")
			}
			if r.Standing == Stream {
				fmt.Fprintf(&out, " stream (%s)", d.dict.String(r.Reason))
			}
			out.WriteString("\n")
		}
	case "attempts":
		for i, r := range d.records {
			for k := range r.Calls {
				c := &r.Calls[k]
				var f []string
				for bit, name := range map[CallFlags]string{Retry: "retry"} {
					if c.Flags&bit != 0 {
						f = append(f, name)
					}
				}
				if c.Flags&Hedge != 0 {
					f = append(f, "hedge")
				}
				if c.Flags&Loser != 0 {
					f = append(f, "loser")
				}
				if len(f) > 0 {
					fmt.Fprintf(&out, "%s attempt %d: %s\n", d.name(i, int32(k), c.Client.Seen()), c.Attempt, strings.Join(f, " "))
				}
			}
		}
	default:
		fmt.Fprintf(&out, "unknown section %q\n", kind)
	}
	return out.String()
}

var kindNames = [...]string{"own", "gap-before", "gap-after", "wait", "backoff", "timeout"}

func TestSketches(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no sketches", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := tracetest.Parse(string(a.Files[0].Data))
			if err != nil {
				t.Fatal(err)
			}
			d := draw(s)
			for i := range a.Files[1:] {
				f := &a.Files[i+1]
				got := d.section(f.Name)
				if *update {
					f.Data = []byte(got)
				} else if diff := cmp.Diff(string(bytes.TrimRight(f.Data, "\n")), strings.TrimRight(got, "\n")); diff != "" {
					t.Errorf("%s (-want +got):\n%s", f.Name, diff)
				}
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
