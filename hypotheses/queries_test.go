package hypotheses

import (
	"strings"
	"testing"
)

func TestQueries(t *testing.T) {
	for _, c := range []struct {
		f    Finding
		want []string
	}{
		{Finding{Kind: "client-wait", Service: "ingress", Peer: "pricing", Operation: "POST /v1/quotes", Check: Check{Query: `max by (service_instance_id) (db_client_connection_pending_requests{service_name="ingress"})`}}, []string{
			`PromQL: max by`,
			`TraceQL: { resource.service.name = "ingress" && kind = client && name = "POST /v1/quotes" } | quantile_over_time(duration, .99)`,
			`TraceQL: { resource.service.name = "pricing" && kind = server`,
			`c.ServiceName = 'ingress' AND c.SpanKind = 'Client' AND s.SpanKind = 'Server' AND s.ServiceName = 'pricing'`,
		}},
		{Finding{Kind: "server-queue", Service: "stock", Operation: "List"}, []string{`{ resource.service.name = "stock" && kind = server && name = "List" }`, `WHERE c.SpanKind = 'Client' AND s.SpanKind = 'Server' AND s.ServiceName = 'stock'`}},
		{Finding{Kind: "service-time", Service: "users", Operation: "GET /users/{id}", Check: Check{Query: "take a profile of users"}}, []string{
			`name =~ "GET /users/[^/]+"`, `match(SpanName, '^GET /users/[^/]+$')`,
		}},
		{Finding{Kind: "service-time", Service: "orders", Peer: "orders-db", Operation: "SELECT orders"}, []string{`ServiceName = 'orders' AND SpanKind = 'Client' AND SpanName = 'SELECT orders'`}},
		{Finding{Kind: "instance", Service: "stock", Operation: "List", Instance: "stock-3"}, []string{`{ resource.service.name = "stock" && kind = server } | quantile_over_time(duration, .5, .99) by (resource.service.instance.id)`}},
		{Finding{Kind: "mix-shift", Attribute: "customer.tier", Value: "enterprise"}, []string{`{ resource.service.name = "web" && kind = server && name = "GET /" } | rate() by (span.customer.tier)`, `SpanAttributes['customer.tier']`}},
		{Finding{Kind: "call-count", Service: "web", Peer: "stock", Operation: "Get"}, []string{`calls_per_request`, `SpanName = 'Get'`}},
		{Finding{Kind: "retries", Service: "web", Peer: "stock", Operation: "Get"}, []string{`| rate() by (status)`, `SpanAttributes['error.type']`}},
		{Finding{Kind: "measurement", Attribute: "sampling"}, []string{`count() AS n`}},
	} {
		var all string
		for _, q := range Queries(&c.f, "web", "GET /") {
			all += q.Language + ": " + q.Text + "\n"
		}
		for _, want := range c.want {
			if !strings.Contains(all, want) {
				t.Errorf("%s: %q is not in\n%s", c.f.Kind, want, all)
			}
		}
		if strings.Contains(all, "take a profile") {
			t.Errorf("an experiment in words is called a query:\n%s", all)
		}
	}
}

// Every kind has a query, and what a span is called ends no quotes.
func TestQueriesOfHostileNames(t *testing.T) {
	const evil = "x' OR 1=1 --\n\" } || { true } \\"
	for _, c := range Catalogue {
		list := Queries(&Finding{Kind: c.Kind, Service: evil, Peer: evil, Operation: evil, Attribute: evil}, evil, evil)
		if len(list) == 0 {
			t.Errorf("%s has no query", c.Kind)
		}
		for _, q := range list {
			quote := byte('\'')
			if q.Language == "TraceQL" {
				quote = '"'
			}
			in := false
			for i := 0; i < len(q.Text); i++ {
				switch {
				case in && q.Text[i] == '\\':
					i++
				case q.Text[i] == quote:
					in = !in
				case !in && (strings.HasPrefix(q.Text[i:], "OR 1=1") || strings.HasPrefix(q.Text[i:], "true")):
					t.Fatalf("%s: a name is out of its quotes in\n%s", c.Kind, q.Text)
				case in && q.Text[i] < ' ':
					t.Fatalf("%s: a control character in\n%q", c.Kind, q.Text)
				}
			}
			if in {
				t.Errorf("%s: quotes stay open in\n%s", c.Kind, q.Text)
			}
		}
	}
}
