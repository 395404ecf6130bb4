package stats

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sort"
	"sync"
)

// bucketBounds begin the buckets. Up to 200 ns each holds one nanosecond; from there on a bucket is a hundredth of
// its lower bound wide, rounded down. They are computed in integers so that they are the same on every machine,
// where they are first asked for: nothing that only starts needs them.
var bucketBounds = sync.OnceValue(func() []int64 {
	var bounds []int64
	for b := int64(0); ; {
		bounds = append(bounds, b)
		step := max(1, b/100)
		if b > math.MaxInt64-step {
			return bounds
		}
		b += step
	}
})

// Bucket is the bucket of a number of nanoseconds, at most 1 % wide. Those below zero are in bucket 0.
func Bucket(ns int64) int {
	ns = max(ns, 0)
	bounds := bucketBounds()
	return sort.Search(len(bounds), func(i int) bool { return bounds[i] > ns }) - 1
}

// BucketBounds are the smallest value of a bucket and the smallest above it.
func BucketBounds(bucket int) (from, to int64) {
	bounds := bucketBounds()
	if bucket+1 == len(bounds) {
		return bounds[bucket], math.MaxInt64
	}
	return bounds[bucket], bounds[bucket+1]
}

// A Histogram counts durations in buckets of 1 %. Counts are whole numbers (of requests, or of any fraction of one),
// so that merging is exact and the order of merging leaves no trace. The zero Histogram is empty.
type Histogram struct {
	first  int // bucket of counts[0]
	counts []int64
	total  int64
}

// Add counts a duration count times. A negative count is a mistake of the caller and panics.
func (h *Histogram) Add(ns, count int64) {
	if count < 0 {
		panic(fmt.Sprintf("stats: %d added to a histogram", count))
	}
	if count > 0 {
		h.add(Bucket(ns), count)
	}
}

func (h *Histogram) add(bucket int, count int64) {
	h.reach(bucket)
	h.counts[bucket-h.first] += count
	h.total += count
}

// reach makes room for a bucket.
func (h *Histogram) reach(bucket int) {
	switch {
	case len(h.counts) == 0:
		h.first, h.counts = bucket, append(h.counts, 0)
	case bucket < h.first:
		grown := make([]int64, h.first-bucket+len(h.counts))
		copy(grown[h.first-bucket:], h.counts)
		h.first, h.counts = bucket, grown
	case bucket >= h.first+len(h.counts):
		h.counts = append(h.counts, make([]int64, bucket-h.first-len(h.counts)+1)...)
	}
}

// Merge adds all counts of another histogram.
func (h *Histogram) Merge(other *Histogram) {
	if other.total == 0 {
		return
	}
	h.reach(other.first)
	h.reach(other.first + len(other.counts) - 1)
	for i, c := range other.counts {
		h.counts[other.first+i-h.first] += c
	}
	h.total += other.total
}

// Total is the sum of all counts.
func (h *Histogram) Total() int64 { return h.total }

// Each calls f for every bucket that has counts, from the smallest.
func (h *Histogram) Each(f func(bucket int, count int64)) {
	for i, c := range h.counts {
		if c > 0 {
			f(h.first+i, c)
		}
	}
}

// Quantile is the middle of the bucket that holds the point quantile q, within 0.5 % of it; 0 if nothing was counted.
func (h *Histogram) Quantile(q float64) int64 {
	target, sum := q*float64(h.total)*(1-slack), int64(0)
	for i, c := range h.counts {
		if sum += c; c > 0 && float64(sum) >= target {
			from, to := BucketBounds(h.first + i)
			return from + (to-1-from)/2
		}
	}
	return 0
}

// AppendBinary appends the one encoding that equal histograms have: the number of buckets with counts, then for each
// its distance from the one before and its count, all as unsigned varints.
func (h *Histogram) AppendBinary(b []byte) ([]byte, error) {
	n := 0
	h.Each(func(int, int64) { n++ })
	b = binary.AppendUvarint(b, uint64(n))
	before := 0
	h.Each(func(bucket int, count int64) {
		b = binary.AppendUvarint(b, uint64(bucket-before))
		b = binary.AppendUvarint(b, uint64(count))
		before = bucket
	})
	return b, nil
}

// MarshalBinary is AppendBinary to nothing.
func (h *Histogram) MarshalBinary() ([]byte, error) { return h.AppendBinary(nil) }

var errHistogram = errors.New("stats: damaged histogram")

// UnmarshalBinary replaces the histogram by an encoded one.
func (h *Histogram) UnmarshalBinary(b []byte) error {
	*h = Histogram{}
	next := func() (uint64, bool) {
		v, n := binary.Uvarint(b)
		// A varint that ends in a zero byte could be shorter, so the encoding would not be the one.
		if n <= 0 || n > 1 && b[n-1] == 0 {
			return 0, false
		}
		b = b[n:]
		return v, true
	}
	buckets, ok := next()
	bucket := uint64(0)
	for i := uint64(0); ok && i < buckets; i++ {
		distance, ok1 := next()
		count, ok2 := next()
		bucket += distance
		switch {
		case !ok1 || !ok2,
			i > 0 && distance == 0,
			distance >= uint64(len(bucketBounds())) || bucket >= uint64(len(bucketBounds())),
			count == 0 || count > uint64(math.MaxInt64-h.total):
			*h = Histogram{}
			return errHistogram
		}
		h.add(int(bucket), int64(count))
	}
	if !ok || len(b) > 0 {
		*h = Histogram{}
		return errHistogram
	}
	return nil
}
