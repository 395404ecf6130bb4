package metric

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tailscope/tailscope/trace"
)

// randomPoints is the lines of some series of every type, with resets, copies,
// points without values and exemplars.
func randomPoints(r *rand.Rand) []string {
	var lines []string
	for i := range 1 + r.IntN(6) {
		kind := []string{"gauge", "sum+", "sum±", "dsum+", "hist", "dhist", "exp", "dexp", "summary"}[r.IntN(9)]
		start, now, n := 1+r.IntN(5), 10, 0
		for range 1 + r.IntN(12) {
			now += 10 * r.IntN(3)
			if r.IntN(5) == 0 {
				start, n = now, 0
			}
			n += r.IntN(4)
			line := fmt.Sprintf("m%d %s s=%d t=%d a=%d inst=%d", i, kind, start, now, r.IntN(2), r.IntN(2))
			switch {
			case r.IntN(8) == 0:
				line += " nov"
			case strings.HasSuffix(kind, "hist"):
				line += fmt.Sprintf(" n=%d sum=%d b=1,2 c=%d,0,%d", n, n, n-n/2, n/2)
			case strings.HasSuffix(kind, "exp"):
				line += fmt.Sprintf(" n=%d sum=%d scale=%d pos=%d:%d,%d max=%d", n, n, r.IntN(3)-1, r.IntN(5)-2, n/2, n-n/2, n)
			case kind == "summary":
				line += fmt.Sprintf(" n=%d sum=%d q=0.5:%d,0.99:%d", n, n, n, 2*n)
			default:
				line += fmt.Sprintf(" v=%d", n)
			}
			if r.IntN(3) == 0 {
				line += fmt.Sprintf(" ex=%d:%d:%x@%d", r.IntN(9), r.IntN(9), r.Uint32(), now)
			}
			lines = append(lines, line)
			if r.IntN(6) == 0 {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// Folding halves apart and merging them is folding the whole, to the byte,
// however the points are dealt out and in whichever order they are merged.
func TestMergeLaws(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		lines := randomPoints(r)
		whole := fold(t, strings.Join(lines, "\n"))

		parts := make([][]string, 3)
		for _, l := range lines {
			i := r.IntN(3)
			parts[i] = append(parts[i], l)
		}
		var folds []*Fold
		for _, p := range parts {
			r.Shuffle(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
			folds = append(folds, fold(t, strings.Join(p, "\n")))
		}
		a, b, c := folds[0], folds[1], folds[2]
		before := a.Append(nil)
		left, right := NewFold(), NewFold()
		for _, f := range []*Fold{a, b, c} {
			left.Merge(f)
		}
		bc := NewFold()
		bc.Merge(c)
		bc.Merge(b)
		right.Merge(bc)
		right.Merge(a)
		if !sameBytes(left, whole) || !sameBytes(right, whole) {
			t.Fatalf("seed %d: the parts do not make the whole\n%s", seed, strings.Join(lines, "\n"))
		}
		if !slices.Equal(a.Append(nil), before) {
			t.Fatalf("seed %d: a merge changed what it merged", seed)
		}

		// The same through stores that decoders filled side by side.
		all := NewStore(trace.NewTables())
		for _, p := range parts {
			s := points(t, strings.Join(p, "\n"))
			all.Append(s, all.tables.Absorb(s.tables))
		}
		if all.Points() != len(lines) || !sameBytes(all.Fold(), whole) {
			t.Fatalf("seed %d: appended stores differ from one", seed)
		}
	}
}

// The same points in both halves are copies, once.
func TestDuplicatesAcrossHalves(t *testing.T) {
	text := `
		runs dsum+ s=10 t=20 v=3
		runs dsum+ s=20 t=30 v=4`
	f := fold(t, text)
	f.Merge(fold(t, text))
	if r := f.Rows()[0]; r.Points != 2 || r.Duplicates != 2 || r.Increase != 7 {
		t.Errorf("points %d duplicates %d increase %v; want 2, 2, 7", r.Points, r.Duplicates, r.Increase)
	}
}

// A reset between two halves is one, though neither half saw it.
func TestResetAcrossHalves(t *testing.T) {
	f := fold(t, `runs sum+ s=1 t=10 v=5`)
	f.Merge(fold(t, `runs sum+ s=1 t=20 v=2`))
	if r := f.Rows()[0]; r.Resets != 1 || r.Increase != 7 {
		t.Errorf("resets %d increase %v; want 1, 5 + 2", r.Resets, r.Increase)
	}
}

func TestIdentity(t *testing.T) {
	for _, c := range []struct {
		why    string
		points string
		series int
	}{
		{"the order of attributes is nothing", "m gauge t=1 v=1 a=1 b=2\nm gauge t=2 v=1 b=2 a=1", 1},
		{"two instances", "m gauge t=1 v=1 inst=1\nm gauge t=2 v=1 inst=2", 2},
		{"two attributes", "m gauge t=1 v=1 a=1\nm gauge t=2 v=1 a=2", 2},
		{"delta and cumulative never add up", "m sum+ s=1 t=2 v=1\nm dsum+ s=1 t=2 v=1", 2},
		{"nor do two units", "m gauge t=1 v=1 unit=s\nm gauge t=2 v=1 unit=ms", 2},
	} {
		if n := len(fold(t, c.points).Series()); n != c.series {
			t.Errorf("%s: %d series, want %d", c.why, n, c.series)
		}
	}
}

// Of more exemplars than are kept, the largest are, whatever the halves.
func TestExemplarsAreBounded(t *testing.T) {
	var lines []string
	for i := range 3 * maxExemplars {
		lines = append(lines, fmt.Sprintf("d dexp s=1 t=60 n=1 pos=0:1 ex=%d:a:%x@50", i, i+1))
	}
	f := fold(t, strings.Join(lines[:maxExemplars/2], "\n"))
	f.Merge(fold(t, strings.Join(lines[maxExemplars/2:], "\n")))
	if !sameBytes(f, fold(t, strings.Join(lines, "\n"))) {
		t.Error("halves differ from the whole")
	}
	es := f.Series()[0].Exemplars
	if len(es) != maxExemplars || es[0].Value != 3*maxExemplars-1 {
		t.Errorf("%d kept, the first is %v", len(es), es[0].Value)
	}
}

func TestWhatIsNoPoint(t *testing.T) {
	s := NewStore(trace.NewTables())
	if s.Add(&RawPoint{Name: []byte("m"), Type: Gauge}) || s.Add(&RawPoint{Name: []byte("m"), Time: 1}) {
		t.Error("taken")
	}
	if s.Points() != 0 || s.Defects[MissingPointTime].N != 1 || s.Defects[UnknownType].N != 1 {
		t.Errorf("defects %v", s.Defects)
	}
	for _, kind := range s.Defects.Kinds() {
		if Defects[kind].Sentence == "" {
			t.Errorf("%s is not explained", kind)
		}
	}
}
