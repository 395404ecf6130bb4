package metric

import "unsafe"

// What a series and a measurement take besides their points, about.
const (
	seriesBytes   = 512
	exemplarBytes = 48
)

// Bytes is about how much memory the points of f take.
func (f *Fold) Bytes() (n int64) {
	for _, s := range f.series {
		n += seriesBytes + bytesOf(s.Points) + int64(len(s.Exemplars))*exemplarBytes
	}
	return n
}

// Bytes is about how much memory the points of s take; its tables are not
// counted.
func (s *Store) Bytes() (n int64) {
	for i := range s.series {
		r := &s.series[i]
		n += seriesBytes + bytesOf(r.points) + int64(len(r.exemplars))*exemplarBytes
	}
	return n
}

func bytesOf(points []Point) int64 {
	n := int64(len(points)) * int64(unsafe.Sizeof(Point{}))
	for i := range points {
		if d := points[i].Dist; d != nil {
			n += int64(unsafe.Sizeof(*d)) + int64(len(d.Bounds)+len(d.Counts)+len(d.Pos.Counts)+len(d.Neg.Counts))*8
		}
	}
	return n
}
