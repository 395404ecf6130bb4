package config

import (
	"maps"
	"slices"
	"strings"
)

// Rules is the rules of an endpoint for a class: those of the first entry of
// Endpoints that fits, with what the class states in place of it.
func (c *Config) Rules(service, operation, class string) Rules {
	for i := range c.Endpoints {
		e := &c.Endpoints[i]
		if !fits(e.Service, service) || !fits(e.Operation, operation) {
			continue
		}
		own, ok := e.Classes[class]
		if !ok {
			return e.Rules
		}
		return e.Rules.with(own)
	}
	return Rules{}
}

// ClassesOf is the classes for which the rules of an endpoint state something of
// their own, in order.
func (c *Config) ClassesOf(service, operation string) []string {
	for i := range c.Endpoints {
		if e := &c.Endpoints[i]; fits(e.Service, service) && fits(e.Operation, operation) {
			return slices.Sorted(maps.Keys(e.Classes))
		}
	}
	return nil
}

// fits is Match, except that an empty pattern fits all.
func fits(pattern, text string) bool { return pattern == "" || Match(pattern, text) }

// with is r with what own states in its place.
func (r Rules) with(own Rules) Rules {
	if o := own.Objective; o != nil {
		r.Objective = o
	}
	if d := own.Deadline; d != nil {
		r.Deadline = d
	}
	if b := own.Budget; b != nil {
		both := Budget{}
		if r.Budget != nil {
			both = *r.Budget
		}
		both.set(b)
		r.Budget = &both
	}
	if len(own.Limits) > 0 {
		r.Limits = own.Limits
	}
	r.Contracts = slices.Concat(r.Contracts, own.Contracts)
	without := func(list, gone []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(b string) bool { return slices.Contains(gone, b) })
	}
	r.Optional = slices.Concat(without(r.Optional, own.Mandatory), own.Optional)
	r.Mandatory = slices.Concat(without(r.Mandatory, own.Optional), own.Mandatory)
	return r
}

// set replaces the bounds of b that o states.
func (b *Budget) set(o *Budget) {
	for _, x := range []struct{ to, from **Share }{
		{&b.CoreMismatch, &o.CoreMismatch}, {&b.Errors, &o.Errors}, {&b.PoolOccupancy, &o.PoolOccupancy},
		{&b.LateWork, &o.LateWork}, {&b.Goodput, &o.Goodput}, {&b.MixMoved, &o.MixMoved}, {&b.Omission, &o.Omission},
	} {
		if *x.from != nil {
			*x.to = *x.from
		}
	}
	for _, x := range []struct{ to, from **Duration }{
		{&b.P50, &o.P50}, {&b.P99, &o.P99}, {&b.QueueAge, &o.QueueAge}, {&b.Recovery, &o.Recovery},
	} {
		if *x.from != nil {
			*x.to = *x.from
		}
	}
}

// Meaning is whether a correct answer can do without a branch.
type Meaning uint8

const (
	Undeclared Meaning = iota
	DeclaredOptional
	DeclaredMandatory
)

// Branch is what the rules declare a callee to be. Mandatory is the safer belief
// where patterns of both lists fit.
func (r *Rules) Branch(service, operation string) Meaning {
	switch {
	case anyHop(r.Mandatory, service, operation):
		return DeclaredMandatory
	case anyHop(r.Optional, service, operation):
		return DeclaredOptional
	}
	return Undeclared
}

// Contract is the contract about a hop that has the given rule; ok is false if
// there is none. A declared mandatory branch is under no-degrade.
func (r *Rules) Contract(rule, service, operation string) (c Contract, ok bool) {
	for _, c := range r.Contracts {
		if c.Rule == rule && Hop(c.Hop, service, operation) {
			return c, true
		}
	}
	if rule == "no-degrade" && r.Branch(service, operation) == DeclaredMandatory {
		return Contract{Hop: service, Rule: rule, Reason: "declared mandatory"}, true
	}
	return Contract{}, false
}

func anyHop(patterns []string, service, operation string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return Hop(p, service, operation) })
}

// Hop reports whether a pattern fits a callee: its "service" or its "service
// operation".
func Hop(pattern, service, operation string) bool {
	return Match(pattern, service) || Match(pattern, service+" "+operation)
}

// Name is the operation that the rules give to a span, from its service, its
// name and its attributes; ok is false if none fits.
func (c *Config) Name(service, span string, attribute func(key string) string) (name string, ok bool) {
	for i := range c.Operations {
		o := &c.Operations[i]
		if !fits(o.Service, service) || !fits(o.Span, span) {
			continue
		}
		if o.Attribute == "" {
			return o.Name, true
		}
		if v := attribute(o.Attribute); v != "" {
			return strings.ReplaceAll(o.Name, "{value}", v), true
		}
	}
	return "", false
}
