package graph

// What the parts of a Fold take besides their sketches, about: an entry of a map
// with what it points to.
const (
	clockBytes    = 256
	orderBytes    = 96
	waitedBytes   = 256
	producerBytes = 64
)

// Bytes is about how much memory f holds.
func (f *Fold) Bytes() int64 {
	n := int64(len(f.Clocks))*clockBytes + int64(len(f.Orders))*orderBytes + int64(len(f.Waited))*waitedBytes + int64(len(f.Producers))*producerBytes
	for _, s := range f.Orders {
		n += s.Bytes()
	}
	for _, w := range f.Waited {
		n += w.Tail.Bytes() + w.Rest.Bytes() + w.Took.Bytes() + w.Age.Bytes()
		for _, s := range w.Overhang {
			n += orderBytes + s.Bytes()
		}
	}
	return n
}
