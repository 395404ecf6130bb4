package spill

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tailscope/tailscope/trace"
	"github.com/tailscope/tailscope/trace/tracetest"
)

// add adds spans to a disk, n at a time.
func add(t *testing.T, d *Disk, spans []tracetest.RandomSpan, n int) {
	t.Helper()
	for chunk := range slices.Chunk(spans, n) {
		s := trace.NewStore(trace.NewTables())
		tracetest.Fill(s, chunk)
		if err := d.Add(s); err != nil {
			t.Fatal(err)
		}
	}
}

func open(t *testing.T, dir string) *Disk {
	t.Helper()
	d, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// packed is the spans of a trace as bytes, in their order.
func packed(s *trace.Store, id trace.TraceID) string {
	var refs []trace.SpanRef
	for r := range trace.SpanRef(s.Len()) {
		if s.TraceID(r) == id {
			refs = append(refs, r)
		}
	}
	var p trace.Packer
	return string(p.Append(nil, s, refs))
}

// Every store holds whole traces, no trace is in two, and the spans of each are as
// they came. It holds for parts that fit and for parts that have to be cut again,
// once and at the second sweep.
func TestEveryTraceComesBackWhole(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 9))
		spans := tracetest.Random(rng, 100)
		rng.Shuffle(len(spans), func(i, j int) { spans[i], spans[j] = spans[j], spans[i] }) // traces are torn over segments
		whole := trace.NewStore(trace.NewTables())
		tracetest.Fill(whole, spans)
		d := open(t, t.TempDir())
		add(t, d, spans, 1+rng.IntN(500))
		for sweep, memory := range []int64{1 << 40, 1 << 40, 60 << 10, 2 << 10, 1, 60 << 10} {
			seen := map[trace.TraceID]bool{}
			stores, n := 0, 0
			err := d.Each(context.Background(), memory, func(s *trace.Store) error {
				stores++
				n += s.Len()
				here := map[trace.TraceID]bool{}
				for r := range trace.SpanRef(s.Len()) {
					here[s.TraceID(r)] = true
				}
				for id := range here {
					if seen[id] {
						t.Errorf("trace %s is in two stores", id)
					}
					seen[id] = true
					if packed(s, id) != packed(whole, id) {
						t.Errorf("trace %s is not as it came", id)
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if n != len(spans) || d.Spans() != int64(len(spans)) {
				t.Errorf("seed %d, sweep %d: %d spans of %d", seed, sweep, n, len(spans))
			}
			if memory == 1<<40 && stores != 1 || memory == 1 && stores != len(seen) {
				t.Errorf("seed %d: with %d bytes of memory %d stores of %d traces", seed, memory, stores, len(seen))
			}
		}
	}
}

// A trace cannot be cut, however large it is, and is not cut over and over.
func TestOneLargeTrace(t *testing.T) {
	d := open(t, t.TempDir())
	for range 3 {
		s := trace.NewStore(trace.NewTables())
		for i := range 1000 {
			s.Add(&trace.RawSpan{TraceID: trace.TraceID{15: 7}, ID: trace.SpanID(i + 1), Name: []byte("a")})
		}
		if err := d.Add(s); err != nil {
			t.Fatal(err)
		}
	}
	size, stores := d.Size(), 0
	if err := d.Each(context.Background(), 1, func(s *trace.Store) error { stores++; return nil }); err != nil || stores != 1 || d.Size() != size {
		t.Errorf("%d stores, %d bytes of %d: %v", stores, d.Size(), size, err)
	}
}

// While it is in use, and after, the directory is empty.
func TestNothingIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	d, err := New(dir)
	if err != nil {
		t.Fatal(err)
	}
	add(t, d, tracetest.Random(rand.New(rand.NewPCG(1, 1)), 20), 100)
	names := func() int {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(files)
	}
	if n := names(); n != 0 && runtime.GOOS != "windows" {
		t.Errorf("%d files in use", n)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if n := names(); n != 0 {
		t.Errorf("%d files left", n)
	}
}

// fullDisk takes a number of bytes and no more.
type fullDisk struct {
	file
	room int64
}

func (f *fullDisk) WriteAt(b []byte, at int64) (int, error) {
	if at+int64(len(b)) > f.room {
		return 0, &os.PathError{Op: "write", Path: "/somewhere/tailscope-1.spans", Err: syscall.ENOSPC}
	}
	return f.file.WriteAt(b, at)
}

// A full disk, and a directory that is not there, are named.
func TestWhatCannotHold(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	d.file = &fullDisk{d.file, 20_000}
	spans := tracetest.Random(rand.New(rand.NewPCG(1, 1)), 100)
	var err error
	for chunk := range slices.Chunk(spans, 200) {
		s := trace.NewStore(trace.NewTables())
		tracetest.Fill(s, chunk)
		if err = d.Add(s); err != nil {
			break
		}
	}
	var full *Error
	if !errors.As(err, &full) || full.Dir != dir || full.Held == 0 || !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "/somewhere") {
		t.Errorf("full: %v", err)
	}
	if _, err := New(dir + "/missing"); !errors.As(err, &full) || full.Dir != dir+"/missing" || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("missing: %v", err)
	}
}

func TestASweepEndsEarly(t *testing.T) {
	d := open(t, t.TempDir())
	add(t, d, tracetest.Random(rand.New(rand.NewPCG(1, 1)), 50), 100)
	stop := errors.New("enough")
	if err := d.Each(context.Background(), 1, func(*trace.Store) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(stop)
	if err := d.Each(ctx, 1, func(*trace.Store) error { t.Error("called"); return nil }); !errors.Is(err, stop) {
		t.Error(err)
	}
}
