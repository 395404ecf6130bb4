// Package dot draws the structure of an endpoint's requests as a graph: [Write] for Graphviz, [WriteMermaid] for
// Mermaid in tickets and READMEs.
//
// A solid arrow goes from a parent to a call that it waits for, a dashed one to a call that it does not; arrows
// without a head between siblings say that one ends before the other begins. Calls that are optional by meaning have
// a dashed outline. The share of the target quantile's time stands in each label, and calls with a tenth of it or
// more are bold: the picture reads without colour.
package dot

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/internal/escape"
	"github.com/tailscope/tailscope/report"
)

// nameLimit bounds the runes of a label's line.
const nameLimit = 80

// heavy is the share of the time from which on a node is drawn bold.
const heavy = 0.1

// A node is what both languages draw of one.
type node struct {
	report.Node
	lines []string // of the label
	heavy bool
}

// nodes labels the nodes of the endpoint's structure; q is the quantile whose time is shared out.
func nodes(e *report.Endpoint, q report.Float) []node {
	spent := map[report.NodeID]float64{}
	for _, a := range e.Allocation {
		if a.Node >= 0 && a.Quantile == q {
			spent[a.Node] += a.CurrentMs.Or(0)
		}
	}
	whole := 0.0
	if v := e.Of(q); v != nil {
		whole = v.CurrentMs.Or(0)
	}
	var out []node
	for _, n := range e.Structure.Nodes {
		x := node{Node: n}
		who := n.Service
		if n.Peer != "" && n.Peer != n.Service {
			who += " → " + n.Peer
		}
		x.lines = append(x.lines, clip(who), clip(n.Operation))
		if whole > 0 {
			share := spent[n.ID] / whole
			x.heavy = share >= heavy
			x.lines = append(x.lines, fmt.Sprintf("%.1f %% of p%s", 100*share, trim(100*float64(q))))
		}
		switch n.Mode {
		case report.SerialRepeat:
			x.lines = append(x.lines, fmt.Sprintf("%s × in series", trim(float64(n.MeanMultiplicity))))
		case report.ParallelRepeat:
			x.lines = append(x.lines, fmt.Sprintf("%s × at once", trim(float64(n.MeanMultiplicity))))
		}
		if n.Present < n.Of && n.Of > 0 {
			x.lines = append(x.lines, fmt.Sprintf("in %.1f %% of requests", 100*float64(n.Present)/float64(n.Of)))
		}
		out = append(out, x)
	}
	return out
}

func clip(s string) string {
	s, _ = escape.Clip(s, nameLimit)
	return s
}

// trim is a number with at most two decimals.
func trim(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// Write draws the endpoint's structure in DOT.
func Write(w io.Writer, e *report.Endpoint, q report.Float) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "digraph %s {\n", escape.DOT(clip(e.Service+" "+e.Operation)))
	b.WriteString("  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\", fontsize=11];\n  edge [fontname=\"sans-serif\", fontsize=9];\n")
	for _, n := range nodes(e, q) {
		var style []string
		if n.heavy {
			style = append(style, "bold")
		}
		if n.Optional {
			style = append(style, "dashed")
		}
		label := make([]string, len(n.lines))
		for i, l := range n.lines {
			quoted := escape.DOT(l)
			label[i] = quoted[1 : len(quoted)-1]
		}
		fmt.Fprintf(b, "  n%d [label=\"%s\", style=\"%s\"];\n", n.ID, strings.Join(label, `\n`), strings.Join(style, ","))
	}
	for _, n := range e.Structure.Nodes {
		if n.Parent >= 0 {
			style := "solid"
			if !n.WaitedFor {
				style = "dashed"
			}
			fmt.Fprintf(b, "  n%d -> n%d [style=%s];\n", n.Parent, n.ID, style)
		}
	}
	for _, x := range e.Structure.Edges {
		label := "before"
		if gap, ok := x.GapP50Ms.Get(); ok {
			label += fmt.Sprintf(", %s ms", trim(gap))
		}
		fmt.Fprintf(b, "  n%d -> n%d [style=dotted, arrowhead=none, constraint=false, label=%s];\n", x.From, x.To, escape.DOT(label))
	}
	for _, x := range e.Structure.Exclusions {
		fmt.Fprintf(b, "  n%d -> n%d [style=dotted, dir=both, constraint=false, label=%s];\n", x.A, x.B, escape.DOT("never at once"))
	}
	b.WriteString("}\n")
	return b.Flush()
}

// WriteMermaid draws the endpoint's structure as a Mermaid flowchart.
func WriteMermaid(w io.Writer, e *report.Endpoint, q report.Float) error {
	b := bufio.NewWriter(w)
	b.WriteString("flowchart LR\n")
	var bold, optional []string
	for _, n := range nodes(e, q) {
		label := make([]string, len(n.lines))
		for i, l := range n.lines {
			quoted := escape.Mermaid(l)
			label[i] = quoted[1 : len(quoted)-1]
		}
		fmt.Fprintf(b, "  n%d[\"%s\"]\n", n.ID, strings.Join(label, "<br/>"))
		id := fmt.Sprintf("n%d", n.ID)
		if n.heavy {
			bold = append(bold, id)
		}
		if n.Optional {
			optional = append(optional, id)
		}
	}
	for _, n := range e.Structure.Nodes {
		switch {
		case n.Parent < 0:
		case n.WaitedFor:
			fmt.Fprintf(b, "  n%d --> n%d\n", n.Parent, n.ID)
		default:
			fmt.Fprintf(b, "  n%d -.-> n%d\n", n.Parent, n.ID)
		}
	}
	for _, x := range e.Structure.Edges {
		fmt.Fprintf(b, "  n%d -.-|before| n%d\n", x.From, x.To)
	}
	for _, x := range e.Structure.Exclusions {
		fmt.Fprintf(b, "  n%d -.-|never at once| n%d\n", x.A, x.B)
	}
	for _, c := range []struct {
		name, style string
		ids         []string
	}{{"heavy", "stroke-width:3px", bold}, {"optional", "stroke-dasharray:4 3", optional}} {
		if len(c.ids) > 0 {
			fmt.Fprintf(b, "  classDef %s %s\n  class %s %s\n", c.name, c.style, strings.Join(c.ids, ","), c.name)
		}
	}
	return b.Flush()
}
