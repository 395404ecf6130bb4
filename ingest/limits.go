package ingest

// Limits bound what a hostile or broken input can cost. A zero field means its
// default. What exceeds a limit is left out, counted and named; it never ends
// the reading of other files.
type Limits struct {
	Document   int   // bytes of one protobuf message, or of one JSON document that cannot be read in parts, decompressed; default 1 GiB
	Depth      int   // nesting of JSON, and of attribute values; default 128
	Text       int   // bytes of one name or attribute value; default 64 KiB
	Attributes int   // attributes of one span, event, point or resource; default 4096
	Events     int   // events of one span, and links of one; default 16384
	Buckets    int   // buckets, quantiles or exemplars of one metric point; default 16384
	Expansion  int64 // decompressed bytes per compressed byte, once 64 MiB are decompressed; default 2000
	Files      int   // files found in directories and globs; default 100,000

	chunk int // how much is decoded at a time; tests make it small
}

func (l Limits) withDefaults() Limits {
	for _, d := range []struct {
		v   *int
		def int
	}{
		{&l.Document, 1 << 30}, {&l.Depth, 128}, {&l.Text, 64 << 10}, {&l.Attributes, 4096},
		{&l.Events, 16384}, {&l.Buckets, 16384}, {&l.Files, 100_000}, {&l.chunk, chunkSize},
	} {
		if *d.v <= 0 {
			*d.v = d.def
		}
	}
	if l.Expansion <= 0 {
		l.Expansion = 2000
	}
	return l
}
