package ingest

import (
	"bytes"
	"path/filepath"

	"github.com/tailscope/tailscope/trace"
)

// A file that is rotated by size ends in the midst of a line, and the next one
// begins with the rest. The halves are kept aside until all files are read;
// where they fit, the line is read, and where they do not, they are errors.

// maxFragment bounds the memory of a half.
const maxFragment = 64 << 20

// A fragment is a half of a line.
type fragment struct {
	text  []byte
	kind  trace.DefectKind
	error Located
}

// aside keeps a damaged document that may be half of a line, and reports whether
// it did.
func (k *sink) aside(from, next int, kind trace.DefectKind, error Located) bool {
	text := k.data[from:next]
	if len(text) > maxFragment || k.binary {
		return false
	}
	f := &fragment{bytes.Clone(text), kind, error}
	switch {
	case k.begins && len(skipSpace(k.data[:from])) == 0 && text[0] != '{' && text[0] != '[':
		f.text = bytes.TrimRight(bytes.Clone(k.data[:next]), "\r\n")
		k.head = f
	case k.ends && next == len(k.data) && kind == trace.CutOff && !bytes.HasSuffix(text, []byte{'\n'}):
		k.tail = f
	default:
		return false
	}
	return true
}

// joinRotated joins the halves of lines of files that are neighbours by name, in
// either order: the number of a rotated file may count up or down.
func (p *pool) joinRotated(w *worker) {
	for _, step := range []int{1, -1} {
		for i := range p.files {
			j := i + step
			if j < 0 || j >= len(p.files) {
				continue
			}
			a, b := p.files[i], p.files[j]
			if a.tail == nil || b.head == nil || filepath.Dir(a.path) != filepath.Dir(b.path) {
				continue
			}
			c := &chunk{data: append(bytes.Clone(a.tail.text), b.head.text...), line: 1}
			w.begin()
			k := w.decode(c)
			if k.errorsTotal > 0 || k.rejected > 0 || k.documents != 1 {
				continue
			}
			p.join(&result{sink: k, chunk: c, worker: w, tables: w.tables.View(), remap: w.remap}, i)
			a.tail, b.head = nil, nil
		}
	}
	for i, s := range p.files {
		f := &p.set.Files[i]
		if s.head != nil {
			p.lost(f, s.head)
			f.Errors = append([]Located{s.head.error}, f.Errors[:min(len(f.Errors), maxErrors-1)]...)
		}
		if s.tail != nil {
			p.lost(f, s.tail)
			f.Errors = appendErrors(f.Errors, []Located{s.tail.error})
		}
	}
}

func (p *pool) lost(f *File, x *fragment) {
	f.ErrorsTotal++
	f.Rejected++
	p.set.Rejected++
	p.set.Defects.Add(x.kind, x.error.Message)
}
