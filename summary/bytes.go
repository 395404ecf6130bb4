package summary

// Bytes is about how much memory s holds: records, texts and folds.
func (s *Summary) Bytes() int64 {
	n := s.Dict.Bytes() + s.Graph.Bytes() + s.Queues.Bytes() + s.Metrics.Bytes()
	for _, r := range s.Records {
		n += recordBytes(r)
	}
	return n
}

// BoundFolds makes what is kept of waits coarser until s, whose records are
// bounded by Bound, takes about so many bytes besides them at most. What counts
// slots and clocks is as large as the work graphs are; it is kept as it is, and
// half of the bytes are for waits at least.
func (s *Summary) BoundFolds(bytes int64) {
	s.Queues.Bound(max(bytes/2, bytes-s.Dict.Bytes()-s.Graph.Bytes()-s.Metrics.Bytes()))
}
