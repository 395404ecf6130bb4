package analysis

import (
	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/summary"
	"github.com/tailscope/tailscope/trace"
)

// judge says how entry spans count under the options.
func (o *Options) judge() summary.Judge {
	return func(s *trace.Store, r trace.SpanRef) graph.Judgement {
		j := graph.Judgement{Weight: graph.OneRequest}
		if o.ClassAttr != "" {
			j.Class = s.Attr(r, o.ClassAttr).TextID()
		}
		return j
	}
}
