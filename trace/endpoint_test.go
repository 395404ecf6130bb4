package trace

import (
	"fmt"
	"testing"
)

func TestTemplate(t *testing.T) {
	for _, c := range []struct{ name, want, why string }{
		{"GET /users/123", "GET /users/{id}", "a number in a path"},
		{"GET /users/123/orders/9", "GET /users/{id}/orders/{id}", "two of them"},
		{"/routes/3fa85f64-5717-4562-b3fc-2c963f66afa6", "/routes/{id}", "a UUID"},
		{"/api/v1/items", "/api/v1/items", "a version is part of the name"},
		{"/stations/Shang%20Hai", "/stations/{id}", "an encoded value"},
		{"SELECT orders", "SELECT orders", "words stay"},
		{"step 3", "step 3", "a short number outside a path may be a name"},
		{"order 1234567", "order {id}", "a long one is not"},
		{"GET /feed", "GET /feed", "hexadecimal letters alone are a word"},
		{"GET /deadbeef01", "GET /{id}", "with digits they are a number"},
		{"/search?q=a", "/search", "the query is cut off"},
		{"what?", "what?", "but not outside a path"},
		{"SHA256", "SHA256", "a name with digits"},
		{"/v2/home", "/v2/home", "a version"},
		{"/files/a1b2c3d4e5f6a7b8c9", "/files/{id}", "a hash"},
		{"", "", "nothing"},
		{"/", "/", "the root path"},
		{"oauth2/token", "oauth2/token", "a protocol's name"},
		{"GET /api/products/1YMWWN1N4O", "GET /api/products/{id}", "a product's code"},
		{"GET /api/products/OLJCESPC7Z", "GET /api/products/{id}", "with one digit"},
		{"/watch/dQw4w9WgXcQ", "/watch/{id}", "a key in base 62"},
		{"/vision.googleapis.com/v1p1beta1/images", "/vision.googleapis.com/v1p1beta1/images", "a version"},
		{"/certs/X509", "/certs/X509", "a standard's name"},
		{"/files/INVENTORY", "/files/INVENTORY", "capitals without a digit are a word"},
		{"/math/log2exp10", "/math/log2exp10", "two numbers in a word"},
		{"PUT /customers/C0012345", "PUT /customers/{id}", "a customer number"},
	} {
		if got := Template(c.name); got != c.want {
			t.Errorf("Template(%q) = %q, want %q: %s", c.name, got, c.want, c.why)
		}
	}
}

// Ten thousand names that differ by what they name are one operation.
func TestManyNamesAreOne(t *testing.T) {
	s := NewStore(NewTables())
	n := NewNamer(s)
	names := map[string]bool{}
	for i := range 10_000 {
		for _, name := range [2]string{
			fmt.Sprintf("GET /users/%d/orders/%08x-0000-4000-8000-%012x", i, i*7919, i),
			fmt.Sprintf("PUT /files/%040x/%d?version=%d", i*104729, i%7, i),
		} {
			r := s.Add(&RawSpan{ID: SpanID(i + 1), Name: []byte(name)})
			names[s.String(n.Operation(r))] = true
		}
	}
	if len(names) != 2 || !names["GET /users/{id}/orders/{id}"] || !names["PUT /files/{id}/{id}"] {
		t.Errorf("%d operations", len(names))
	}
}

func TestNamerPrefersRouteThenRPCThenName(t *testing.T) {
	s := NewStore(NewTables())
	text := func(k, v string) RawAttr { return RawAttr{[]byte(k), RawValue{Type: String, Bytes: []byte(v)}} }
	n := NewNamer(s)
	for _, c := range []struct {
		attrs []RawAttr
		want  string
	}{
		{[]RawAttr{text("http.request.method", "GET"), text("http.route", "/a/{b}")}, "GET /a/{b}"},
		{[]RawAttr{text("rpc.service", "kv.S"), text("rpc.method", "Get")}, "kv.S/Get"},
		{[]RawAttr{text("http.request.method", "GET")}, "GET /x/{id}"},
		{[]RawAttr{text("rpc.method", "kv.S/Get")}, "kv.S/Get"},
	} {
		r := s.Add(&RawSpan{ID: 1, Name: []byte("GET /x/42"), Attrs: c.attrs})
		if got := s.String(n.Operation(r)); got != c.want {
			t.Errorf("operation with %d attributes = %q, want %q", len(c.attrs), got, c.want)
		}
	}
}

// A callee without spans is named as the conventions of its time name it; what says nothing has no name.
func TestPeerIsNamedByWhatTheSpanSays(t *testing.T) {
	s := NewStore(NewTables())
	n := NewNamer(s)
	for i, c := range []struct {
		attrs    [][2]string
		peer     string
		database bool
	}{
		{[][2]string{{"peer.service", "orders"}, {"server.address", "10.0.0.7"}}, "orders", false},
		{[][2]string{{"db.system.name", "mysql"}, {"db.namespace", "shop"}}, "shop", true},
		{[][2]string{{"db.type", "sql"}, {"db.instance", "shop"}}, "shop", true},
		{[][2]string{{"db.type", "redis"}}, "redis", true},
		{[][2]string{{"db.type", "redis"}, {"peer.hostname", "cache-1"}}, "cache-1", true},
		{[][2]string{{"message_bus.destination", "mails"}}, "mails", false},
		{[][2]string{{"sampler.type", "const"}}, "", false},
	} {
		span := RawSpan{ID: SpanID(i + 1), Kind: KindClient, Name: []byte("x")}
		for _, a := range c.attrs {
			span.Attrs = append(span.Attrs, RawAttr{[]byte(a[0]), RawValue{Type: String, Bytes: []byte(a[1])}})
		}
		r := s.Add(&span)
		if got := s.String(n.Peer(r)); got != c.peer || n.Database(r) != c.database {
			t.Errorf("%v: peer %q, database %v", c.attrs, got, n.Database(r))
		}
	}
}
