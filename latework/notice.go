package latework

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/graph"
)

// A Notice is a way of calling that costs time by itself, whether or not it
// changed: calls repeated one after the other, a control plane asked on the
// request's path, a first try at the wrong node.
type Notice struct {
	Kind     NoticeKind
	Slot     graph.SlotID
	Requests float64 // that show it
	Calls    float64 // in those: the repeated calls, the control plane's, the redirected
	Same     float64 // of repeated calls: those that ask again for what the request had asked for
	PathNS   float64 // time on the path that it costs those requests
}

// A NoticeKind is what a Notice is of.
type NoticeKind uint8

const (
	RepeatedCalls NoticeKind = iota
	ControlPlane
	Redirects
)

// minRepeats is from how many calls of one target in a row on they are a
// repetition: what a person writes as a few calls is written out.
const minRepeats = 5

// A NoticeCounter finds notices in records.
type NoticeCounter struct {
	Requests float64
	by       map[noticeKey]*Notice
	control  map[graph.SlotID]bool
}

type noticeKey struct {
	kind NoticeKind
	Target
}

// Add counts a record that w has walked. slot is what a call's slot is called
// by.
func (n *NoticeCounter) Add(w *graph.Walker, r *graph.Record, weight float64, slot func(graph.SlotID) graph.SlotID) {
	if n.by == nil {
		n.by, n.control = map[noticeKey]*Notice{}, map[graph.SlotID]bool{}
	}
	n.Requests += weight
	onPath := make([]int64, len(r.Calls)) // of a call and all below it
	for _, s := range w.Path {
		onPath[s.Call] += s.End - s.Start
	}
	for i := len(r.Calls) - 1; i > 0; i-- {
		onPath[r.Calls[i].Parent] += onPath[i]
	}
	var found []noticeKey
	var kids []int32
	note := func(kind NoticeKind, s graph.SlotID, calls, same float64, ns int64) {
		k := noticeKey{kind, TargetOf(w.Dict, s)}
		x := n.by[k]
		if x == nil {
			x = &Notice{Kind: kind, Slot: s}
			n.by[k] = x
		}
		x.Slot = min(x.Slot, s)
		if !slices.Contains(found, k) {
			found = append(found, k)
			x.Requests += weight
		}
		x.Calls += weight * calls
		x.Same += weight * same
		x.PathNS += weight * float64(ns)
	}
	for p := range r.Calls {
		if r.Calls[p].Len == 1 {
			continue
		}
		kids = kids[:0]
		for i := int32(p) + 1; i < int32(p)+r.Calls[p].Len; i += r.Calls[i].Len {
			c := &r.Calls[i]
			if !c.Client.Seen() || c.Flags&(graph.Async|graph.WaitSpan|graph.Loser) != 0 {
				continue
			}
			if c.Flags&graph.Redirected != 0 {
				note(Redirects, slot(c.Slot), 1, 0, onPath[i])
			} else if onPath[i] > 0 && n.isControlPlane(w.Dict, c.Slot) {
				note(ControlPlane, slot(c.Slot), 1, 0, onPath[i])
			}
			if c.Flags&(graph.Retry|graph.Hedge) == 0 {
				kids = append(kids, i)
			}
		}
		if len(kids) < minRepeats {
			continue
		}
		by := map[Target][]int32{}
		for _, i := range kids {
			t := TargetOf(w.Dict, slot(r.Calls[i].Slot))
			by[t] = append(by[t], i)
		}
		for _, list := range by {
			if len(list) < minRepeats {
				continue
			}
			if row := inARow(r, list); len(row) >= minRepeats {
				var ns int64
				same := 0.0
				seen := map[uint32]bool{}
				for k, i := range row {
					if k > 0 {
						ns += onPath[i]
					}
					if id := r.Calls[i].Identity; id != 0 {
						if seen[id] {
							same++
						}
						seen[id] = true
					}
				}
				note(RepeatedCalls, slot(r.Calls[row[0]].Slot), float64(len(row)), same, ns)
			}
		}
	}
}

// inARow is the most calls of a list of which each begins when the one before has
// ended.
func inARow(r *graph.Record, list []int32) []int32 {
	slices.SortFunc(list, func(a, b int32) int {
		return cmp.Or(cmp.Compare(r.Calls[a].Outer().End, r.Calls[b].Outer().End), cmp.Compare(a, b))
	})
	var out []int32
	for _, i := range list {
		if len(out) == 0 || r.Calls[i].Outer().Start >= r.Calls[out[len(out)-1]].Outer().End {
			out = append(out, i)
		}
	}
	return out
}

// Notices is what was found: the most time first.
func (n *NoticeCounter) Notices() []*Notice {
	out := make([]*Notice, 0, len(n.by))
	for _, x := range n.by {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b *Notice) int {
		return cmp.Or(cmp.Compare(b.PathNS, a.PathNS), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Slot, b.Slot))
	})
	return out
}

func (n *NoticeCounter) isControlPlane(d *graph.Dict, slot graph.SlotID) bool {
	is, known := n.control[slot]
	if !known {
		is = IsControlPlane(d, slot)
		n.control[slot] = is
	}
	return is
}

// IsControlPlane reports whether a call goes to what configures and finds
// services and is not meant to be asked by each request: by the names of the
// callee and of the operation.
func IsControlPlane(d *graph.Dict, slot graph.SlotID) bool {
	s := d.SlotAt(slot)
	for _, id := range [3]string{d.String(s.Callee.Service), d.String(s.Peer), d.String(s.Shown().Operation)} {
		if ControlPlaneName(id) {
			return true
		}
	}
	return false
}

// ControlPlaneName reports whether a name is that of a control plane: one of its
// words, or of its neighbouring words, is on the list.
func ControlPlaneName(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return r < '0' || r > '9' && r < 'a' || r > 'z' && r < 128
	})
	for i, w := range words {
		if controlPlanes[w] || i+1 < len(words) && controlPlanes[w+" "+words[i+1]] {
			return true
		}
	}
	return strings.Contains(name, "169.254.169.254")
}

var controlPlanes = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range []string{
		"consul", "etcd", "etcdserverpb", "zookeeper", "eureka", "nacos", "apollo configservice", "configserver", "config server", "config service", "configservice", "configuration service",
		"service discovery", "discovery service", "servicediscovery", "service registry", "schema registry", "feature flags", "feature flag", "featureflags", "featureflag", "flagd", "unleash", "launchdarkly", "openfeature",
		"vault", "secretsmanager", "secrets manager", "secret manager", "kube apiserver", "kubernetes default", "metadata google", "imds", "sts amazonaws", "well known", "jwks", "appconfig", "xds", "istiod", "pilot discovery",
	} {
		m[w] = true
	}
	return m
}()
