package ingest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tailscope/tailscope/metric"
	"github.com/tailscope/tailscope/trace"
)

// A chunk is a stretch of a file that begins and ends between records.
type chunk struct {
	data   []byte
	frames []frame // messages in data, of protobuf
	format format  // of protobuf
	line   int64   // of the first byte, counted from 1; of text
	offset int64   // of the first byte, after decompression
	ends   bool    // it is the last of a sound file; of text
	binary bool    // data is protobuf, and places are bytes

	errors []sourceError // the first of all
	more   int64         // the rest, all of lost records
}

// fail reports a lost record.
func (c *chunk) fail(e sourceError) {
	if len(c.errors) < maxErrors {
		c.errors = append(c.errors, e)
	} else {
		c.more++
	}
}

// A sourceError is something wrong with a file that is found before decoding.
type sourceError struct {
	kind     trace.DefectKind
	where    string
	message  string
	rejected bool // a record was lost, so that it counts
}

// A result is a decoded chunk.
type result struct {
	*sink
	chunk  *chunk
	tables *trace.Tables // a view
	remap  *remap        // of the worker
	worker *worker       // whose store it is
	last   bool          // the file ends here
}

// A pool reads files with several workers. Each takes the next chunk of a file
// that no other worker is just reading, decodes it, and hands it to the merger.
//
// Nothing of this shows in the result. Chunk borders depend on the content
// alone, and chunks are merged in the order of the input. A worker's tables see
// chunks in that order too, or are begun anew; so a string that is new to the
// set when a chunk is merged was met first in this chunk, by whichever worker,
// and the set numbers its strings as one worker would.
type pool struct {
	options Options
	limits  Limits
	files   []*source
	set     *Set

	merge struct {
		sync.Mutex
		file    int // the next result to merge
		index   int
		waiting map[[2]int]*result
	}

	cancel context.CancelCauseFunc

	done     atomic.Int64 // bytes read
	spans    atomic.Int64 // decoded
	total    int64
	progress sync.Mutex
}

func newPool(inputs []input, o Options, limits Limits) *pool {
	tables := trace.NewTables()
	p := &pool{options: o, limits: limits}
	p.set = &Set{
		Tables: tables, Spans: trace.NewStore(tables), Metrics: metric.NewStore(tables),
		Files: make([]File, len(inputs)), Defects: trace.Tally{}, Unknown: map[string]int64{}, Lost: map[string]int64{},
	}
	p.set.Spans.KeepAll = o.KeepAll
	p.merge.waiting = map[[2]int]*result{}
	for i, in := range inputs {
		p.files = append(p.files, &source{input: in, limits: &p.limits, keepAll: o.KeepAll, read: p.count})
		p.set.Files[i].Path = in.path
		p.total += in.size
		if in.size == 0 {
			p.total = -1 << 62 // unknown
		}
	}
	p.total = max(p.total, 0)
	return p
}

// count counts bytes read and tells of them.
func (p *pool) count(n int) {
	done := p.done.Add(int64(n))
	if p.options.Progress != nil && p.progress.TryLock() {
		p.options.Progress(Progress{done, p.total, p.spans.Load()})
		p.progress.Unlock()
	}
}

func (p *pool) run(ctx context.Context, workers int) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.cancel = cancel
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			w := &worker{pool: p, single: workers == 1}
			for ctx.Err() == nil && w.step() {
			}
		})
	}
	wg.Wait()
	for _, f := range p.files {
		f.close()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.joinRotated(&worker{pool: p})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.options.Progress != nil {
		p.options.Progress(Progress{p.done.Load(), p.total, p.spans.Load()})
	}
	return nil
}

// take is the next chunk to decode; nil when there is none left. It is of the
// first file from at on that no other worker is just reading, else of one before.
func (p *pool) take(at int) (c *chunk, file, index int) {
	for {
		var busy *source
		for n := range p.files {
			i := (at + n) % len(p.files)
			f := p.files[i]
			if f.done.Load() {
				continue
			}
			if !f.TryLock() {
				if busy == nil {
					busy = f
				}
				continue
			}
			if f.done.Load() {
				f.Unlock()
				continue
			}
			c := f.next()
			index := f.index
			f.index++
			f.Unlock()
			return c, i, index
		}
		if busy == nil {
			return nil, 0, 0
		}
		busy.Lock()
		busy.Unlock() //lint:ignore SA2001 waiting for it is all that is wanted
	}
}

// A worker decodes chunks one after another. It keeps its tables between them,
// and the memory of stores that were joined. A single worker has the tables of
// the set.
type worker struct {
	pool   *pool
	single bool
	file   int // of the last chunk
	tables *trace.Tables
	remap  *remap
	pairs  *pairs
	json   jsonDecoder
	proto  protoDecoder

	lock sync.Mutex
	free []*trace.Store
}

// A remap is the translation of a worker's tables into those of the set. It is
// begun anew when those are.
type remap struct {
	trace.Remap
	into *trace.Tables
}

// maxTables is how many strings a worker's tables hold before new ones are
// begun.
const maxTables = 1 << 18

// step decodes one chunk and reports whether there was one.
func (w *worker) step() bool {
	c, file, index := w.pool.take(w.file)
	if c == nil {
		return false
	}
	if file < w.file {
		w.tables = nil // see pool
	}
	w.file = file
	r := &result{chunk: c, last: c.data == nil}
	if r.last {
		r.sink = &sink{}
	} else {
		w.begin()
		r.sink = w.decode(c)
		w.pool.spans.Add(int64(r.spans.Len()))
		r.worker, r.tables, r.remap = w, w.tables.View(), w.remap
	}
	w.pool.deliver(r, file, index)
	recycle(c)
	return true
}

// begin sees to the worker's tables.
func (w *worker) begin() {
	switch {
	case w.single && w.tables == w.pool.set.Tables:
	case w.single:
		w.tables, w.remap, w.pairs = w.pool.set.Tables, nil, newPairs()
	case w.tables == nil || w.tables.Strings() > maxTables:
		w.tables, w.remap, w.pairs = trace.NewTables(), new(remap), newPairs()
	}
}

// store is an empty store over the worker's tables.
func (w *worker) store() *trace.Store {
	w.lock.Lock()
	defer w.lock.Unlock()
	for n := len(w.free); n > 0; n = len(w.free) {
		s := w.free[n-1]
		w.free = w.free[:n-1]
		if s.Tables == w.tables {
			s.Reset()
			return s
		}
	}
	s := trace.NewStore(w.tables)
	s.KeepAll = w.pool.options.KeepAll
	return s
}

// release gives a store back.
func (w *worker) release(s *trace.Store) {
	w.lock.Lock()
	defer w.lock.Unlock()
	if len(w.free) < 4 {
		w.free = append(w.free, s)
	}
}

func (w *worker) sink(c *chunk) *sink {
	return newSink(w.store(), metric.NewStore(w.tables), w.pairs, &w.pool.limits, c)
}

// decode reads a chunk. Most are sound. One that is not is read again, with
// each of its records tried first, so that a damaged record leaves nothing.
func (w *worker) decode(c *chunk) *sink {
	read := func(k *sink, careful bool, trial func() *sink) bool {
		if c.binary {
			return decodeFrames(k, &w.proto, &w.json, c, careful, trial)
		}
		return decodeJSON(k, &w.json, careful, trial)
	}
	k := w.sink(c)
	if read(k, false, nil) {
		return k
	}
	w.release(k.spans) // what was read so far is dropped
	k = w.sink(c)
	var t *sink
	read(k, true, func() *sink {
		if t == nil || t.spans.Len() > 1000 || t.points.Points() > 1000 {
			if t != nil {
				w.release(t.spans)
			}
			t = w.sink(c)
		}
		t.units, t.lastUnit = 0, -1
		t.data, t.offset, t.frameAt = k.data, k.offset, k.frameAt
		return t
	})
	return k
}

// deliver merges a result when all before it are merged.
func (p *pool) deliver(r *result, file, index int) {
	m := &p.merge
	m.Lock()
	defer m.Unlock()
	m.waiting[[2]int{file, index}] = r
	for {
		at := [2]int{m.file, m.index}
		r := m.waiting[at]
		if r == nil {
			return
		}
		delete(m.waiting, at)
		p.join(r, m.file)
		m.index++
		if r.last {
			m.file, m.index = m.file+1, 0
		}
	}
}

// join adds a result to the set.
func (p *pool) join(r *result, file int) {
	set, f, src := p.set, &p.set.Files[file], p.files[file]
	if r.tables != nil {
		f.Spans += int64(r.spans.Len())
		f.MetricPoints += int64(r.points.Points())
		p.grow(r.spans)
		if r.remap != nil {
			if r.remap.into != set.Tables {
				*r.remap = remap{into: set.Tables}
			}
			set.Tables.AbsorbMore(r.tables, &r.remap.Remap)
			set.Spans.Append(r.spans, &r.remap.Remap)
			set.Metrics.Append(r.points, &r.remap.Remap)
		} else {
			set.Spans.Append(r.spans, nil)
			if r.points.Points() > 0 {
				set.Metrics.Append(r.points, set.Tables.Same())
			}
		}
		r.worker.release(r.spans)
		p.part()
	}
	src.formats |= r.formats
	if r.head != nil {
		src.head = r.head
	}
	if r.tail != nil {
		src.tail = r.tail
	}
	f.LogRecords += r.logs
	set.LogRecords += r.logs
	f.Rejected += r.rejected
	set.Rejected += r.rejected
	set.Defects.Merge(r.defects)
	for _, name := range slices.Sorted(maps.Keys(r.unknown)) {
		n := r.unknown[name]
		if _, ok := set.Unknown[name]; !ok && len(set.Unknown) >= maxUnknown {
			name = "other"
		}
		set.Unknown[name] += n
	}
	for what, n := range r.lost {
		set.Lost[what] += n
	}
	f.ErrorsTotal += r.errorsTotal
	f.Errors = appendErrors(f.Errors, r.errors)
	for _, e := range r.chunk.errors {
		f.ErrorsTotal++
		f.Errors = appendErrors(f.Errors, []Located{{e.where, e.message}})
		if e.rejected {
			set.Defects.Add(e.kind, e.message)
			f.Rejected++
			set.Rejected++
		}
	}
	f.ErrorsTotal += r.chunk.more
	f.Rejected += r.chunk.more
	set.Rejected += r.chunk.more
	if r.last {
		f.Format = src.formats.String()
		if f.Format != "" || src.packing != "" {
			f.Format += src.packing
		}
	}
}

// part hands over what was read when it has become large, and begins anew.
func (p *pool) part() {
	set := p.set
	if p.options.Part == nil || set.Spans.Len() == 0 || set.Spans.Bytes()+set.Tables.Bytes() < p.options.PartBytes {
		return
	}
	if err := p.options.Part(set.Spans, set.Metrics); err != nil {
		p.cancel(err)
	}
	set.Tables = trace.NewTables()
	set.Spans = set.Spans.Renew(set.Tables)
	set.Metrics = metric.NewStore(set.Tables)
}

// grow makes room for all spans of the input, if it can be told how many there
// are: when some are read and the size of the input is known.
func (p *pool) grow(o *trace.Store) {
	s := p.set.Spans
	done := p.done.Load()
	if p.total == 0 || done == 0 || s.Len()+o.Len() <= s.Cap() {
		return
	}
	all := float64(s.Len()+o.Len()) * float64(p.total) / float64(done)
	if p.options.Part != nil && s.Len() > 0 { // no more than a part's
		all = min(all, float64(p.options.PartBytes)/float64(s.Bytes()+p.set.Tables.Bytes())*float64(s.Len()))
	}
	if want := int(min(1.1*all, 8*float64(s.Len()+o.Len()))); want > s.Len() {
		s.Grow(want-s.Len(), o)
	}
}

func appendErrors(to, more []Located) []Located {
	return append(to, more[:min(len(more), maxErrors-len(to))]...)
}
