package metric

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		f := fold(t, strings.Join(randomPoints(r), "\n"))
		b := f.Append([]byte("prefix"))[len("prefix"):]
		g, err := Decode(b)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !sameBytes(f, g) {
			t.Fatalf("seed %d: decoded to something else", seed)
		}
		// A single changed bit, anywhere, is noticed; so is a lost end.
		i := r.IntN(len(b))
		bad := bytes.Clone(b)
		bad[i] ^= 1 << r.IntN(8)
		if _, err := Decode(bad); err == nil {
			t.Fatalf("seed %d: byte %d changed and nobody saw", seed, i)
		}
		if _, err := Decode(b[:i]); err == nil {
			t.Fatalf("seed %d: cut at %d and nobody saw", seed, i)
		}
	}
}

// One fold has one spelling: the number of series, 0, written in two bytes is refused.
func TestDecodeRefusesOtherSpellings(t *testing.T) {
	if _, err := decodeBody([]byte{format, 0}); err != nil {
		t.Fatal(err)
	}
	if _, err := decodeBody([]byte{format, 0x80, 0}); err == nil {
		t.Error("accepted")
	}
	if _, err := decodeBody([]byte{format + 1, 0}); err == nil || !strings.Contains(err.Error(), "format 2") {
		t.Errorf("a later format: %v", err)
	}
}

// FuzzDecode gives the decoder bodies whose checksum is right: what it accepts
// it writes back as it was, and every question can be asked of it.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(8) {
		r := rand.New(rand.NewPCG(seed, 3))
		b := fold(f, strings.Join(randomPoints(r), "\n")).Append(nil)
		f.Add(b[:len(b)-4])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		whole := binary.BigEndian.AppendUint32(bytes.Clone(body), crc32.Checksum(body, castagnoli))
		fold, err := Decode(whole)
		if err != nil {
			return
		}
		if !bytes.Equal(fold.Append(nil), whole) {
			t.Fatal("accepted, and written back otherwise")
		}
		fold.Rows()
		fold.Merge(fold)
	})
}
