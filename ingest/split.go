package ingest

import "bytes"

// A splitter cuts one JSON document that is larger than a chunk into several that
// say the same, between the elements of a list of documents, of Jaeger's traces,
// or of a list by resource, by scope or of items. Each part repeats what opens
// the lists around it, and the resource and scope that its elements share:
//
//	{"resourceSpans":[{"resource":R,"scopeSpans":[ A, B, C ]}, D ]}
//	{"resourceSpans":[{"resource":R,"scopeSpans":[ A, B ]}]}
//	{"resourceSpans":[{"resource":R,"scopeSpans":[ C ]}, D ]}
//
// It sees no more of the document than its brackets, keys and texts. A document
// whose brackets do not fit is not cut any further; what is wrong with it is for
// the decoder to say.
type splitter struct {
	deep  bool // cuts below a resource too
	stack []level
	pos   int // in the buffer: what is before is scanned
	text  int // where the text begins that is being scanned; negative: none

	cut    int    // the comma to cut at; zero: none
	prefix []byte // what opens the next part
	suffix []byte // what closes this one
	broken bool
}

// A level is a list or an object that has begun.
type level struct {
	kind  levelKind
	array bool
	inKey bool   // of an object: a key comes
	key   string // of an object: the last
	field int    // of an object: where the field with that key begins
	keep  []byte // of an object: the fields that its parts repeat
}

type levelKind uint8

const (
	opaque levelKind = iota
	documentsLevel
	documentLevel
	tracesLevel
	resourcesLevel
	resourceLevel
	scopesLevel
	scopeLevel
	itemsLevel
)

// maxPrefix bounds what each part repeats.
const maxPrefix = 64 << 10

// child is the kind of what begins below a level.
func (s *splitter) child(array bool) levelKind {
	if len(s.stack) == 0 {
		if array {
			return documentsLevel
		}
		return documentLevel
	}
	up := &s.stack[len(s.stack)-1]
	list := func(kind levelKind) levelKind {
		if array {
			return kind
		}
		return opaque
	}
	switch up.kind {
	case documentsLevel:
		if array {
			return documentsLevel
		}
		return documentLevel
	case resourcesLevel:
		return resourceLevel
	case scopesLevel:
		return scopeLevel
	case documentLevel, resourceLevel, scopeLevel:
		switch up.key {
		case "trace", "result", "_source", "data":
			if up.kind != documentLevel {
				return opaque
			}
			if !array {
				return documentLevel
			}
			if up.key == "data" {
				return tracesLevel
			}
		case "resourceSpans", "resource_spans", "batches", "resourceMetrics", "resource_metrics", "resourceLogs", "resource_logs":
			if up.kind == documentLevel {
				return list(resourcesLevel)
			}
		case "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans",
			"scopeMetrics", "scope_metrics", "instrumentationLibraryMetrics", "instrumentation_library_metrics",
			"scopeLogs", "scope_logs", "instrumentationLibraryLogs", "instrumentation_library_logs":
			if up.kind == resourceLevel && s.deep && len(up.keep) > 0 {
				return list(scopesLevel)
			}
		case "spans", "metrics", "logRecords", "log_records", "logs":
			if up.kind == scopeLevel && s.deep && len(up.keep) > 0 {
				return list(itemsLevel)
			}
		}
	}
	return opaque
}

// shared reports whether the parts of an object repeat the field.
func (l *level) shared() bool {
	switch l.key {
	case "resource":
		return l.kind == resourceLevel
	case "scope", "instrumentationLibrary", "instrumentation_library":
		return l.kind == scopeLevel
	}
	return false
}

// scan goes on through buf and returns the end of the document, if it is there.
func (s *splitter) scan(buf []byte) (end int, done bool) {
	for ; s.pos < len(buf) && !s.broken; s.pos++ {
		if s.text >= 0 {
			if !s.scanText(buf) {
				return 0, false
			}
			continue
		}
		switch c := buf[s.pos]; c {
		case '"':
			s.text = s.pos
		case '{', '[':
			s.stack = append(s.stack, level{kind: s.child(c == '['), array: c == '[', inKey: c == '{'})
		case '}', ']':
			if len(s.stack) == 0 || s.stack[len(s.stack)-1].array != (c == ']') {
				s.broken = true
				return 0, false
			}
			s.stack = s.stack[:len(s.stack)-1]
			if len(s.stack) == 0 {
				return s.pos + 1, true
			}
		case ',':
			if len(s.stack) == 0 {
				s.broken = true
				return 0, false
			}
			s.comma(buf)
		case ':':
			if len(s.stack) > 0 {
				s.stack[len(s.stack)-1].inKey = false
			}
		default:
			if len(s.stack) == 0 {
				s.broken = true
				return 0, false
			}
		}
	}
	return 0, false
}

// scanText scans a text up to its closing quote; false if that has not come.
func (s *splitter) scanText(buf []byte) bool {
	for ; s.pos < len(buf); s.pos++ {
		switch buf[s.pos] {
		case '\\':
			if s.pos+1 == len(buf) {
				return false // seen again when there is more
			}
			s.pos++
		case '"':
			if n := len(s.stack); n > 0 && s.stack[n-1].inKey && s.stack[n-1].kind != opaque {
				up := &s.stack[n-1]
				up.key, up.field = "", s.text
				if s.pos-s.text <= 40 {
					up.key = string(buf[s.text+1 : s.pos])
				}
			}
			s.text = -1
			return true
		}
	}
	return false
}

// comma ends a field or an element.
func (s *splitter) comma(buf []byte) {
	up := &s.stack[len(s.stack)-1]
	if !up.array {
		if up.shared() && s.pos-up.field < maxPrefix {
			up.keep = append(up.keep, bytes.Map(func(r rune) rune {
				if r == '\n' || r == '\r' { // so that lines are counted once
					return ' '
				}
				return r
			}, buf[up.field:s.pos+1])...)
		}
		up.inKey = true
		return
	}
	if up.kind == opaque {
		return
	}
	size := 0
	for i := range s.stack {
		size += len(s.stack[i].keep) + 64
	}
	if size > maxPrefix {
		return
	}
	s.cut, s.prefix, s.suffix = s.pos, s.prefix[:0], s.suffix[:0]
	for i := range s.stack {
		l := &s.stack[i]
		if l.array {
			s.prefix = append(s.prefix, '[')
			continue
		}
		s.prefix = append(append(s.prefix, '{'), l.keep...)
		s.prefix = append(append(append(s.prefix, '"'), l.key...), `":`...)
	}
	for i := len(s.stack) - 1; i >= 0; i-- {
		s.suffix = append(s.suffix, "}]"[b2i(s.stack[i].array)])
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// moved says that the buffer now begins with the prefix and what stood behind the
// cut.
func (s *splitter) moved() {
	by := len(s.prefix) - (s.cut + 1)
	s.pos += by
	if s.text >= 0 {
		s.text += by
	}
	for i := range s.stack {
		s.stack[i].field += by
	}
	s.cut = 0
}
