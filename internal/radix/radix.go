// Package radix sorts what is many by whole numbers, in time that grows as their number does.
package radix

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	// few is how many are sorted as fast by comparing them.
	few = 256

	digit = 11 // bits: what is sorted one after the other goes to few enough places for a cache
)

// A Keyed is something by its place, to be sorted by a key.
type Keyed struct {
	Key   int64
	Place int32
}

// Order is the places of keys in ascending order of key, and of place among equal ones.
func Order(n int, key func(i int) int64) []Keyed {
	list := make([]Keyed, n)
	for i := range list {
		list[i] = Keyed{key(i), int32(i)}
	}
	Sort(list)
	return list
}

// Sort sorts by key and keeps the order of equal keys.
func Sort(list []Keyed) {
	if len(list) <= few {
		slices.SortStableFunc(list, func(a, b Keyed) int { return cmp.Compare(a.Key, b.Key) })
		return
	}
	least, size := spread(len(list), func(i int) int64 { return list[i].Key })
	from, to := list, make([]Keyed, len(list))
	var at [1 << digit]int32
	for shift := 0; shift < size; shift += digit {
		clear(at[:])
		for i := range from {
			at[(uint64(from[i].Key)-least)>>shift&(1<<digit-1)]++
		}
		starts(&at)
		for i := range from {
			d := (uint64(from[i].Key) - least) >> shift & (1<<digit - 1)
			to[at[d]] = from[i]
			at[d]++
		}
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
}

// Ints sorts whole numbers.
func Ints[T ~int64](list []T) {
	if len(list) <= few {
		slices.Sort(list)
		return
	}
	least, size := spread(len(list), func(i int) int64 { return int64(list[i]) })
	from, to := list, make([]T, len(list))
	var at [1 << digit]int32
	for shift := 0; shift < size; shift += digit {
		clear(at[:])
		for _, x := range from {
			at[(uint64(x)-least)>>shift&(1<<digit-1)]++
		}
		starts(&at)
		for _, x := range from {
			d := (uint64(x) - least) >> shift & (1<<digit - 1)
			to[at[d]] = x
			at[d]++
		}
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
}

// spread is the least of n keys and in how many bits the others differ from it: differences to the least are not negative
// as unsigned numbers. None are needed of what is sorted already.
func spread(n int, key func(i int) int64) (least uint64, size int) {
	lo, hi := key(0), key(0)
	sorted := true
	for i := range n {
		k := key(i)
		sorted = sorted && k >= hi
		lo, hi = min(lo, k), max(hi, k)
	}
	if sorted {
		return 0, 0
	}
	return uint64(lo), bits.Len64(uint64(hi) - uint64(lo))
}

// starts makes counts of digits the places at which they begin.
func starts(at *[1 << digit]int32) {
	sum := int32(0)
	for d, n := range at {
		at[d], sum = sum, sum+n
	}
}
