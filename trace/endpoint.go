package trace

import "strings"

// An Endpoint names what a span did: an operation of a service. Two spans with
// equal Endpoints are calls of the same thing.
type Endpoint struct{ Service, Operation StringID }

// A Namer names the operations of a store's spans and remembers each name, so
// that the cost is that of the different names. It is not safe for concurrent
// use.
type Namer struct {
	s         *Store
	templated map[StringID]StringID
	paths     map[StringID]StringID // of URLs and their paths
	joined    map[[3]StringID]StringID
	keys      struct {
		method, oldMethod, route, rpcService, rpcMethod StringID
	}
}

// NewNamer returns a Namer over s.
func NewNamer(s *Store) *Namer {
	n := &Namer{s: s, templated: map[StringID]StringID{}, paths: map[StringID]StringID{}, joined: map[[3]StringID]StringID{}}
	n.keys.method = s.InternString("http.request.method")
	n.keys.oldMethod = s.InternString("http.method")
	n.keys.route = s.InternString("http.route")
	n.keys.rpcService = s.InternString("rpc.service")
	n.keys.rpcMethod = s.InternString("rpc.method")
	return n
}

// Service is the service of a span.
func (n *Namer) Service(r SpanRef) StringID { return n.s.Resource(n.s.ResourceOf(r)).Service }

// Operation is what a span did: by the user's own rules, else method and http.route, else rpc.service with
// rpc.method, else the span's name with identifiers replaced by {id}. A client
// span that is named by its method alone is named by method and path.
func (n *Namer) Operation(r SpanRef) StringID {
	if n.s.Names != nil {
		attribute := func(key string) string { return n.s.Text(n.s.Attr(r, key)) }
		if name, ok := n.s.Names(n.s.String(n.Service(r)), n.s.String(n.s.Name(r)), attribute); ok {
			return n.s.InternString(name)
		}
	}
	var method, route, service, rpc StringID
	for _, a := range n.s.Attrs(r) {
		switch a.Key {
		case n.keys.method, n.keys.oldMethod:
			method = a.Value.TextID()
		case n.keys.route:
			route = a.Value.TextID()
		case n.keys.rpcService:
			service = a.Value.TextID()
		case n.keys.rpcMethod:
			rpc = a.Value.TextID()
		}
	}
	switch {
	case route != 0 && method != 0:
		return n.join(method, ' ', route)
	case route != 0:
		return route
	case service != 0 && rpc != 0:
		return n.join(service, '/', rpc)
	case rpc != 0 && strings.Contains(n.s.String(rpc), "/"):
		return rpc // newer conventions spell the service in rpc.method
	}
	name := n.s.Name(r)
	if method != 0 && (n.s.Kind(r) == KindClient || n.s.Kind(r) == KindProducer) && n.onlyMethod(name, method) {
		if path := n.path(r); path != 0 {
			return n.join(method, ' ', path)
		}
	}
	id, ok := n.templated[name]
	if !ok {
		id = n.s.InternString(Template(n.s.String(name)))
		n.templated[name] = id
	}
	return id
}

// onlyMethod reports whether a span's name says no more than its method.
func (n *Namer) onlyMethod(name, method StringID) bool {
	return name == method || n.s.String(name) == "HTTP "+n.s.String(method)
}

// path is the path that a client span asks for: url.template, else the path of
// its URL with identifiers replaced; zero if it has none.
func (n *Namer) path(r SpanRef) StringID {
	if v := n.s.Attr(r, "url.template"); v != 0 {
		return v.TextID()
	}
	v := n.s.Attr(r, "url.path", "http.target", "url.full", "http.url").TextID()
	if v == 0 {
		return 0
	}
	id, ok := n.paths[v]
	if !ok {
		text := n.s.String(v)
		if _, rest, found := strings.Cut(text, "://"); found {
			text = ""
			if i := strings.IndexByte(rest, '/'); i >= 0 {
				text = rest[i:]
			}
		}
		text, _, _ = strings.Cut(text, "#")
		if text, _, _ = strings.Cut(text, "?"); text != "" {
			id = n.s.InternString(Template(text))
		}
		n.paths[v] = id
	}
	return id
}

// Templated reports whether the operation of r is its name with identifiers
// replaced.
func (n *Namer) Templated(r SpanRef) bool {
	name := n.s.Name(r)
	id, ok := n.templated[name]
	return ok && id != name && id == n.Operation(r)
}

func (n *Namer) join(a StringID, sep byte, b StringID) StringID {
	key := [3]StringID{a, StringID(sep), b}
	id, ok := n.joined[key]
	if !ok {
		id = n.s.InternString(n.s.String(a) + string(sep) + n.s.String(b))
		n.joined[key] = id
	}
	return id
}

// Peer is the name of the party that a client or producer span calls, as the
// caller knows it; zero if the span does not say.
func (n *Namer) Peer(r SpanRef) StringID {
	v := n.s.Attr(r, "peer.service", "service.peer.name", "server.address", "net.peer.name")
	if v == 0 {
		v = n.s.Attr(r, "db.namespace", "db.name", "db.instance", "db.system.name", "db.system", "messaging.destination.name", "messaging.destination", "messaging.system", "rpc.service")
	}
	if v == 0 { // OpenTracing's names
		v = n.s.Attr(r, "peer.hostname", "db.type", "message_bus.destination", "peer.address")
	}
	return v.TextID()
}

// Database reports whether the span says that it is about a database.
func (n *Namer) Database(r SpanRef) bool {
	return n.s.Attr(r, "db.system.name", "db.system", "db.instance", "db.type") != 0
}

// Template replaces the parts of a span's name that identify one thing by
// {id}: path segments and words that are numbers, UUIDs, long hexadecimal
// numbers, percent-encoded values, mail addresses, or mixtures of letters and
// digits that nobody would choose as a name. A query string is cut off. Names
// without such parts come back unchanged.
func Template(name string) string {
	if i := strings.IndexByte(name, '?'); i > 0 && strings.IndexByte(name[:i], '/') >= 0 {
		name = name[:i]
	}
	var out strings.Builder
	changed := false
	path := false // inside a path: short numbers are identifiers there, and words elsewhere
	for start := 0; start <= len(name); {
		end := start
		for end < len(name) && name[end] != '/' && name[end] != ' ' {
			end++
		}
		if part := name[start:end]; identifies(part, path) {
			if !changed {
				out.WriteString(name[:start])
				changed = true
			}
			out.WriteString("{id}")
		} else if changed {
			out.WriteString(part)
		}
		if end == len(name) {
			break
		}
		if changed {
			out.WriteByte(name[end])
		}
		path = name[end] == '/' || path && name[end] != ' '
		start = end + 1
	}
	if !changed {
		return name
	}
	return out.String()
}

// identifies reports whether part is the name of one thing and not of a kind
// of thing.
func identifies(part string, path bool) bool {
	if part == "" {
		return false
	}
	digits, hexes, letters, others := 0, 0, 0, 0
	lower, turns := 0, 0 // turns: places where a letter follows a digit or a digit a letter
	for i := range len(part) {
		if i > 0 && isDigit(part[i]) != isDigit(part[i-1]) {
			turns++
		}
		if 'a' <= part[i] && part[i] <= 'z' {
			lower++
		}
		switch c := part[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F':
			hexes++
		case 'g' <= c && c <= 'z' || 'G' <= c && c <= 'Z':
			letters++
		case c == '-' || c == '_':
			others++
		case path && (c == '%' || c == '@') && i > 0:
			return true
		default:
			return false
		}
	}
	switch {
	case letters == 0 && others == 0 && hexes == 0:
		return path || digits >= 4 // a number
	case letters == 0 && digits > 0 && digits+hexes >= 8 && (others == 0 || isUUID(part)):
		return true // a hexadecimal number or a UUID
	case digits >= 4 && digits+hexes+letters >= 16:
		return true // a token
	case path && letters+hexes > 0 && others == 0 && digits >= 5:
		return true // an order or customer number such as A1234567
	case path && digits > 0 && lower == 0 && others == 0 && len(part) >= 8:
		return true // a product's code such as 1YMWWN1N4O
	case path && turns >= 4 && others == 0 && len(part) >= 8 && !isVersion(part):
		return true // a key such as dQw4w9WgXcQ
	}
	return false
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isVersion reports whether s begins as v1p1beta1 does.
func isVersion(s string) bool { return (s[0] == 'v' || s[0] == 'V') && isDigit(s[1]) }

func isUUID(s string) bool {
	return len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-'
}
