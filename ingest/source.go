package ingest

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/tailscope/tailscope/trace"
)

// chunkSize is about how much is decoded at a time: enough that the cost of a
// chunk's own tables vanishes, small enough that a few fit into a cache.
const chunkSize = 1 << 20

// sniffed is how many bytes of a file are looked at to find its format.
const sniffed = 64 << 10

// A source is a file that is being read. The lock is held while its next chunk
// is cut.
type source struct {
	sync.Mutex
	input
	limits  *Limits
	keepAll bool
	read    func(n int) // told of bytes read

	done    atomic.Bool
	counted int64 // bytes read
	index   int   // of the next chunk
	file    io.ReadCloser
	closers []func()
	cut     cutter

	// What was found; packing is written before the last chunk is handed on,
	// formats by the merger.
	packing    string
	formats    format
	head, tail *fragment
}

// A cutter cuts a stream into chunks. The chunk may hold errors, and no data if
// the stream has ended.
type cutter interface{ next() *chunk }

// next is the next chunk. One without data is the last.
func (s *source) next() *chunk {
	if s.cut == nil {
		if err := s.begin(); err != nil {
			s.close()
			return &chunk{errors: []sourceError{*err}}
		}
	}
	c := s.cut.next()
	if c.data == nil {
		s.close()
	}
	return c
}

func (s *source) close() {
	if s.done.Swap(true) {
		return
	}
	for _, f := range s.closers {
		f()
	}
	if s.file != nil {
		s.file.Close()
	}
}

// empty is the cutter of nothing.
type empty struct{}

func (empty) next() *chunk { return &chunk{} }

// begin opens the file, peels off compression and finds the format.
func (s *source) begin() *sourceError {
	f, err := s.open()
	if err != nil {
		return &sourceError{kind: trace.BadSyntax, message: "cannot be read: " + cause(err), rejected: true}
	}
	s.file = f
	r := bufio.NewReaderSize(counter{f, func(n int) { s.counted += int64(n); s.read(n) }}, sniffed)
	for range 4 {
		head, err := r.Peek(8)
		if len(head) == 0 {
			if err != io.EOF {
				return &sourceError{kind: trace.CutOff, message: "cannot be read: " + cause(err), rejected: true}
			}
			s.cut = empty{}
			return nil
		}
		switch {
		case bytes.HasPrefix(head, gzipMagic):
			z, err := gzip.NewReader(r)
			if err != nil {
				return &sourceError{kind: trace.BadSyntax, message: "the gzip stream is damaged: " + err.Error(), rejected: true}
			}
			s.packing += "+gzip"
			r = bufio.NewReaderSize(&expansion{from: z, what: "gzip", in: &s.counted, limit: s.limits.Expansion}, sniffed)
			continue
		case bytes.HasPrefix(head, zstdMagic), len(head) >= 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:4], zstdSkip):
			z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(zstdWindow))
			if err != nil {
				return &sourceError{kind: trace.BadSyntax, message: "the zstd stream is damaged: " + err.Error(), rejected: true}
			}
			s.closers = append(s.closers, z.Close)
			s.packing += "+zstd"
			r = bufio.NewReaderSize(&expansion{from: z, what: "zstd", in: &s.counted, limit: s.limits.Expansion}, sniffed)
			continue
		}
		if big, ok := utf16BOM(head); ok {
			s.packing += "+utf-16"
			r = bufio.NewReaderSize(&utf16Reader{r: r, big: big}, sniffed)
			continue
		}
		head, _ = r.Peek(sniffed)
		if len(head) == 0 {
			s.cut = empty{}
			if _, err := r.Peek(1); err != io.EOF {
				return &sourceError{kind: trace.CutOff, message: damage(err), rejected: true}
			}
			return nil
		}
		return s.sniff(r, head)
	}
	return &sourceError{kind: trace.BadSyntax, message: "compressed more than three times over", rejected: true}
}

var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	zstdSkip  = []byte{0x2a, 0x4d, 0x18}
)

// zstdWindow is the memory that a zstd stream may ask for: what zstd --long
// writes by default.
const zstdWindow = 128 << 20

// sniff finds the format by the first bytes.
func (s *source) sniff(r *bufio.Reader, head []byte) *sourceError {
	switch {
	case framedZstd(head):
		s.packing += "+zstd-frames"
		s.cut = &frameCutter{r: r, limits: s.limits, zstd: true}
	case looksProto(head):
		s.cut = &protoCutter{r: r, limits: s.limits}
	case framedProto(head):
		s.cut = &frameCutter{r: r, limits: s.limits}
	case looksJSON(head):
		s.cut = &textCutter{r: r, limits: s.limits, line: 1, deep: !s.keepAll}
	default:
		name := foreignFile(head)
		if name == "" && jsonInside(head) { // begins with the rest of a line
			s.cut = &textCutter{r: r, limits: s.limits, line: 1, deep: !s.keepAll}
			break
		}
		if name == "" {
			name = "not a known format"
		}
		// Other files in a folder of traces are named, but no trace is missing.
		return &sourceError{kind: trace.BadSyntax, where: "byte 0", message: name + "; accepted is " + Accepted, rejected: !s.found}
	}
	return nil
}

// looksJSON reports whether head begins like a document.
func looksJSON(head []byte) bool {
	head = skipSpace(head)
	if len(head) == 0 {
		return true // all of it is space
	}
	if head[0] != '{' && head[0] != '[' {
		return false
	}
	next := skipSpace(head[1:])
	return len(next) == 0 || bytes.IndexByte([]byte("\"}{[]"), next[0]) >= 0 || head[0] == '['
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 {
		switch {
		case b[0] == ' ' || b[0] == '\n' || b[0] == '\r' || b[0] == '\t' || b[0] == 0 || b[0] == 0x1e:
			b = b[1:]
		case bytes.HasPrefix(b, bom):
			b = b[3:]
		default:
			return b
		}
	}
	return b
}

// jsonInside reports whether text that does not begin like JSON holds some.
func jsonInside(head []byte) bool {
	return bytes.Contains(head, []byte(`":`)) && bytes.ContainsAny(head, "}]")
}

// framedZstd reports whether head is a length and a zstd frame, as the
// Collector's file exporter writes them.
func framedZstd(head []byte) bool {
	return len(head) >= 8 && bytes.Equal(head[4:8], zstdMagic) && binary.BigEndian.Uint32(head) > 4
}

// framedProto reports whether head is a length and the beginning of a message,
// or the beginning of a JSON document.
func framedProto(head []byte) bool {
	if len(head) < 5 {
		return false
	}
	n := uint64(binary.BigEndian.Uint32(head))
	rest := head[4:]
	if uint64(len(rest)) > n {
		rest = rest[:n]
	}
	return n > 0 && (looksProto(rest) && n > 1 || rest[0] == '{' && head[0] == 0)
}

// looksProto reports whether head begins like an OTLP request: with a field 1
// that holds a message whose fields are those of an element by resource, as far
// as head shows it.
func looksProto(head []byte) bool {
	if len(head) < 2 || head[0] != 0x0a {
		return false
	}
	n, size := binary.Uvarint(head[1:])
	if size <= 0 {
		return false
	}
	rest := head[1+size:]
	for n > 0 && len(rest) > 0 {
		tag, a := binary.Uvarint(rest)
		if tag != 1<<3|length && tag != 2<<3|length && tag != 3<<3|length && tag != 1000<<3|length {
			return a == 0 // the end of head
		}
		m, b := binary.Uvarint(rest[a:])
		if b == 0 {
			return true
		}
		if b < 0 || m > n || uint64(a+b)+m > n {
			return false
		}
		n -= uint64(a+b) + m
		rest = rest[min(uint64(len(rest)), uint64(a+b)+m):]
	}
	return true
}

// A counter tells of the bytes it reads.
type counter struct {
	r    io.Reader
	read func(int)
}

func (c counter) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	if n > 0 {
		c.read(n)
	}
	return n, err
}

// An expansion reads a decompressor and ends it when it has made too much of too
// little.
type expansion struct {
	from  io.Reader
	what  string
	in    *int64
	out   int64
	limit int64
}

var errBomb = errors.New("decompression bomb")

func (e *expansion) Read(b []byte) (int, error) {
	n, err := e.from.Read(b)
	e.out += int64(n)
	if e.out > 64<<20 && e.out > e.limit*max(*e.in, 1) {
		return 0, fmt.Errorf("%w: the %s stream expands more than %d times", errBomb, e.what, e.limit)
	}
	if err != nil && err != io.EOF {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return n, fmt.Errorf("the %s stream is cut off", e.what)
		}
		return n, fmt.Errorf("the %s stream is damaged: %w", e.what, err)
	}
	return n, err
}

func damage(err error) string {
	if err == nil {
		return ""
	}
	return cause(err)
}

// buffers keeps the memory of chunks.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, chunkSize+sniffed); return &b }}

func newBuffer() []byte { return (*buffers.Get().(*[]byte))[:0] }

func recycle(c *chunk) {
	if b := c.data; cap(b) > 0 && cap(b) <= 4*chunkSize {
		b = b[:0]
		buffers.Put(&b)
	}
	c.data = nil
}

// A textCutter cuts JSON where a line that begins a document follows the end of
// one. In sound JSON a closing bracket is followed by an opening one only between
// documents, and a line cannot end inside a string.
type textCutter struct {
	r      io.Reader
	limits *Limits
	line   int64
	offset int64
	carry  []byte // the beginning of the next chunk, in its buffer
	ended  bool
	errors []sourceError

	deep  bool      // documents are cut below a resource too
	split *splitter // of the document that is being cut; nil: none
	whole bool      // the document that has begun cannot be cut
}

// next reads on until the chunk is large enough and a border is in sight, or a
// document so large that it is cut.
func (t *textCutter) next() *chunk {
	buf := t.carry
	if buf == nil {
		buf = newBuffer()
	}
	t.carry = nil
	searched := 0
	for want := t.limits.chunk; ; {
		buf = t.fill(buf, want)
		if t.split != nil {
			if c := t.part(buf); c != nil {
				return c
			}
			if t.split != nil && !t.ended && len(buf) < t.limits.Document {
				want = len(buf) + t.limits.chunk
				continue
			}
			t.split = nil
		}
		cut := len(buf)
		if !t.ended {
			cut = lastBorder(buf, searched)
			if cut == 0 && len(buf) >= t.limits.Document {
				t.ended = true
				t.errors = append(t.errors, sourceError{kind: trace.Oversized, where: "line " + strconv.FormatInt(t.line, 10), rejected: true,
					message: fmt.Sprintf("a document of more than %d bytes; the rest of the file was not read", t.limits.Document)})
				buf, cut = buf[:0], 0
			} else if cut == 0 {
				searched = len(buf)
				if want *= 2; len(buf) >= 4*t.limits.chunk && !t.whole {
					t.split = &splitter{deep: t.deep, text: -1, pos: len(buf) - len(skipSpace(buf))}
					want = len(buf)
				}
				continue
			}
			t.whole = false
		}
		if cut < len(buf) {
			t.carry = append(newBuffer(), buf[cut:]...)
		}
		c := &chunk{data: buf[:cut], line: t.line, offset: t.offset}
		t.line += int64(bytes.Count(c.data, []byte{'\n'}))
		t.offset += int64(cut)
		if t.ended {
			if cut == 0 {
				recycle(c)
			}
			c.ends = len(t.errors) == 0
			c.errors, t.errors = t.errors, nil
		}
		return c
	}
}

// part is a part of the document that is being cut, as far as it is in buf; nil if
// more has to be read.
func (t *textCutter) part(buf []byte) *chunk {
	s := t.split
	end, done := s.scan(buf)
	var rest, data []byte
	switch {
	case done:
		t.split = nil
		rest, data = buf[end:], buf[:end]
	case s.cut > 0:
		rest = append(append(newBuffer(), s.prefix...), buf[s.cut+1:]...)
		data = append(buf[:s.cut], s.suffix...)
		s.moved()
	case s.broken:
		t.split, t.whole = nil, true
		return nil
	default:
		return nil
	}
	if done {
		t.carry = append(newBuffer(), rest...)
	} else {
		t.carry = rest
	}
	c := &chunk{data: data, line: t.line, offset: t.offset}
	t.line += int64(bytes.Count(data, []byte{'\n'}))
	t.offset += int64(len(data))
	return c
}

// fill reads until buf holds n bytes or the stream ends.
func (t *textCutter) fill(buf []byte, n int) []byte {
	for len(buf) < n && !t.ended {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		got, err := t.r.Read(buf[len(buf):min(cap(buf), max(n, len(buf)+1))])
		buf = buf[:len(buf)+got]
		if err != nil {
			t.ended = true
			if err != io.EOF {
				at := t.line + int64(bytes.Count(buf, []byte{'\n'}))
				t.errors = append(t.errors, sourceError{kind: trace.CutOff, where: "line " + strconv.FormatInt(at, 10), message: damage(err), rejected: true})
			}
		}
	}
	return buf
}

// lastBorder is the last place behind a line end, not before from, where a
// document ends and another begins; zero if there is none.
func lastBorder(b []byte, from int) int {
	var next byte // the first that is not space, behind the line end
	for end := len(b); ; {
		i := lastLine(b[:end])
		if i < 0 || i < from-4096 {
			return 0
		}
		if rest := skipSpace(b[i+1 : end]); len(rest) > 0 {
			next = rest[0]
		}
		end = i
		if next != '{' && next != '[' {
			continue
		}
		before := bytes.TrimRight(b[max(0, i-64):i], " \t\r\n\x00")
		if len(before) > 0 && (before[len(before)-1] == '}' || before[len(before)-1] == ']') {
			return i + 1
		}
	}
}

// lastLine is the place of the last line end; negative if there is none. Lines
// can be long, and only the search forward is fast.
func lastLine(b []byte) int {
	for end := len(b); end > 0; {
		from := max(0, end-4096)
		if bytes.IndexByte(b[from:end], '\n') >= 0 {
			return from + bytes.LastIndexByte(b[from:end], '\n')
		}
		end = from
	}
	return -1
}
