package live

import "time"

// Stats counts what came and what became of it. Of spans, at any time,
//
//	Received = Analysed + Late + Shed + Open
type Stats struct {
	Received int64 `json:"received"` // spans that came
	Analysed int64 `json:"analysed"` // that are in a window, or were found to be none
	Late     int64 `json:"late"`     // that came after their trace was analysed, or their window closed
	Shed     int64 `json:"shed"`     // that did not fit into memory, by whole traces
	Open     int64 `json:"open"`     // of traces that are not whole yet

	Duplicates int64 `json:"duplicates"`   // of Analysed: repeats, dropped
	Rejected   int64 `json:"rejected"`     // of Analysed: without an id or a time, or that end before they start
	OutOfOrder int64 `json:"out_of_order"` // of Analysed: that came after a span of their trace that started later
	Future     int64 `json:"future"`       // of Analysed: that end in a later window than the clock allows; they count in the present one
	Cut        int64 `json:"cut"`          // traces that were analysed though spans still came

	Points     int64 `json:"metric_points"`      // metric points that came
	LatePoints int64 `json:"late_metric_points"` // of them after their window closed
	ShedPoints int64 `json:"shed_metric_points"` // of them that did not fit into memory

	Windows     int64 `json:"windows"`         // completed
	Reports     int64 `json:"reports"`         // made
	Skipped     int64 `json:"skipped_reports"` // not made, as the one before was not ready
	Regressions int64 `json:"regressions"`     // windows in which a report found one
	Looks       int64 `json:"looks"`           // at windows that were still open
	Early       int64 `json:"early_reports"`   // reports of regressions that such a look found

	SpanBytes   int64   `json:"span_bytes"`   // held for traces that are not whole
	RecordBytes int64   `json:"record_bytes"` // held for open windows, folds and metrics included, about
	KeptBytes   int64   `json:"kept_bytes"`   // held of completed windows
	KeptShare   float64 `json:"kept_share"`   // of traces that are taken, 0..1; less than 1 is overload

	LastWindow time.Time `json:"last_window"` // end of the last completed window
}

// Stats are the counts as of now, or of the last tick if one is under way.
func (e *Engine) Stats() Stats {
	if e.mu.TryLock() {
		e.account()
		e.mu.Unlock()
	}
	return *e.stats.Load()
}

// account counts what is open.
func (e *Engine) account() {
	s := e.total
	s.SpanBytes = e.held.Load()
	s.Open = int64(e.gen.spans.Len() + e.prev.spans.Len())
	for _, slot := range e.slots {
		slot.Lock()
		s.Received += slot.received
		s.Shed += slot.shed
		s.Analysed += slot.rejected
		s.Rejected += slot.rejected
		s.Points += slot.counts.points
		s.ShedPoints += slot.shedPoints
		s.Open += int64(slot.open())
		s.SpanBytes += slot.bytes
		slot.Unlock()
	}
	s.Reports, s.Regressions, s.Looks, s.Early = e.reports.Load(), e.regressions.Load(), e.looks.Load(), e.early.Load()
	s.RecordBytes, s.KeptBytes = e.recordBytes(), e.keptBytes()
	s.KeptShare = 1 - float64(e.gate.Load())/(1<<64)
	e.stats.Store(&s)
}
