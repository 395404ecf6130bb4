package queuewait

import "slices"

// What the parts of a Fold take, about: an entry of a map with what it points to.
const (
	eventBytes = 56
	gapBytes   = 160 // and the bins of its sketch
	tickBytes  = 40
	flowBytes  = 128
)

// Bytes is about how much memory f holds.
func (f *Fold) Bytes() int64 { return f.events.bytes() + f.gaps.bytes() + f.flows.bytes() }

// Bound makes f coarser until it takes about so many bytes at most, or is as
// coarse as it gets: half of them for calls one by one, a quarter each for gaps
// and for calls in flight. Which calls and gaps are left depends on the content
// of f alone, whenever it was bounded before, if the bounds were as large; bins of
// calls in flight may be wider for it.
func (f *Fold) Bound(bytes int64) {
	for f.events.bytes() > bytes/2 && f.events.level < 63 {
		f.events.thin(f.events.level + 1)
	}
	if l := f.events.list; cap(l)-len(l) > len(l)/2 {
		f.events.list = slices.Clip(slices.Clone(l))
	}
	for f.gaps.bytes() > bytes/4 && f.gaps.scale < maxScale {
		f.gaps.coarsen(f.gaps.scale + 1)
	}
	f.boundFlows(bytes / 4)
}

func (e *events) bytes() int64 { return int64(len(e.list)) * eventBytes }

func (w *windowed) bytes() int64 {
	n := int64(len(w.gaps)) * gapBytes
	for _, g := range w.gaps {
		n += g.Sketch.Bytes()
	}
	return n
}

func (f flows) bytes() int64 {
	n := int64(len(f)) * flowBytes
	for _, x := range f {
		n += int64(x.bins.used) * tickBytes
	}
	return n
}

// boundFlows makes bins wider where there are most of them: no place keeps more
// bins than the most of which that of all fit.
func (f *Fold) boundFlows(bytes int64) {
	narrow := func() {
		for _, x := range f.flows {
			for x.bins.used > f.most && x.scale < maxScale {
				x.coarsen(x.scale + 1)
			}
		}
	}
	if f.most > 0 {
		narrow()
	}
	for f.flows.bytes() > bytes && f.most != 1 {
		if f.most == 0 {
			f.most = budget.bins
		}
		f.most /= 2
		narrow()
	}
}
