package otlp

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// Encoding is how messages are written.
type Encoding int

const (
	JSON  Encoding = iota // a document a line
	Proto                 // each behind its length
)

// Compression is how files are compressed.
type Compression int

const (
	None Compression = iota
	Gzip
	Zstd
	// ZstdFramed compresses each message by itself and puts the compressed length before it, as the
	// Collector's file exporter does.
	ZstdFramed
)

// A Format is an encoding in files.
type Format struct {
	Encoding    Encoding
	Compression Compression
	// MaxBytes begins another file before one would grow beyond it, uncompressed; 0: never.
	MaxBytes int
}

// Ext is the end of the files' names.
func (f Format) Ext() string {
	return [...]string{".jsonl", ".pb"}[f.Encoding] + [...]string{"", ".gz", ".zst", ".zst"}[f.Compression]
}

// Files writes messages to DIR/NAME-0.jsonl, DIR/NAME-1.jsonl and so on.
type Files struct {
	Format Format
	Dir    string
	Name   string

	buf bytes.Buffer
	n   int
}

// Write adds one message.
func (w *Files) Write(m []byte) error {
	if w.buf.Len() > 0 && w.Format.MaxBytes > 0 && w.buf.Len()+len(m) > w.Format.MaxBytes {
		if err := w.Close(); err != nil {
			return err
		}
	}
	w.Format.Frame(&w.buf, m)
	return nil
}

// Frame writes one message as a file holds it, but for the compression of whole files.
func (f Format) Frame(buf *bytes.Buffer, m []byte) {
	if f.Compression == ZstdFramed {
		m = compress(m)
	}
	if f.Encoding == Proto || f.Compression == ZstdFramed {
		buf.Write(binary.BigEndian.AppendUint32(nil, uint32(len(m))))
		buf.Write(m)
		return
	}
	buf.Write(m)
	buf.WriteByte('\n')
}

// Close writes the file under way.
func (w *Files) Close() error {
	if w.buf.Len() == 0 {
		return nil
	}
	path := filepath.Join(w.Dir, fmt.Sprintf("%s-%d%s", w.Name, w.n, w.Format.Ext()))
	w.n++
	data, err := w.Format.Pack(w.buf.Bytes())
	if err != nil {
		return err
	}
	w.buf.Reset()
	return os.WriteFile(path, data, 0o666)
}

// Pack compresses the content of a file.
func (f Format) Pack(data []byte) ([]byte, error) {
	switch f.Compression {
	case Gzip:
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		if _, err := z.Write(data); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		return out.Bytes(), nil
	case Zstd:
		return compress(data), nil
	}
	return data, nil
}

var encoder = sync.OnceValue(func() *zstd.Encoder {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err) // the options are constant
	}
	return z
})

func compress(data []byte) []byte { return encoder().EncodeAll(data, nil) }
