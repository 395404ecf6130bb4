// Package spill keeps spans on disk, in parts by trace id, where they do not fit
// into memory.
//
// A Disk takes stores in any order with Add and gives stores back with Each: each
// holds whole traces, and no trace is in two. What is given back is what was
// added, span by span in the order of arrival, so that an answer made of the
// parts is that of the whole.
//
// A Disk is one file, which has no name while it is in use where the system
// allows that: however the process ends, it leaves nothing behind. Where it does
// not (Windows), Close removes it.
package spill

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tailscope/tailscope/trace"
)

// An Error is a directory that cannot hold the parts.
type Error struct {
	Dir  string
	Held int64 // bytes that were written before
	Err  error
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: cannot hold the part of the input that is beyond --memory (%d MB so far): %v; make room there, set TMPDIR to a directory with more, or raise --memory", e.Dir, e.Held/1e6, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// fanOut is how many parts a level has. A part that is itself too large is cut
// into as many again.
const (
	fanOutBits = 6
	fanOut     = 1 << fanOutBits
)

// A file is what a Disk needs of one.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
}

// A Disk is spans in a temporary file. It is not safe for concurrent use.
type Disk struct {
	dir    string
	file   file
	name   string // what Close has to remove; "" if nothing
	end    int64
	spans  int64
	root   level
	packer trace.Packer
	buf    []byte
	refs   [fanOut][]trace.SpanRef
}

// A level is the parts by some bits of the hash of the trace id.
type level struct {
	shift uint // how many bits of the hash are used up
	parts [fanOut]part
}

// A part is the spans of some traces.
type part struct {
	segments []segment
	spans    int64
	memory   int64 // about what they take in a store
	one      trace.TraceID
	several  bool   // traces, not only one
	below    *level // what the part was cut into; the segments are empty then
}

// A segment is the spans of a part that were added at once.
type segment struct{ at, size int64 }

// New returns an empty Disk in dir, or in the system's directory for temporary
// files if dir is empty. An error is an *Error.
func New(dir string) (*Disk, error) {
	if dir == "" {
		dir = os.TempDir()
	}
	f, err := os.CreateTemp(dir, "tailscope-*.spans")
	if err != nil {
		return nil, &Error{Dir: dir, Err: cause(err)}
	}
	d := &Disk{dir: dir, file: f}
	if os.Remove(f.Name()) != nil {
		d.name = f.Name()
	}
	return d, nil
}

// cause is an error without the path, which Error says.
func cause(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Close removes the file.
func (d *Disk) Close() error {
	err := d.file.Close()
	if d.name != "" {
		err = errors.Join(err, os.Remove(d.name))
	}
	return err
}

// Spans is how many spans there are.
func (d *Disk) Spans() int64 { return d.spans }

// Size is the file's, in bytes.
func (d *Disk) Size() int64 { return d.end }

// Add adds the spans of a store. An error is an *Error.
func (d *Disk) Add(s *trace.Store) error {
	d.spans += int64(s.Len())
	return d.add(&d.root, s)
}

func (d *Disk) add(l *level, s *trace.Store) error {
	n := s.Len()
	if n == 0 {
		return nil
	}
	for i := range d.refs {
		d.refs[i] = d.refs[i][:0]
	}
	for r := range trace.SpanRef(n) {
		p := hash(s.TraceID(r)) << l.shift >> (64 - fanOutBits)
		d.refs[p] = append(d.refs[p], r)
	}
	// Tables are shared by the parts, and each needs most of them.
	tables, columns := s.Tables.Bytes(), s.Bytes()
	for i := range d.refs {
		refs := d.refs[i]
		if len(refs) == 0 {
			continue
		}
		d.buf = d.packer.Append(d.buf[:0], s, refs)
		if _, err := d.file.WriteAt(d.buf, d.end); err != nil {
			return &Error{Dir: d.dir, Held: d.end, Err: cause(err)}
		}
		p := &l.parts[i]
		p.segments = append(p.segments, segment{d.end, int64(len(d.buf))})
		p.count(s, refs)
		p.memory += columns * int64(len(refs)) / int64(n)
		p.memory += min(tables, int64(len(d.buf)))
		d.end += int64(len(d.buf))
	}
	return nil
}

// hash spreads trace ids, random or not, over the parts.
func hash(id trace.TraceID) uint64 {
	h := binary.BigEndian.Uint64(id[:8])*0x9e3779b97f4a7c15 ^ binary.BigEndian.Uint64(id[8:])
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

// count counts the spans refs of s.
func (p *part) count(s *trace.Store, refs []trace.SpanRef) {
	if p.spans == 0 {
		p.one = s.TraceID(refs[0])
	}
	for i := 0; i < len(refs) && !p.several; i++ {
		p.several = s.TraceID(refs[i]) != p.one
	}
	p.spans += int64(len(refs))
}

// Each calls f with stores that together hold all spans. One takes about memory
// bytes at most, unless a single trace takes more. f must not keep the store.
// Each may be called again.
func (d *Disk) Each(ctx context.Context, memory int64, f func(*trace.Store) error) error {
	e := &sweep{Disk: d, ctx: ctx, memory: memory, f: f, store: trace.NewStore(trace.NewTables())}
	if err := e.level(&d.root); err != nil {
		return err
	}
	return e.flush()
}

// A sweep is one call of Each.
type sweep struct {
	*Disk
	ctx    context.Context
	memory int64
	f      func(*trace.Store) error
	store  *trace.Store
	joined []*part // that go into the next store
	size   int64   // of them
}

func (e *sweep) level(l *level) error {
	for i := range l.parts {
		p := &l.parts[i]
		if p.spans == 0 {
			continue
		}
		if e.ctx.Err() != nil {
			return context.Cause(e.ctx)
		}
		if p.below == nil && p.memory > e.memory && p.several && l.shift+fanOutBits < 64 {
			if err := e.divide(p, l.shift+fanOutBits); err != nil {
				return err
			}
		}
		if p.below != nil {
			if err := e.level(p.below); err != nil {
				return err
			}
			continue
		}
		if e.size+p.memory > e.memory {
			if err := e.flush(); err != nil {
				return err
			}
		}
		e.joined, e.size = append(e.joined, p), e.size+p.memory
	}
	return nil
}

// flush calls f with what was joined.
func (e *sweep) flush() error {
	if len(e.joined) == 0 {
		return nil
	}
	e.store = e.store.Renew(trace.NewTables())
	for _, p := range e.joined {
		for _, g := range p.segments {
			if err := e.read(e.store, g); err != nil {
				return err
			}
		}
	}
	e.joined, e.size = e.joined[:0], 0
	return e.f(e.store)
}

// divide cuts a part by the bits of the hash after shift.
func (d *Disk) divide(p *part, shift uint) error {
	below := &level{shift: shift}
	s := trace.NewStore(trace.NewTables())
	for _, g := range p.segments {
		s = s.Renew(trace.NewTables())
		if err := d.read(s, g); err != nil {
			return err
		}
		if err := d.add(below, s); err != nil {
			return err
		}
	}
	p.below, p.segments = below, nil
	return nil
}

// read adds a segment's spans to a store.
func (d *Disk) read(s *trace.Store, g segment) error {
	if int64(cap(d.buf)) < g.size {
		d.buf = make([]byte, g.size)
	}
	d.buf = d.buf[:g.size]
	if _, err := d.file.ReadAt(d.buf, g.at); err != nil {
		return &Error{Dir: d.dir, Held: d.end, Err: cause(err)}
	}
	return s.AddPacked(d.buf)
}
