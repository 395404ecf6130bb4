// Package redact decides which attribute values of a stream are kept, and cuts out
// of them what users typed. What is not kept cannot leave the process: it is in no
// report, in no snapshot and on no page.
//
// A Policy is the user's; a Cleaner applies it to what decoders of files made.
package redact

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/tailscope/tailscope/trace"
)

// An Action is what is done with the value of an attribute before it is kept.
type Action uint8

// The actions.
const (
	Keep  Action = iota
	Drop         // it is not kept
	SQL          // its literals are replaced
	Query        // what follows a question mark, and user information, is cut off
)

// Template applies the action to a text.
func (a Action) Template(b []byte) []byte {
	switch a {
	case SQL:
		return templateSQL(b)
	case Query:
		return templateURL(b)
	}
	return b
}

// A Policy says which attribute values may be kept: those that the analysis reads
// in any case, those that the user had it read, and those that are allowed; but none
// that is redacted.
type Policy struct{ Allow, Redact, Reads Patterns }

// Default are the attributes that are not kept unless the list is replaced: what is
// known to hold secrets or persons.
var Default = Patterns{
	"http.request.header.authorization", "http.request.header.cookie", "http.response.header.set-cookie", "http.request.header.x-api-key",
	"http.request.body*", "http.response.body*", "rpc.request.metadata*", "rpc.response.metadata*", "rpc.grpc.request.metadata*", "rpc.grpc.response.metadata*",
	"url.query", "http.query", "user.*", "enduser.*", "client.address", "client.socket.address", "http.client_ip", "net.sock.peer.addr",
	"db.query.parameter*", "db.sql.parameter*", "process.command_args", "process.command_line", "exception.message", "exception.stacktrace", "messaging.message.body*",
}

// Check tells which pattern is none.
func (p Patterns) Check() error {
	for _, k := range p {
		if k == "" || strings.Contains(strings.TrimSuffix(k, "*"), "*") {
			return fmt.Errorf("%q is no attribute; a * may stand at the end only", k)
		}
	}
	return nil
}

// Patterns are attribute keys; one that ends in * stands for all that begin so.
type Patterns []string

// Match reports whether a key is meant.
func (p Patterns) Match(key string) bool {
	for _, s := range p {
		if prefix, ok := strings.CutSuffix(s, "*"); ok && strings.HasPrefix(key, prefix) || s == key {
			return true
		}
	}
	return false
}

// Of is what is done with the attribute of a span or event, or of a resource.
// Attributes that the analysis itself reads are allowed unless they are redacted:
// without them there is none.
func (p *Policy) Of(key string, resource bool) Action {
	switch {
	case p.Redact.Match(key):
		return Drop
	case resource && needed(key), !resource && (trace.Analysed(key) || p.Reads.Match(key)), p.Allow.Match(key):
		return templated[key]
	}
	return Drop
}

// OfPoint is what is done with the attribute of a metric point. What is not
// redacted is kept: it tells series apart.
func (p *Policy) OfPoint(key string) Action {
	if p.Redact.Match(key) {
		return Drop
	}
	return templated[key]
}

// needed reports whether a resource's attribute tells its service, host or
// process.
func needed(key string) bool {
	switch key {
	case "service.name", "service.version", "service.instance.id", "host.name", "host.id", "process.pid",
		"k8s.pod.uid", "k8s.pod.name", "container.id", "container.name":
		return true
	}
	return false
}

// templated are the attributes whose values hold what users typed.
var templated = map[string]Action{
	"db.statement": SQL, "db.query.text": SQL, "db.query.summary": SQL,
	"http.url": Query, "url.full": Query, "http.target": Query, "url.path": Query, "url.original": Query,
	"url.query": Query, "http.query": Query,
}

// Name is a span's name without literals and query strings.
func (p *Policy) Name(b []byte) []byte {
	if bytes.IndexByte(b, '?') >= 0 && bytes.IndexByte(b, '/') >= 0 {
		return templateURL(b)
	}
	if bytes.IndexByte(b, '\'') >= 0 || statement(b) {
		return templateSQL(b)
	}
	return b
}

// statement reports whether a name is a whole statement of SQL: a verb and what
// has a literal, as an equals sign or a list in brackets tells.
func statement(b []byte) bool {
	if len(b) < 12 || bytes.IndexByte(b, '=') < 0 && bytes.IndexByte(b, '(') < 0 {
		return false
	}
	verb, _, _ := bytes.Cut(b[:12], []byte(" "))
	switch strings.ToUpper(string(verb)) {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "MERGE", "REPLACE", "UPSERT", "CALL", "EXEC":
		return true
	}
	return false
}

// templateURL cuts off query, fragment and user information.
func templateURL(b []byte) []byte {
	if i := bytes.IndexAny(b, "?#"); i >= 0 {
		b = b[:i]
	}
	scheme := bytes.Index(b, []byte("://"))
	if scheme < 0 {
		return b
	}
	host := b[scheme+3:]
	if end := bytes.IndexByte(host, '/'); end >= 0 {
		host = host[:end]
	}
	if at := bytes.LastIndexByte(host, '@'); at >= 0 {
		return append(bytes.Clone(b[:scheme+3]), b[scheme+3+at+1:]...)
	}
	return b
}

// templateSQL replaces literals by a question mark: texts in single or, where
// they follow an operator or stand in a list, double quotes, dollar quotes, and
// numbers that are not part of a name. Comments are cut out: they hold anything.
// What is not closed is cut off.
func templateSQL(b []byte) []byte {
	out := make([]byte, 0, len(b))
	word := func(c byte) bool {
		return c == '_' || c == '$' || c >= 0x80 || unicode.IsLetter(rune(c)) || c >= '0' && c <= '9'
	}
	quoted := func(i int, q byte) int { // the end of what is quoted at i
		for j := i + 1; j < len(b); j++ {
			switch b[j] {
			case '\\':
				j++
			case q:
				if j+1 < len(b) && b[j+1] == q {
					j++
					continue
				}
				return j + 1
			}
		}
		return len(b)
	}
	for i := 0; i < len(b); {
		c := b[i]
		switch {
		case c == '\'', c == '"' && isValue(out):
			i = quoted(i, c)
			out = append(out, '?')
		case c == '"' || c == '`': // a name
			end := quoted(i, c)
			if end == len(b) && (end == i+1 || b[end-1] != c) {
				return append(out, '?')
			}
			out = append(out, b[i:end]...)
			i = end
		case c == '-' && i+1 < len(b) && b[i+1] == '-', c == '#':
			for i < len(b) && b[i] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(b) && b[i+1] == '*':
			end := bytes.Index(b[i+2:], []byte("*/"))
			if end < 0 {
				return out
			}
			i += 2 + end + 2
		case c == '$' && (len(out) == 0 || !word(out[len(out)-1])):
			tag := bytes.IndexByte(b[i+1:], '$')
			if tag < 0 || bytes.ContainsAny(b[i+1:i+1+tag], " \n,()'") { // $1: a parameter
				out = append(out, c)
				i++
				for i < len(b) && b[i] >= '0' && b[i] <= '9' {
					out = append(out, b[i])
					i++
				}
				continue
			}
			mark := b[i : i+tag+2]
			end := bytes.Index(b[i+len(mark):], mark)
			out = append(out, '?')
			if end < 0 {
				return out
			}
			i += 2*len(mark) + end
		case c >= '0' && c <= '9' && (len(out) == 0 || !word(out[len(out)-1]) && out[len(out)-1] != ':' && out[len(out)-1] != '@'):
			for i < len(b) && (word(b[i]) || b[i] == '.' || (b[i] == '+' || b[i] == '-') && (b[i-1] == 'e' || b[i-1] == 'E')) {
				i++
			}
			out = append(out, '?')
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// isValue reports whether what follows is a value and not a name: behind an
// operator, a bracket, a comma of values or LIKE.
func isValue(before []byte) bool {
	b := bytes.TrimRight(before, " \t\n")
	if len(b) == 0 {
		return false
	}
	switch b[len(b)-1] {
	case '=', '<', '>', '?':
		return true
	case '(', ',':
		return bytes.Contains(bytes.ToUpper(b), []byte("VALUES")) || bytes.HasSuffix(bytes.ToUpper(bytes.TrimRight(b[:len(b)-1], " ")), []byte(" IN"))
	}
	return bytes.HasSuffix(bytes.ToUpper(b), []byte(" LIKE"))
}
