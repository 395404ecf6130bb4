package scenario

import (
	"time"

	"github.com/tailscope/tailscope/samples/gen/export"
	"github.com/tailscope/tailscope/samples/gen/sim"
)

// checkout is a deep serial chain: POST /api/checkout goes through a gateway to orders, which asks for
// the cart, the customer and the tax (without which a table serves), takes the stock, has payment charge
// the card at an external processor, writes the order and publishes it to a queue that shipping reads.
// A business buys line by line. The services are instrumented each in its own way: orders' client spans begin after the connection pool and its
// server spans before the executor's queue, customers reports no server spans, tax no client spans.
func checkout() *sim.System {
	sys := &sim.System{Name: "checkout"}
	service := func(s *sim.Service) *sim.Service {
		s.Instances, s.Unequal, s.Wake, s.ClockSkew, s.Host, s.Cores = 2, 0.03, wake(), 5*ms, "worker", 4
		return sys.Add(s)
	}
	peer := func(name string, slots int, p sim.Peer) *sim.Service {
		return sys.Add(&sim.Service{Name: name, Instances: 1, Peer: &p, Executor: sim.Executor{Name: name, Slots: slots}})
	}
	gateway := service(&sim.Service{Name: "gateway", Version: "1.12.0", Language: "go"})
	orders := service(&sim.Service{Name: "orders", Version: "8.3.0", Language: "java",
		Executor: sim.Executor{Name: "http-nio-8080", Slots: 40, Vendor: "micrometer"}, Spans: sim.Spans{ClientAfterPool: true},
		Pools: []*sim.Pool{{Target: "orders-db", Size: 8}, {Target: "payment", Size: 16, Kind: sim.HTTPPool}, {Target: "customers", Size: 12, Kind: sim.HTTPPool}}})
	ordersDB := peer("orders-db", 24, sim.Peer{System: "postgresql", Namespace: "orders", Port: 5432})
	cart := service(&sim.Service{Name: "cart", Version: "2.0.7", Language: "go"})
	cartCache := peer("cart-cache", 64, sim.Peer{System: "redis", Namespace: "0", Port: 6379})
	cartDB := peer("cart-db", 16, sim.Peer{System: "mysql", Namespace: "carts", Port: 3306})
	customers := service(&sim.Service{Name: "customers", Version: "5.1.1", Language: "nodejs", Spans: sim.Spans{NoServer: true}})
	customersDB := peer("customers-db", 16, sim.Peer{System: "postgresql", Namespace: "crm", Port: 5432})
	tax := service(&sim.Service{Name: "tax", Version: "3.0.0", Language: "dotnet", Spans: sim.Spans{NoClient: true}})
	taxCache := peer("tax-cache", 64, sim.Peer{System: "redis", Namespace: "0", Port: 6379})
	payment := service(&sim.Service{Name: "payment", Version: "6.6.2", Language: "java",
		Executor: sim.Executor{Name: "qtp", Slots: 16, Vendor: "jetty"}, Spans: sim.Spans{ServerAfterQueue: true},
		Pools: []*sim.Pool{{Target: "ledger-db", Size: 10}}})
	ledgerDB := peer("ledger-db", 24, sim.Peer{System: "postgresql", Namespace: "ledger", Port: 5432})
	cards := peer("cardnet.example", 200, sim.Peer{Port: 8080})
	shipping := service(&sim.Service{Name: "shipping", Version: "0.9.4", Language: "python",
		Executor: sim.Executor{Name: "consumer", Slots: 4, Vendor: "micrometer"}, Spans: sim.Spans{ServerAfterQueue: true}})
	shippingDB := peer("shipping-db", 16, sim.Peer{System: "postgresql", Namespace: "shipping", Port: 5432})

	query := func(s *sim.Service, name string, median time.Duration) *sim.Operation {
		return s.Add(&sim.Operation{Name: name, Protocol: sim.DB, Plan: []sim.Step{&sim.Work{Time: lognormal(median, 0.45)}}})
	}
	call := func(to *sim.Operation) *sim.Call { return &sim.Call{To: to, Leg: lan(), Timeout: 2 * time.Second} }
	work := func(median time.Duration) *sim.Work { return &sim.Work{Time: lognormal(median, 0.35), CPU: 0.8} }

	getCart := cart.Add(&sim.Operation{Name: "cart.v1.Carts/Get", Protocol: sim.GRPC, Cancel: sim.Prompt, Plan: []sim.Step{
		work(ms), call(query(cartCache, "GET", 700*time.Microsecond)),
		&sim.When{P: 0.2, Then: call(query(cartDB, "SELECT carts", 7*ms))}, work(2 * ms)}})
	getCustomer := customers.Add(&sim.Operation{Name: "GET /customers/{id}", Plan: []sim.Step{
		work(2 * ms), call(query(customersDB, "SELECT customers", 12*ms)), work(3 * ms)}})
	rate := tax.Add(&sim.Operation{Name: "POST /tax/rate", Plan: []sim.Step{
		work(6 * ms), call(query(taxCache, "HGETALL", 800*time.Microsecond)), work(8 * ms)}})
	charge := cards.Add(&sim.Operation{Name: "POST /v3/charges", Plan: []sim.Step{&sim.Work{Time: lognormal(38*ms, 0.3)}}})
	insertLedger := query(ledgerDB, "INSERT entries", 4*ms)
	pay := payment.Add(&sim.Operation{Name: "POST /payments", Cancel: sim.BetweenSteps, Writes: true, Plan: []sim.Step{
		work(3 * ms),
		&sim.Call{To: charge, Leg: sim.Leg{Base: 4 * ms, Jitter: sim.Exp(ms)}, Timeout: 5 * time.Second},
		&sim.Lock{Name: "ledger", Step: sim.Seq{work(ms), call(insertLedger)}},
		work(2 * ms)}})
	ship := shipping.Add(&sim.Operation{Name: "orders.placed", Protocol: sim.Message, Plan: []sim.Step{
		work(10 * ms), call(query(shippingDB, "INSERT shipments", 6*ms))}})

	// The stock of all lines is taken in one statement.
	update := query(ordersDB, "UPDATE stock", 4*ms)
	place := orders.Add(&sim.Operation{Name: "POST /orders", Cancel: sim.Ignore, Writes: true, Plan: []sim.Step{
		&sim.Work{Time: lognormal(2*ms, 0.35), CPU: 0.8, Span: "OrderValidator.validate"},
		&sim.Parallel{Branches: []sim.Step{call(getCart), call(getCustomer),
			&sim.Call{To: rate, Leg: lan(), Timeout: 300 * ms, Optional: true}}},
		&sim.Repeat{N: 1, ByClass: map[string]int{"business": 10}, Step: call(update)},
		call(pay),
		call(query(ordersDB, "INSERT orders", 5*ms)),
		&sim.Publish{To: ship, Send: lognormal(1500*time.Microsecond, 0.3), Dwell: sim.Exp(12 * ms)},
		work(ms)}})
	post := gateway.Add(&sim.Operation{Name: "POST /api/checkout", Cancel: sim.Prompt, Plan: []sim.Step{
		work(ms), &sim.Call{To: place, Leg: lan(), Timeout: 3 * time.Second}}})
	view := gateway.Add(&sim.Operation{Name: "GET /api/cart", Cancel: sim.Prompt, Plan: []sim.Step{work(ms), call(getCart)}})
	sys.Workload = sim.Workload{Rate: 40, Wave: 0.1, Tenants: 100, Identities: 4000, Entry: lan(), Classes: []sim.Class{
		{Name: "guest", Share: 50, Op: post, Size: 1, Sigma: 0.2}, {Name: "member", Share: 29, Op: post, Size: 1.1, Sigma: 0.2},
		{Name: "business", Share: 1, Op: post, Size: 1.2, Sigma: 0.2},
		{Name: "guest", Share: 20, Op: view, Size: 1, Sigma: 0.2}}}
	return sys
}

func checkoutScenarios() []*Scenario {
	const charges, payments, orders, stock, rates = "POST /v3/charges", "POST /payments", "POST /orders", "UPDATE stock", "POST /tax/rate"
	paying := Component{Service: "orders", Peer: "payment", Operation: payments}
	payment := Component{Service: "payment", Operation: payments}
	cards := Component{Service: "payment", Peer: "cardnet.example", Operation: charges}
	taxing := Component{Service: "orders", Peer: "tax", Operation: rates}
	taking := Component{Service: "orders", Peer: "orders-db", Operation: stock}
	return built(checkout,
		null("checkout/null", "the same system on two days"),
		null("checkout/null-drift", "the same system on two days; the hosts' clocks run fast or slow, by up to 100 parts per million").with(drifting),
		null("checkout/null-links", "the same system on two days; shipping's traces are its own and link to the orders'").with(func(s *sim.System) {
			sim.Walk(s.Service("orders").Op(orders).Plan, func(st sim.Step) {
				if p, ok := st.(*sim.Publish); ok {
					p.Link = true
				}
			})
		}),
		&Scenario{Name: "checkout/null-consumer", Verdict: NoChange, About: "shipping, which reads from the queue, takes three times as long",
			currentOnly: slower("shipping", "orders.placed", 3)},
		&Scenario{Name: "checkout/two-causes", Verdict: Regression, About: "a fraud check before the payment, and a slow instance of tax", Causes: []Cause{
			{Kind: "new-hop", Component: Component{Service: "orders", Peer: "fraud", Operation: "POST /score"},
				Apply: hop("orders", orders, to("payment"), "fraud", "python", "POST /score", sim.HTTP, 50*ms)},
			{Kind: "instance", Component: Component{Service: "tax"}, Apply: slow("tax", 1, 10), instance: 1}}},
		regression("checkout/client-wait", "client-wait", paying, "orders keeps two connections to payment where it had 16; the wait is before its client spans",
			pool("orders", "payment", 2)),
		regression("checkout/server-queue", "server-queue", payment, "payment has two threads where it had 16", slots("payment", 2)),
		regression("checkout/service-time", "service-time", cards, "the card processor, which reports no spans, is slow", slower("cardnet.example", charges, 2)),
		regression("checkout/service-time-db", "service-time", taking, "taking the stock is slow in the database", slower("orders-db", stock, 7)),
		regression("checkout/contention", "contention", payment, "payment charges the card while it holds the lock of its ledger",
			func(s *sim.System) {
				op := s.Service("payment").Op(payments)
				charge, lock := op.Plan[1], op.Plan[2].(*sim.Lock)
				lock.Step = sim.Seq{charge, lock.Step}
				op.Plan = []sim.Step{op.Plan[0], lock, op.Plan[3]}
			}),
		regression("checkout/instance", "instance", Component{Service: "tax"}, "one of tax' two instances is slow", slow("tax", 1, 7)).on(1),
		regression("checkout/network", "network", paying, "payment moved to another zone", farther("orders", "payment", payments, 22*ms, 4*ms)),
		regression("checkout/load", "load", payment, "nearly twice the orders; payment's threads do not suffice", rate(1.8)).with(slots("payment", 3)),
		regression("checkout/mix-shift", "mix-shift", Component{Attribute: "app.tier", Value: "business"}, "many more orders are of businesses, which buy line by line", share(2, 30)),
		regression("checkout/call-count", "call-count", taking, "the stock is taken line by line", replaced("orders", orders, to("orders-db"), repeated(14))),
		regression("checkout/serialization", "serialization", Component{Service: "orders", Operation: orders}, "cart, customer and tax follow one another",
			replaced("orders", orders, isParallel, serial)),
		regression("checkout/new-hop", "new-hop", Component{Service: "orders", Peer: "fraud", Operation: "POST /score"}, "a fraud check before the payment",
			hop("orders", orders, to("payment"), "fraud", "python", "POST /score", sim.HTTP, 50*ms)),
		regression("checkout/retries", "retries", cards, "charges fail more often, and are tried again", fails("cardnet.example", charges, 0.05)).
			with(each("payment", "cardnet.example", charges, func(c *sim.Call) { c.Retry = &sim.Retry{Max: 3, Backoff: 80 * ms} })),
		regression("checkout/timeout-plateau", "timeout-plateau", taxing, "tax hangs now and then, until the caller's 300 ms are over",
			stalls("tax", rates, 0.03, 1500*ms, 2500*ms)),
		regression("checkout/pause", "pause", Component{Service: "orders"}, "an instance of orders stops for 300 ms every three seconds",
			pauses("orders", 0, 3*time.Second, 300*ms)).on(0),
		regression("checkout/improvement", "server-queue", payment, "payment gets its threads back", slots("payment", 2)).undone(),
		regression("checkout/chain-callee", "service-time", cards, "the card processor is slow, so that orders' connections to payment and orders' threads no longer suffice",
			slower("cardnet.example", charges, 2.2)).with(all(pool("orders", "payment", 4), slots("orders", 12))),
		regression("checkout/chain-pool", "client-wait", paying, "orders keeps two connections to payment, and so its own threads no longer suffice", pool("orders", "payment", 2)).
			with(slots("orders", 6)),
		regression("checkout/decoy-consumer", "network", paying, "payment moved to another zone; shipping, which nobody waits for, takes eight times as long", farther("orders", "payment", payments, 22*ms, 4*ms)).
			beside(slower("shipping", "orders.placed", 8)),
		regression("checkout/server-queue-woken", "server-queue", payment, "payment has two threads; threads wake up 1 to 5 ms late", slots("payment", 2)).with(woken(ms, 5*ms)),
		regression("checkout/overload", "server-queue", payment, "payment has one thread where it had 16; calls time out before it takes them", slots("payment", 1)).
			with(each("orders", "payment", payments, func(c *sim.Call) { c.Timeout = 400 * ms })),
		regression("checkout/server-only", "service-time", payment, "payment itself takes longer; nobody reports client spans", slower("payment", payments, 6)).with(serverOnly),
		artefact("checkout/measurement-instrumentation", "instrumentation", "payment reports no spans any more", nil, func(o *export.Options) { o.Silent = []string{"payment"} }),
		artefact("checkout/measurement-renamed", "instrumentation", "an upgrade of the cart renames its operation", nil, func(o *export.Options) {
			o.Rename = map[string]string{"cart cart.v1.Carts/Get": "cart.v2.CartService/GetCart"}
		}),
		artefact("checkout/measurement-population", "population", "payment refuses what it cannot do at once; the refused orders fail fast", func(s *sim.System) {
			s.Service("payment").Executor.Queue = 1
		}, nil).with(slots("payment", 2)),
		artefact("checkout/measurement-clock", "clock", "the hosts' clocks are off by up to 60 ms", func(s *sim.System) {
			for _, v := range s.Services {
				v.ClockSkew = 60 * ms
			}
		}, nil),
	)
}
