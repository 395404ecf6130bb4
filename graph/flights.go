package graph

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/tailscope/tailscope/trace"
)

// A Join is a span that says by a link that it waited for the answer to another
// span's call: a follower of a coalesced call, if the call it names ran then.
type Join struct {
	Call int32
	Link trace.Link
}

// A Lead is the span of a call that may have run on for nobody, or for others
// who joined it: one below a departure, or beyond its parent's end.
type Lead struct {
	Call int32
	ID   trace.SpanID
}

// flights notes what coalescing needs: which spans name a call that they waited
// for, and the names of those calls that matter when their own caller leaves.
func (b *Builder) flights(r *Record, t *Tree) {
	left := make([]bool, len(r.Calls))
	for i := range r.Calls {
		c := &r.Calls[i]
		ref := b.refs[i]
		left[i] = c.OuterEnd().Left() && c.Flags&Loser == 0
		if c.Parent >= 0 {
			p := &r.Calls[c.Parent]
			left[i] = left[i] || left[c.Parent]
			n, kind := ref.Client, trace.KindClient
			if n == NoNode {
				n, kind = ref.Work, t.kind(ref.Work)
			}
			if kind == trace.KindClient && c.Client.Seen() && t.kind(n) != trace.KindProducer || kind == trace.KindInternal || kind == trace.KindUnspecified {
				for _, l := range t.Store.Links(t.Spans[n]) {
					r.Joins = append(r.Joins, Join{int32(i), trace.Link(l)})
				}
				if left[i] || c.Outer().End > p.Inner().End {
					r.Leads = append(r.Leads, Lead{int32(i), t.id(n)})
				}
			}
		}
	}
}

// Hold finds, over all records of a set, the calls whose answer others waited
// for, and until when: the last follower's end. A call that has followers is
// nobody's late work while they wait. What a record's Held was before is
// forgotten.
func Hold(records []*Record) {
	type place struct {
		r    *Record
		call int32
	}
	leads := map[trace.Link]place{}
	joined := false
	for _, r := range records {
		r.Held = nil
		joined = joined || len(r.Joins) > 0
	}
	if !joined {
		return
	}
	for _, r := range records {
		for _, l := range r.Leads {
			leads[trace.Link{TraceID: r.TraceID, ID: l.ID}] = place{r, l.Call}
		}
	}
	for _, r := range records {
		for _, j := range r.Joins {
			at, ok := leads[j.Link]
			if !ok || !Followed(r.Calls[j.Call].Outer(), at.r.Calls[at.call].Outer()) {
				continue
			}
			until := r.Calls[j.Call].Outer().End
			k := slices.IndexFunc(at.r.Held, func(l Limit) bool { return l.Call == at.call })
			if k < 0 {
				at.r.Held = append(at.r.Held, Limit{at.call, until})
			} else {
				at.r.Held[k].Until = max(at.r.Held[k].Until, until)
			}
		}
	}
	for _, r := range records {
		slices.SortFunc(r.Held, func(a, b Limit) int { return cmp.Compare(a.Call, b.Call) })
	}
}

// Followed reports whether a follower waited while the call that it names ran.
func Followed(follower, leader *Half) bool {
	return follower.Start < leader.End && leader.Start < follower.End
}

// held is until when others waited for call i, on the entry's clock; noDeparture
// negated if nobody did.
func (w *Walker) held(i int32) int64 {
	for _, l := range w.r.Held {
		if l.Call == i {
			return int64(l.Until-w.r.Start()) + w.shift[half(i, w.r.Calls[i].Client.Seen())]
		}
	}
	return -noDeparture
}

// identity is a hash of what a client span asks for, where that is more than its
// operation says: the path with its identifiers and query, or the key of a
// cache. Calls of one operation with one identity ask for the same thing, as far
// as the span tells. Zero: it does not tell.
func (b *Builder) identity(t *Tree, n Node) uint32 {
	s, r := b.store, t.Spans[n]
	text := b.askText(r, askCacheKey)
	if text == "" {
		id, kind := b.ask(r, askURL).TextID(), urlText
		text = s.String(id)
		if _, rest, found := strings.Cut(text, "://"); found { // the host is one of many
			i := max(strings.IndexByte(rest, '/'), 0)
			text = rest[i:]
		}
		if text == "" {
			id, kind = s.Name(r), nameText
			text = s.String(id)
		}
		if b.general(kind, id, text) {
			return 0
		}
	}
	h := fnv.New32a()
	h.Write([]byte(text))
	return max(h.Sum32(), 1)
}

const nameText, urlText = 0, 1

// general reports whether a text, which is made of a string of the store, holds no identifiers.
func (b *Builder) general(kind int, id trace.StringID, text string) bool {
	const no, yes = 1, 2
	for int(id) >= len(b.plain[kind]) {
		b.plain[kind] = append(b.plain[kind], 0)
	}
	is := &b.plain[kind][id]
	if *is == 0 {
		*is = no
		if trace.Template(text) == text {
			*is = yes
		}
	}
	return *is == yes
}

// redirects reports whether a client span was told to ask elsewhere: its caller's
// map of who holds what was stale. HTTP says so by its codes, systems that keep
// their data in shards by words of their own.
func (b *Builder) redirects(r trace.SpanRef) bool {
	s := b.store
	if code, ok := b.httpStatus(r); ok {
		switch code {
		case 301, 302, 303, 307, 308, 421:
			return true
		}
		return false
	}
	if s.Status(r) != trace.StatusError {
		return false
	}
	for _, text := range [3]string{b.askText(r, askError), s.AttrText(r, "db.response.status_code"), s.String(s.StatusMessage(r))} {
		if redirection(text) != "" {
			return true
		}
	}
	return false
}

// redirection is the word of a text that says that another node is to be asked.
func redirection(text string) string {
	low := strings.NewReplacer("_", "", "-", "", " ", "", "'", "").Replace(strings.ToLower(text))
	for _, w := range redirections {
		if strings.HasPrefix(low, w) || len(w) > 5 && strings.Contains(low, w) {
			return w
		}
	}
	return ""
}

// redirections is how systems with shards say that another node is to be asked,
// without separators: Redis Cluster, Kafka, etcd, TiKV, MongoDB, CockroachDB,
// Elasticsearch.
var redirections = []string{
	"moved", "ask1", "notleader", "nottheleader", "isnottheleader", "notcontroller", "notcoordinator", "regionnotfound", "epochnotmatch", "keynotinregion",
	"notprimary", "notmaster", "notwritableprimary", "notleaseholder", "rangekeymismatch", "wrongshard", "wrongpartition", "wrongregion", "staleshard", "staleconfig",
	"misdirected", "unknowntopicorpartition", "shardnotfound",
}
