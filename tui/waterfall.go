package tui

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report"
	"github.com/tailscope/tailscope/report/page"
)

// A waterfall is the screen of one request: a row for every span that is not folded away, its time shaded by what it
// was spent on. Of 120,000 spans only the visible ones are drawn.
type waterfall struct {
	*Request
	keys keyMap

	folded map[int32]bool // by place in order
	shown  []int32        // places in order

	from, to int64 // the window of time
	segment  int   // of the path, where ] and [ are; -1 before the first
}

func newWaterfall(r *Request) *waterfall {
	w := &waterfall{Request: r, keys: newKeyMap(), folded: map[int32]bool{}, to: r.endNS, segment: -1}
	w.refresh()
	return w
}

// refresh works out which spans are not folded away.
func (w *waterfall) refresh() {
	w.shown = w.shown[:0]
	for k := int32(0); int(k) < len(w.order); k++ {
		w.shown = append(w.shown, k)
		if w.folded[k] {
			k += w.size[k] - 1
		}
	}
}

func (w *waterfall) crumb() string { return "trace " + cell(w.trace.TraceID, 12) }

func (w *waterfall) head(p *pen, z size) []string {
	t := w.trace
	root := strings.TrimSpace(name(t.Root.Service) + " " + name(t.Root.Operation))
	first := root + " · " + nanos(t.DurationNS) + " · " + plural(len(t.Spans), "span")
	if w.set != "" {
		first = sideName(w.set) + " · " + first
	}
	if n := len(t.Defects); n > 0 {
		first += " · " + plural(n, "defect")
	}
	of := w.byKind
	var kinds []string
	for _, k := range report.Kinds {
		if of[k] > 0 {
			kinds = append(kinds, fmt.Sprintf("%c %s %s", markOf(k).Sign(), k, nanos(of[k])))
		}
	}
	second := "path: " + strings.Join(kinds, " · ")
	beside := ""
	if len(t.Late) > 0 {
		beside += fmt.Sprintf(" · %c late", page.Late.Sign())
	}
	if len(t.After) > 0 {
		beside += fmt.Sprintf(" · %c after the response", page.After.Sign())
	}
	second += beside + fmt.Sprintf(" · %c not on the path", page.OffPath.Sign())
	label, track := w.split(z.width)
	axis := ""
	if track > 0 {
		lo, hi := nanos(w.from), nanos(w.to)
		axis = "  " + strings.Repeat(" ", label+1) + lo + strings.Repeat(" ", max(1, track-escape.Width(lo)-escape.Width(hi))) + hi
	}
	return []string{p.tone(page.Strong, cell(first, z.width)), second, p.tone(page.Dim, axis)}
}

// took is the width of the column of durations.
const took = 9

// split shares the width between names and time.
func (w *waterfall) split(width int) (label, track int) {
	label = max(14, min(64, width*2/5))
	track = width - label - 1
	if width >= 60 {
		track -= took + 1
	}
	return label, max(0, track)
}

func (w *waterfall) rows(size) int { return len(w.shown) }

// deepest is the number of levels that are indented; deeper ones are counted.
const deepest = 10

func (w *waterfall) row(p *pen, z size, i int) string {
	k := w.shown[i]
	s := w.span(k)
	label, cells := w.split(z.width)
	d := int(w.depth[k])
	lead := strings.Repeat("  ", min(d, deepest))
	if d > deepest {
		lead = strings.Repeat("  ", deepest-2) + fmt.Sprintf("%d ", d)
	}
	if escape.Width(lead) > label/2 {
		lead = lead[:0] + strings.Repeat(" ", label/2-5) + fmt.Sprintf("%d ", d)
	}
	switch {
	case w.size[k] == 1:
		lead += "  "
	case w.folded[k]:
		lead += "+ "
	default:
		lead += "− "
	}
	what := strings.TrimSpace(name(s.Service) + " " + name(told(s)))
	if w.folded[k] {
		what += fmt.Sprintf(" (+%s)", count(int64(w.size[k]-1)))
	}
	what, _ = escape.Elide(what, max(1, label-escape.Width(lead)))
	what = escape.Pad(lead+what, label)
	switch {
	case s.Status == "error":
		what = p.tone(page.Bad, what)
	case w.pathNS[k] > 0:
		what = p.tone(page.Strong, what)
	}
	line := what + " " + w.track(p, k, cells)
	if z.width >= 60 {
		start, end := w.times(k)
		d := right(nanos(end-start), took)
		if s.Status == "error" {
			d = right("✗ "+nanos(end-start), took)
		}
		line += " " + d
	}
	return line
}

// told is the name of a span as recorded, or its operation where that says the same and more: "GET" of a client is
// "GET /v1/scores/{id}".
func told(s *report.Span) string {
	if strings.HasPrefix(s.Operation, s.Name) {
		return s.Operation
	}
	return s.Name
}

// tones are how stretches of time are painted; their signs tell them apart without.
var tones = map[page.Mark]page.Tone{page.Waiting: page.Warn, page.OnNetwork: page.Dim, page.OffPath: page.Dim, page.TimedOut: page.Bad, page.Late: page.Bad, page.BackedOff: page.Warn, page.After: page.Dim}

// track draws a span in the window of time.
func (w *waterfall) track(p *pen, k int32, cells int) string {
	if cells <= 0 {
		return ""
	}
	start, end := w.times(k)
	if end < w.from || start > w.to {
		side := escape.Pad("‹", cells)
		if start > w.to {
			side = escape.PadLeft("›", cells)
		}
		return p.tone(page.Dim, side)
	}
	f := page.Fall{StartNS: start, EndNS: end, Pieces: w.pieces[k]}
	if w.from > 0 || w.to < w.endNS { // what is outside is cut off, so that the window begins at 0
		f = page.Fall{StartNS: max(start, w.from) - w.from, EndNS: min(end, w.to) - w.from}
		all := w.pieces[k] // in order of time, mostly without overlap
		first := sort.Search(len(all), func(i int) bool { return all[i].EndNS > w.from })
		for _, x := range all[first:] {
			if x.StartNS >= w.to {
				break
			}
			if x.EndNS > w.from {
				f.Pieces = append(f.Pieces, page.Piece{StartNS: max(x.StartNS, w.from) - w.from, EndNS: min(x.EndNS, w.to) - w.from, Mark: x.Mark})
			}
		}
	}
	empty, marks := f.Track(w.to-w.from, cells)
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", empty))
	for i := 0; i < len(marks); {
		j := i
		for j < len(marks) && marks[j] == marks[i] {
			j++
		}
		b.WriteString(p.tone(tones[marks[i]], strings.Repeat(string(marks[i].Sign()), j-i)))
		i = j
	}
	b.WriteString(strings.Repeat(" ", max(0, cells-empty-len(marks))))
	return b.String()
}

func (w *waterfall) opens(i int) (func(*App), string) {
	if i < 0 || i >= len(w.shown) {
		return nil, "there is no span"
	}
	k := w.shown[i]
	return func(a *App) { a.push(newSpan(w, k)) }, ""
}

func (w *waterfall) contains(_ size, i int, text string) bool {
	k := w.shown[i]
	return strings.Contains(w.lower[k], text) || strings.HasPrefix(w.span(k).SpanID, text)
}

func (w *waterfall) at(f *frame) int32 {
	if len(w.shown) == 0 {
		return -1
	}
	return w.shown[max(0, min(f.cursor, len(w.shown)-1))]
}

// minWindow is the shortest window of time in ns.
const minWindow = 1000

// zoom sets the window to length around the middle of the span under the cursor, within the request.
func (w *waterfall) zoom(f *frame, length int64) {
	length = max(minWindow, min(length, w.endNS))
	mid := (w.from + w.to) / 2
	if k := w.at(f); k >= 0 {
		start, end := w.times(k)
		mid = min(max((start+end)/2, w.from), w.to)
	}
	w.from = max(0, min(mid-length/2, w.endNS-length))
	w.to = w.from + length
}

func (w *waterfall) pan(by int64) {
	length := w.to - w.from
	w.from = max(0, min(w.from+by, w.endNS-length))
	w.to = w.from + length
}

// reveal unfolds what hides a span, and puts the cursor on it.
func (w *waterfall) reveal(f *frame, k int32) {
	for p := w.parent[k]; p >= 0; p = w.parent[p] {
		delete(w.folded, p)
	}
	w.refresh()
	if i, ok := slices.BinarySearch(w.shown, k); ok {
		f.cursor = i
	}
}

// step goes along the path.
func (w *waterfall) step(a *App, f *frame, by int) {
	n := len(w.trace.Path)
	w.segment = max(0, min(n-1, w.segment+by))
	g := &w.trace.Path[w.segment]
	a.status = fmt.Sprintf("path %d of %d: %s %s at %s · %s", w.segment+1, n, name(string(g.Kind)), nanos(g.EndNS-g.StartNS), nanos(g.StartNS), call(g.Service, g.Peer, g.Operation))
	if g.Evidence != "" {
		a.status += " · " + name(g.Evidence)
	}
	if g.EndNS < w.from || g.StartNS > w.to {
		w.pan((g.StartNS+g.EndNS)/2 - (w.from+w.to)/2)
	}
	if k := w.ofPath[w.segment]; k >= 0 {
		w.reveal(f, k)
	}
}

func (w *waterfall) actions() []action {
	k := &w.keys
	noPath, all, closest := "", "", ""
	if len(w.trace.Path) == 0 {
		noPath = "no critical path was found"
	}
	if w.from == 0 && w.to == w.endNS {
		all = "all of the request is shown"
	}
	if w.to-w.from <= minWindow {
		closest = "this is as close as it goes"
	}
	none := ""
	if len(w.shown) == 0 {
		none = "there is no span"
	}
	ref := TraceRef{w.set, w.trace.TraceID}
	return []action{
		{k.NextPath, func(a *App, f *frame) { w.step(a, f, 1) }, noPath},
		{k.PrevPath, func(a *App, f *frame) { w.step(a, f, -1) }, noPath},
		{k.Fold, func(a *App, f *frame) {
			at := w.at(f)
			if w.size[at] == 1 && w.parent[at] >= 0 {
				at = w.parent[at] // a leaf folds with its siblings
			}
			if w.size[at] == 1 {
				a.status = "o: nothing is below this span"
				return
			}
			w.folded[at] = !w.folded[at]
			w.refresh()
			if i, ok := slices.BinarySearch(w.shown, at); ok {
				f.cursor = i
			}
		}, none},
		{k.ZoomIn, func(_ *App, f *frame) { w.zoom(f, (w.to-w.from)/2) }, closest},
		{k.ZoomOut, func(_ *App, f *frame) { w.zoom(f, (w.to-w.from)*2) }, all},
		{k.ZoomSpan, func(_ *App, f *frame) {
			start, end := w.times(w.at(f))
			w.from, w.to = 0, w.endNS // the span may lie outside of the window
			w.zoom(f, end-start)
		}, none},
		{k.ZoomAll, func(*App, *frame) { w.from, w.to = 0, w.endNS }, all},
		{k.Left, func(*App, *frame) { w.pan(-(w.to - w.from) / 4) }, all},
		{k.Right, func(*App, *frame) { w.pan((w.to - w.from) / 4) }, all},
		{k.Compare, func(a *App, _ *frame) { a.compare(ref) }, ""},
	}
}

func (w *waterfall) command(src *Source) string {
	return traceCommand(src, TraceRef{w.set, w.trace.TraceID})
}

// export writes the trace, as tailscope trace --format json does.
func (w *waterfall) export() (string, func(io.Writer) error) {
	return slug("trace", w.trace.TraceID) + ".json", func(out io.Writer) error { return report.EncodeTrace(out, w.trace) }
}

// newSpan is the screen of one span: what was recorded of it, and what its time was spent on.
func newSpan(w *waterfall, k int32) screen {
	s := w.span(k)
	d := &document{name: "span", file: slug("span", s.SpanID)}
	d.title = []string{strings.TrimSpace(name(s.Service) + " " + name(told(s)))}
	d.cmd = w.command
	t := page.Table{Columns: []page.Column{{}, {Wrap: true}}}
	row := func(label, value string) {
		if value != "" {
			value, _ = escape.Clip(value, 4096)
			t.Rows = append(t.Rows, page.Row{Cells: []page.Cell{{Text: page.Text{{S: label, Tone: page.Dim}}}, {Text: page.Text{{S: value}}}}})
		}
	}
	start, end := w.times(k)
	row("service", s.Service)
	row("name", s.Name)
	row("operation", s.Operation)
	row("kind", s.SpanKind)
	row("status", s.Status)
	row("span id", s.SpanID)
	row("parent", s.ParentSpanID)
	row("from", nanos(start))
	row("to", nanos(end))
	row("took", nanos(end-start))
	row("self", nanos(s.SelfNS)+", its own time: nothing below it ran")
	if s.ShiftNS != 0 {
		row("shift", nanos(s.ShiftNS)+", which places it on the entry's clock")
	}
	row("on the path", nanos(w.pathNS[k]))
	if w.size[k] > 1 {
		row("below it", plural(int(w.size[k]-1), "span"))
	}
	d.blocks(t)
	path := page.Table{Columns: []page.Column{{Head: "from", Right: true}, {Head: "for", Right: true}, {Head: "kind"}, {Head: "because", Wrap: true}}}
	text := func(s string) page.Cell { return page.Cell{Text: page.Text{{S: s}}} }
	for i, g := range w.trace.Path {
		if w.ofPath[i] == k && len(path.Rows) < 200 {
			path.Rows = append(path.Rows, page.Row{Cells: []page.Cell{text(nanos(g.StartNS)), text(nanos(g.EndNS - g.StartNS)), text(string(g.Kind)), text(name(g.Evidence))}})
		}
	}
	if len(path.Rows) > 0 {
		d.heading("On the critical path")
		d.blocks(path)
	}
	for _, l := range w.trace.Late {
		if l.SpanID == s.SpanID && l.Service == s.Service {
			d.blocks(page.Para{Text: page.Text{{S: fmt.Sprintf("Late: its caller left at %s; it worked on from %s to %s.", nanos(l.DepartedNS), nanos(l.StartNS), nanos(l.EndNS))}}})
		}
	}
	for _, l := range w.trace.After {
		if l.SpanID == s.SpanID && l.Service == s.Service {
			d.blocks(page.Para{Text: page.Text{{S: fmt.Sprintf("After the end of its parent, with nobody gone: from %s to %s.", nanos(l.StartNS), nanos(l.EndNS))}}})
		}
	}
	for _, x := range w.trace.Defects {
		if x.SpanID == s.SpanID {
			d.blocks(page.Para{Text: page.Text{{S: name(x.Kind) + ": " + name(x.Detail), Tone: page.Warn}}})
		}
	}
	return d
}
