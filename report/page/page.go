// Package page lays a report out once for every medium: headings, paragraphs, tables, bars and footnotes, in the
// order in which a tired person wants them. [Report] and [Trace] build a [Page]; report/text, report/markdown and
// report/html draw it. So the three say the same.
//
// Strings on a page may hold anything that the data held. Whoever draws a page escapes every string of it for its
// medium; nothing on a page is markup.
//
// Signs on a page: ~ no detectable difference, ? not computable, ∞ an end of an interval that the data cannot close.
// Times in one column share one unit, which its head names.
package page

// A Page is a report laid out.
type Page struct {
	Title  string
	Blocks []Block

	// Notes are the footnotes; a Run with Note n refers to Notes[n-1].
	Notes []string
}

// A Block is one of Heading, Para, Table, BarLegend, Code and Waterfall.
type Block interface{ block() }

// A Heading begins a section; Level is 1 for the page, 2 for an endpoint, 3 for a part of it.
type Heading struct {
	Level int
	Text  Text
}

// A Para is running text.
type Para struct {
	Text   Text
	Indent int  // steps to the right
	Tight  bool // belongs to the block before: no empty line between
}

// Code is text that is meant to be copied: a query, a command.
type Code struct {
	S      string
	Indent int
}

// A Table has columns and rows of equal length. Its head is left out where no column has one.
type Table struct {
	Columns []Column
	Rows    []Row
	Indent  int
	Tight   bool
}

// A Column says how the cells below it are drawn.
type Column struct {
	Head  string
	Right bool // numbers

	Shrink bool // a name: may be elided in its middle where room is short
	Wrap   bool // prose: may take several lines
	Under  bool // belongs to the column before and may fold below it
	Bar    bool // holds bars, which take what room is left
}

// A Row is a line of a table.
type Row struct {
	Cells []Cell
	Total bool // a sum of those above
	Rest  bool // stands for rows that are not shown
	Depth int  // indentation of the first cell, as in a tree
}

// A Cell is text, a bar or a sparkline.
type Cell struct {
	Text  Text
	Bar   *Bar
	Spark []float64 // 0..1; negative for unknown
}

// A Bar shows two sizes, 0..1 of the same whole, one over the other. Single bars have Single set.
type Bar struct {
	Before, Now float64
	Single      bool
}

// A BarLegend says what the bars of the table before it mean; media draw bars in their own way.
type BarLegend struct {
	Both, Grew, Shrank string
}

// Text is a line of runs.
type Text []Run

// A Run is a piece of text in one tone, or the mark of a footnote.
type Run struct {
	S    string
	Tone Tone
	Note int // refers to Page.Notes if not 0; S is empty then
}

// A Tone is how a run is meant. It never carries meaning alone.
type Tone int

const (
	Plain Tone = iota
	Strong
	Dim
	Good
	Warn
	Bad
)

func (Heading) block()   {}
func (Para) block()      {}
func (Code) block()      {}
func (Table) block()     {}
func (BarLegend) block() {}
func (Waterfall) block() {}

// A Waterfall draws the spans of a trace over time.
type Waterfall struct {
	DurationNS int64 // of the request
	EndNS      int64 // of the time drawn, ≥ DurationNS
	Beyond     int   // rows that go on beyond it
	Rows       []Fall
}

// A Fall is one row of a waterfall: a span, or a gap in the list.
type Fall struct {
	Label string
	Depth int    // levels below the root
	Gap   string // for a row that stands for spans that are not shown: what they are; else ""

	StartNS, EndNS int64 // on the entry's clock
	PathNS         int64 // its time on the critical path
	Status         string
	Pieces         []Piece // what is known of its time, in order; between them it ran off the path
}

// A Piece is a stretch of a span's time.
type Piece struct {
	StartNS, EndNS int64
	Mark           Mark
}

// A Mark is what a stretch of a span's time was.
type Mark int

const (
	OffPath Mark = iota // ran, and nobody was waiting for it
	Working
	Waiting
	OnNetwork
	BackedOff
	TimedOut
	Unknown
	Late  // after its caller left
	After // after the response
)

// Marks are all marks in the order of the legend.
var Marks = []Mark{Working, Waiting, OnNetwork, BackedOff, TimedOut, Unknown, OffPath, Late, After}

var signs = [...]rune{OffPath: '─', Working: '█', Waiting: '▒', OnNetwork: '╌', BackedOff: '∙', TimedOut: '×', Unknown: '?', Late: '▚', After: '▹'}

// Sign is the character that draws the mark.
func (m Mark) Sign() rune { return signs[m] }

func (m Mark) String() string {
	return [...]string{OffPath: "running, not on the path", Working: "working", Waiting: "waiting", OnNetwork: "network", BackedOff: "backoff", TimedOut: "timeout",
		Unknown: "untraced", Late: "late: its caller had left", After: "after the response"}[m]
}
