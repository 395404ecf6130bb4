package analysis

import (
	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/graph"
	"github.com/tailscope/tailscope/population"
	"github.com/tailscope/tailscope/trace"
)

// Judge says how entry spans count under the options, for those who fold spans
// themselves. It is not safe for concurrent use.
func (o *Options) Judge() graph.Judge { return o.judge() }

// Name has the operations of a store named by the configuration.
func (o *Options) Name(s *trace.Store) { o.names(s) }

// Reads are the attributes of spans that the user has the analysis read: the one
// that tells classes apart, and those that say what was waited.
func (o *Options) Reads() []string {
	var keys []string
	add := func(key string) {
		if key != "" {
			keys = append(keys, key)
		}
	}
	add(o.ClassAttr)
	if o.Config != nil {
		add(o.Config.Class.Attribute)
		for _, w := range o.Config.Waits {
			add(w.Attribute)
			add(w.ResourceAttribute)
		}
	}
	return keys
}

// judge says how entry spans count under the options.
func (o *Options) judge() graph.Judge {
	var c config.Config
	if o.Config != nil {
		c = *o.Config
	}
	if o.ClassAttr != "" {
		c.Class = config.Class{Attribute: o.ClassAttr}
	}
	rules := population.New(&c)
	var namer *trace.Namer
	var of *trace.Store
	return func(s *trace.Store, r trace.SpanRef, calls bool) graph.Judgement {
		if of != s {
			namer, of = trace.NewNamer(s), s
		}
		w, sampling := population.WeightOf(s, r)
		j := graph.Judgement{
			Outcome:       population.OutcomeOf(s, r, calls),
			Weight:        int64(w),
			UnknownWeight: sampling == population.Unreadable || sampling == population.Unmeasured,
			Class:         s.InternString(rules.Class(s, r)),
		}
		if !calls && population.EmptyPoll(s, r) {
			j.Standing, j.Reason = graph.Stream, s.InternString(population.LongPoll.String())
		} else if rule, ok := rules.Excluded(s, r, s.String(namer.Service(r)), s.String(namer.Operation(r))); ok {
			j.Standing, j.Reason = graph.Excluded, s.InternString(rule)
		} else if population.Scheduled(s, r) {
			j.Standing = graph.Scheduled
		}
		return j
	}
}
