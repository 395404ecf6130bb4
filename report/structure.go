package report

import "strconv"

// A NodeID is the place of a node in Structure.Nodes by its id.
type NodeID int

// NoNode is the parent of the root, and the node of a row that has none: null in JSON.
const NoNode NodeID = -1

// MarshalJSON gives the id, or null for NoNode.
func (n NodeID) MarshalJSON() ([]byte, error) {
	if n < 0 {
		return []byte("null"), nil
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *NodeID) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = NoNode
		return nil
	}
	i, err := strconv.Atoi(string(b))
	*n = NodeID(i)
	return err
}

// A Structure is the serial and parallel shape of the current set's requests.
type Structure struct {
	Expression  string           `json:"expression"`  // "ingress + profile + max(inventory, …) + respond"
	Nodes       List[Node]       `json:"nodes"`       // in pre-order: a parent stands before its children
	Edges       List[Edge]       `json:"edges"`       // the kept reduction of the order between siblings
	Exclusions  List[Exclusion]  `json:"exclusions"`  // siblings that never run at once, in either order
	Differences List[Difference] `json:"differences"` // between the sets
	Warnings    List[string]     `json:"warnings"`    // doubts about it
}

// A Node is one call slot: the same call of the same parent in every request. Durations are per call.
type Node struct {
	ID        NodeID `json:"id"`        // its index in Nodes
	Parent    NodeID `json:"parent"`    // null for the root
	Service   string `json:"service"`   // of the called operation
	Operation string `json:"operation"` // templated
	Peer      string `json:"peer"`      // the callee, where the call has no server half
	Kind      string `json:"kind"`      // client, server, internal, producer, consumer or unspecified

	Present          int64 `json:"present"`           // requests that have it
	Of               int64 `json:"of"`                // requests in which its parent ran
	Mode             Mode  `json:"mode"`              // one call or several
	MeanMultiplicity Float `json:"mean_multiplicity"` // calls per request that has it

	// Optional is what the node means (declared, or the endpoint was seen to succeed without it); WaitedFor is what
	// happens in time. An optional call may well be waited for.
	Optional         bool  `json:"optional"`
	WaitedFor        bool  `json:"waited_for"`         // the parent goes on only when it has ended
	WaitedForRefuted int64 `json:"waited_for_refuted"` // requests whose parent ended while it ran
	WaitedForHeld    int64 `json:"waited_for_held"`    // requests in which its end let the parent go on

	// Of at most 500 requests, evenly spread. A branch is the node and all below it.
	SlackMs       Num `json:"slack_ms"`        // mean time by which a call could have lasted longer without the request's doing so; null of the root
	SelfMs        Num `json:"self_ms"`         // mean time of a call in which nothing ran that it had called
	Concurrency   Num `json:"concurrency"`     // mean number of calls of its parent that run while one does, itself included; null of the root
	WaitedUpToMs  Num `json:"waited_up_to_ms"` // the longest that a parent waited for a call of it; null of what is not waited for
	BlockingShare Num `json:"blocking_share"`  // requests in which the critical path leads through the branch, of those that have it
	DragMs        Num `json:"drag_ms"`         // mean time by which a request that has the branch would be shorter without it; null of the root

	Baseline *NodeTimes `json:"baseline,omitempty"` // durations before
	Current  NodeTimes  `json:"current"`            // durations now

	Warnings List[string] `json:"warnings"` // doubts about it
}

// NodeTimes are durations of one call.
type NodeTimes struct {
	P50Ms  Num `json:"p50_ms"`  // median
	P99Ms  Num `json:"p99_ms"`  // 99th percentile
	MeanMs Num `json:"mean_ms"` // mean
}

// An Edge says that one sibling ends before another begins.
type Edge struct {
	From     NodeID `json:"from"`       // ends first
	To       NodeID `json:"to"`         // begins after it
	Held     int64  `json:"held"`       // requests that keep the order
	Refuted  int64  `json:"refuted"`    // requests in which From still ran when To began
	GapP50Ms Num    `json:"gap_p50_ms"` // median time between them

	// Of the requests in which From ended last of all that come before To.
	GapP10Ms Num `json:"gap_p10_ms"` // 10th percentile of the time between them; null of fewer than 20 requests
	GapP90Ms Num `json:"gap_p90_ms"` // 90th percentile
	Follows  Num `json:"follows"`    // 1: the gap is what it is however long From takes: To waits for its end; 0: it shrinks as From takes longer: To begins by itself, so far; null: cannot be told
}

// An Exclusion is two siblings that both came first, never overlapped, and by chance would have: a lock or a single
// connection lets one at a time through.
type Exclusion struct {
	A        NodeID `json:"a"`         // the sibling that stands before the other
	B        NodeID `json:"b"`         // the other
	AFirst   int64  `json:"a_first"`   // requests in which A ended before B began
	BFirst   int64  `json:"b_first"`   // and B before A
	Overlaps int64  `json:"overlaps"`  // and in which they overlapped
	ByChance Float  `json:"by_chance"` // overlaps to expect of two calls that begin anywhere in their parent
}

// A Difference is a change of structure between the sets.
type Difference struct {
	Kind DifferenceKind `json:"kind"` // what changed
	Node NodeID         `json:"node"` // in the current set's structure; null for a lost hop

	Service   string `json:"service"`   // of the node concerned
	Operation string `json:"operation"` // of the node concerned
	Was       string `json:"was"`       // the baseline's operation, for a renamed node
	Detail    string `json:"detail"`    // a sentence; may be ""

	// What Baseline and Current count depends on Kind: the share of requests with the hop (new-hop, lost-hop,
	// renamed; 0..1), the share of requests with the group in series (serialized, parallelized), calls per parent
	// (wider, narrower), the share of calls that their parents did not wait for (waited-for).
	Baseline Num `json:"baseline"`
	Current  Num `json:"current"` // the same of the current side
}
