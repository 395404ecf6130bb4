package ingest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/klauspost/compress/zstd"

	"github.com/tailscope/tailscope/trace"
)

// A frame is one message of a chunk.
type frame struct {
	from, to int   // in the chunk's data
	offset   int64 // in the file: of from, or of the frame's header if it is packed
	packed   bool  // was compressed, so that offsets inside mean nothing
}

// A frameCutter cuts a file of messages that each stand behind their length in
// four bytes, the first the highest, as the Collector's file exporter writes
// them; each may be a zstd frame.
type frameCutter struct {
	r      *bufio.Reader
	limits *Limits
	zstd   bool
	offset int64

	decoder *zstd.Decoder
	packed  []byte
	ended   bool
}

func (f *frameCutter) next() *chunk {
	c := &chunk{offset: f.offset, binary: true, format: otlpFrames}
	buf := newBuffer()
	for !f.ended && len(buf) < f.limits.chunk {
		at := f.offset
		var header [4]byte
		n, err := io.ReadFull(f.r, header[:])
		f.offset += int64(n)
		if err != nil {
			f.ended = true
			switch {
			case err == io.ErrUnexpectedEOF:
				c.cutOff(at, fmt.Sprintf("the length of a message is cut off after %d of 4 bytes", n))
			case err != io.EOF:
				c.cutOff(at, damage(err))
			}
			break
		}
		size := int64(binary.BigEndian.Uint32(header[:]))
		if size > int64(f.limits.Document) {
			f.ended = true
			c.fail(sourceError{kind: trace.Oversized, where: byteAt(at), rejected: true,
				message: fmt.Sprintf("a message of %d bytes is announced, which is more than the limit of %d; the rest of the file was not read", size, f.limits.Document)})
			break
		}
		from := len(buf)
		to := &buf
		if f.zstd {
			f.packed = f.packed[:0]
			to = &f.packed
		}
		got, err := readN(f.r, to, int(size))
		f.offset += int64(got)
		if err != nil {
			f.ended = true
			buf = buf[:from]
			message := fmt.Sprintf("a message of %d bytes is cut off after %d", size, got)
			if err != io.EOF {
				message += ": " + damage(err)
			}
			c.cutOff(at, message)
			break
		}
		if !f.zstd {
			c.frames = append(c.frames, frame{from, len(buf), at + 4, false})
			continue
		}
		buf, err = f.unpack(buf)
		if err != nil {
			buf = buf[:from]
			c.fail(sourceError{kind: trace.BadSyntax, where: byteAt(at), rejected: true, message: "a zstd frame is damaged: " + err.Error()})
			continue
		}
		c.frames = append(c.frames, frame{from, len(buf), at, true})
	}
	if len(buf) > 0 {
		c.data = buf
	} else {
		recycle(&chunk{data: buf})
		if f.decoder != nil {
			f.decoder.Close()
		}
	}
	return c
}

func (f *frameCutter) unpack(buf []byte) ([]byte, error) {
	if f.decoder == nil {
		var err error
		f.decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(uint64(f.limits.Document)), zstd.WithDecoderMaxWindow(zstdWindow))
		if err != nil {
			return buf, err
		}
	}
	return f.decoder.DecodeAll(f.packed, buf)
}

// cutOff reports the end of the file inside a record.
func (c *chunk) cutOff(at int64, message string) {
	c.fail(sourceError{kind: trace.CutOff, where: byteAt(at), message: message, rejected: true})
}

func byteAt(at int64) string { return "byte " + strconv.FormatInt(at, 10) }

// readN appends n bytes, and asks for memory only as they come: a length is not
// to be trusted. At the end of the stream it reports io.EOF.
func readN(r io.Reader, to *[]byte, n int) (got int, err error) {
	b := *to
	start := len(b)
	for got < n {
		step := min(n-got, 1<<20)
		if cap(b)-len(b) < step {
			b = append(b, make([]byte, step)...)[:len(b)]
		}
		m, err := io.ReadFull(r, b[len(b):len(b)+step])
		b = b[:len(b)+m]
		got += m
		if err == io.ErrUnexpectedEOF {
			err = io.EOF
		}
		if err != nil {
			*to = b[:start]
			return got, err
		}
	}
	*to = b
	return got, nil
}

// A protoCutter cuts one bare request between its top-level fields, so that
// concatenated requests and parts of a large one are read alike.
type protoCutter struct {
	r      *bufio.Reader
	limits *Limits
	offset int64
	ended  bool
}

func (p *protoCutter) next() *chunk {
	c := &chunk{offset: p.offset, binary: true, format: otlpProto}
	buf := newBuffer()
	for !p.ended && len(buf) < p.limits.chunk {
		at := p.offset
		head, err := p.r.Peek(20)
		if len(head) == 0 {
			p.ended = true
			if err != io.EOF {
				c.cutOff(at, damage(err))
			}
			break
		}
		n, ok := fieldSize(head)
		if !ok || n > uint64(p.limits.Document) {
			p.ended = true
			e := sourceError{kind: trace.BadSyntax, where: byteAt(at), message: "not a field of a protobuf message; the rest of the file was not read", rejected: true}
			if ok {
				e.kind, e.message = trace.Oversized, fmt.Sprintf("a field of %d bytes is announced, which is more than the limit of %d; the rest of the file was not read", n, p.limits.Document)
			}
			c.fail(e)
			break
		}
		from := len(buf)
		got, err := readN(p.r, &buf, int(n))
		p.offset += int64(got)
		if err != nil {
			p.ended = true
			buf = buf[:from]
			message := fmt.Sprintf("a field of %d bytes is cut off after %d", n, got)
			if err != io.EOF {
				message += ": " + damage(err)
			}
			c.cutOff(at, message)
		}
	}
	if len(buf) > 0 {
		c.data = buf
		c.frames = []frame{{0, len(buf), c.offset, false}}
	} else {
		recycle(&chunk{data: buf})
	}
	return c
}

// fieldSize is the size of the field at the start of head, with its tag.
func fieldSize(head []byte) (uint64, bool) {
	tag, n := binary.Uvarint(head)
	if n <= 0 || tag>>3 == 0 {
		return 0, false
	}
	switch tag & 7 {
	case varint:
		_, m := binary.Uvarint(head[n:])
		return uint64(n + m), m > 0
	case fixed64:
		return uint64(n + 8), true
	case fixed32:
		return uint64(n + 4), true
	case length:
		size, m := binary.Uvarint(head[n:])
		if m <= 0 || size > 1<<40 {
			return 0, false
		}
		return uint64(n+m) + size, true
	}
	return 0, false
}
