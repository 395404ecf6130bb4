package tui

import (
	"context"
	"io"

	"github.com/tailscope/tailscope/report"
)

// A Source is where the program gets what it shows. Its functions are called outside of the drawing goroutine and may
// take their time; they end early when ctx does.
type Source struct {
	// Report reads the inputs and analyses them. progress tells of bytes; total is 0 if it is not known. first tells of
	// the rows of endpoints before their causes are known; it need not be called.
	Report func(ctx context.Context, progress func(done, total int64), first func(*report.Report)) (*report.Report, error)

	// Trace finds one request of a set, report.Baseline or report.Current.
	Trace func(ctx context.Context, set, id string) (*report.Trace, error)

	// NoTrace says why a request of a set cannot be opened; "" where it can. Nil: all can.
	NoTrace func(set, id string) string

	// Held is the requests of an endpoint that can be opened where not all can, the slowest first. Nil: there are none
	// besides those that the report names.
	Held func(set, service, operation string) []report.Exemplar

	Args   string                  // input of the commands that are copied: "--baseline a --current b", quoted for a shell
	Inputs func(set string) string // the paths of one set, quoted for a shell
}

// An Effect is something that App wants done and that is not a frame.
type Effect interface{ effect() }

// Quit ends the program.
type Quit struct{}

// Load reads the report.
type Load struct{ Req int }

// LoadTraces reads requests; the answer goes to [App.Traces].
type LoadTraces struct {
	Req  int
	Refs []TraceRef
}

// Cancel ends the loading that nobody waits for any more.
type Cancel struct{}

// Copy puts text on the clipboard of the user's terminal.
type Copy struct{ Text string }

// Export writes a new file; the answer goes to [App.Exported].
type Export struct {
	Name  string // suggested; another is taken if it exists
	Write func(io.Writer) error
}

// A TraceRef names one request.
type TraceRef struct{ Set, ID string }

func (Quit) effect()       {}
func (Load) effect()       {}
func (LoadTraces) effect() {}
func (Cancel) effect()     {}
func (Copy) effect()       {}
func (Export) effect()     {}
