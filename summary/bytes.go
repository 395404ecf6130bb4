package summary

// Bytes is about how much memory s holds: records, texts and folds.
func (s *Summary) Bytes() int64 {
	n := s.FoldBytes()
	for _, r := range s.Records {
		n += recordBytes(r)
	}
	return n
}

// FoldBytes is Bytes without records.
func (s *Summary) FoldBytes() int64 {
	return s.Dict.Bytes() + s.Graph.Bytes() + s.Queues.Bytes() + s.Metrics.Bytes() + s.Whole.bytes()
}

// BoundFolds makes what is kept of waits coarser until s takes about so many bytes
// besides its records, which Bound is for. What counts slots and clocks is as large
// as the work graphs are and is kept as it is; so half of the bytes are for waits
// in any case.
func (s *Summary) BoundFolds(bytes int64) {
	s.Queues.Bound(max(bytes/2, bytes-(s.FoldBytes()-s.Queues.Bytes())))
}
