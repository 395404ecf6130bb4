// Package sim is a discrete-event simulator of systems of services. A [System] is services, the
// operations they offer, and the plan of steps by which an operation does its work; [Simulate] sends it
// an open-loop stream of requests and returns a [Run]: spans and metric points as perfect
// instrumentation would see them, and beside them the truth that instrumentation cannot see, such as
// how long each call waited for what, and which work went on after its caller had left.
//
// All randomness comes from named keys (see [Key]), so two runs that differ in one setting differ only
// by what that setting changes.
package sim

// A System is everything that serves requests, and the load on it.
type System struct {
	Name     string
	Services []*Service
	Workload Workload
}

// Service returns the service with the given name; it panics if there is none.
func (s *System) Service(name string) *Service {
	for _, v := range s.Services {
		if v.Name == name {
			return v
		}
	}
	panic("sim: no service " + name + " in " + s.Name)
}

// Add appends a service, numbers it and returns it.
func (s *System) Add(v *Service) *Service {
	s.Services = append(s.Services, v)
	return v
}

// Workload is the requests that arrive: a Poisson process whose rate changes from second to second.
type Workload struct {
	Rate float64 // requests per second, mean
	// Wave is the standard deviation of the logarithm of the rate's one-second factors, which have
	// mean one.
	Wave float64
	// Shape multiplies the rate at a time since the start, as a share of the run; nil means 1.
	Shape   func(share float64) float64
	Classes []Class
	// SlowRequests is the probability that a request is of the rare slow kind, whose size is
	// multiplied by SlowFactor.
	SlowRequests, SlowFactor float64
	// Deadline, if positive, is an absolute deadline that requests carry from their arrival on.
	Deadline Time
	// Patience, if not nil, is how long the client waits before it cancels the request.
	Patience Dist
	// Workers, if positive, makes the load closed: so many clients that each wait for the answer,
	// think for Think, and ask again.
	Workers int
	Think   Dist
	// Tenants and Identities are how many there are; the k-th is asked for in proportion to 1/k.
	Tenants, Identities int
	Entry               Leg // network between clients and the entry
}

// A Class is a kind of request.
type Class struct {
	Name      string
	Share     float64
	Op        *Operation // the entry
	Size      float64    // median of the size factor, which scales the work of steps that say so
	Sigma     float64    // of the logarithm of the size factor
	Synthetic bool       // a probe
	Tenant    int        // if positive, all its requests are this tenant's
}

// A Service is one deployed program: equal instances of it.
type Service struct {
	Name      string
	Version   string
	Language  string // of the SDK: java, go, dotnet, nodejs, python
	Instances int
	Cores     float64 // CPU cores of an instance; 0: no limit
	// Loop: an instance is one thread that does everything in turns, an event loop; its work's CPU is one turn. Turn is
	// the CPU that it takes to notice an arrival or an answer.
	Loop bool
	Turn Time
	// Quota bounds the CPU of an instance in each period, after which it stands still until the next.
	Quota    *Quota
	Executor Executor
	Pools    []*Pool // client pools of each instance
	Spans    Spans
	// Peer describes a service without instrumentation, as its callers' spans name it.
	Peer *Peer
	Wake Dist // delay between the hand-over of a slot and its use; nil: none
	// Unequal is the standard deviation of the logarithm of the instances' speeds.
	Unequal float64
	// Slow multiplies the time that work takes on an instance, by its number.
	Slow map[int]float64
	// Pauses stop an instance altogether; Instance -1 means each.
	Pauses []Pause
	// Placement is how the callers' choices weigh each instance; nil: equal.
	Placement []float64
	Balance   Balance
	Host      string   // prefix of the hosts' names; services that share one share hosts
	PerHost   int      // instances on one host; 0 means 1
	ClockSkew Time     // largest clock offset of a host, to either side
	Drift     float64  // largest rate at which a host's clock is fast or slow, in parts per million
	Warm      *Warming // a cold start

	Ops []*Operation

	id int
}

// Op returns the operation with the given name; it panics if there is none.
func (s *Service) Op(name string) *Operation {
	for _, o := range s.Ops {
		if o.Name == name {
			return o
		}
	}
	panic("sim: no operation " + name + " in " + s.Name)
}

// Pool returns the pool to the target, or nil.
func (s *Service) Pool(target string) *Pool {
	for _, p := range s.Pools {
		if p.Target == target {
			return p
		}
	}
	return nil
}

// Add appends an operation and returns it.
func (s *Service) Add(o *Operation) *Operation {
	o.Service = s
	s.Ops = append(s.Ops, o)
	return o
}

// Executor is the bounded set of threads that serve requests. Slots 0: no limit.
type Executor struct {
	Name   string
	Slots  int
	Queue  int    // places in its queue; 0 means no bound
	Vendor string // whose metric names it reports by: micrometer, jetty, or none
}

// A Pool is the connections from one instance to one target service.
type Pool struct {
	Target string
	Size   int
	Kind   PoolKind
}

// PoolKind is whose metric names a pool reports by.
type PoolKind uint8

const (
	DBPool PoolKind = iota
	HTTPPool
)

// Spans says which halves of its calls a service reports, and where they begin.
type Spans struct {
	NoServer, NoClient bool
	// ServerAfterQueue: server spans begin when the executor takes the request, not on arrival.
	ServerAfterQueue bool
	// ClientAfterPool: client spans begin when a connection was got, not when it was asked for.
	ClientAfterPool bool
	// PoolSpan, if set, names an internal span around each wait for a connection; PoolEvents are the
	// events GetConn and GotConn on client spans that include it.
	PoolEvents bool
	PoolSpan   string
	// Sidecar: a proxy before each instance reports a server span of its own around the instance's.
	Sidecar bool
	// StartStamp: entry server spans carry the time at which the proxy took the request.
	StartStamp bool
}

// A Peer is a database, cache, broker or external API.
type Peer struct {
	System    string // postgresql, redis, kafka ...
	Namespace string
	Port      int
}

// A Pause stops an instance for Length about every Every: to collect garbage or, Frozen, for a reason that its runtime does not
// know.
type Pause struct {
	Instance int
	Every    Dist
	Length   Dist
	Frozen   bool
}

// A Quota is CPU time for each period, of all cores together.
type Quota struct{ CPU, Period Time }

// Warming multiplies work until a share of the run is over.
type Warming struct{ Until, Factor float64 }

// Balance is how a caller chooses an instance.
type Balance uint8

const (
	Random Balance = iota
	RoundRobin
	LeastLoaded
	TwoChoices
)

// A Leg is one direction of the network between two services.
type Leg struct {
	Base   Time
	Jitter Dist // nil: none
}

func (l Leg) sample(k Key) Time {
	if l.Jitter == nil {
		return l.Base
	}
	return l.Base + l.Jitter.Sample(k)
}

// Protocol is how an operation is called; it decides the spans' names and attributes.
type Protocol uint8

const (
	HTTP Protocol = iota
	GRPC
	DB
	Message
)

// An Operation is one thing that a service does.
type Operation struct {
	Service  *Service
	Name     string // HTTP: "GET /v2/home"; gRPC: "package.Service/Method"; DB: "SELECT orders"; Message: destination
	Protocol Protocol
	Plan     []Step
	Cancel   CancelRule
	// RefuseLate: work whose propagated deadline has passed is refused before it starts.
	RefuseLate bool
	// FailP is the probability that the operation fails after its work.
	FailP float64
	// Writes says that its work has effects that a caller may want to happen even if it left.
	Writes bool

	id int
}

// CancelRule is what becomes of work whose caller left.
type CancelRule uint8

const (
	// Ignore: the work goes on to its end.
	Ignore CancelRule = iota
	// BetweenSteps: it stops at the next step of the plan.
	BetweenSteps
	// Prompt: it stops at once, and cancels its own calls.
	Prompt
)

// A Step is a part of a plan.
type Step interface {
	start(h *handler, sc *scope, k Key, done func(Outcome))
}

// Work is the operation's own time. CPU of it competes for the instance's cores, the rest passes
// whatever the instance does.
type Work struct {
	Time Dist
	CPU  float64 // share, 0 to 1
	// Size is the power of the request's size factor that scales the time.
	Size float64
	// Span, if set, names an internal span around the work.
	Span string

	id uint64
}

// Seq is steps one after the other; the first failure ends it.
type Seq []Step

// Parallel starts its branches at once and ends with the last; a failure of a branch is its own. With
// Need, it ends when so many branches have succeeded, and cancels the others.
type Parallel struct {
	Branches []Step
	Need     int
}

// Repeat does a step N times for the request's class (ByClass), or N in all classes.
type Repeat struct {
	N        int
	ByClass  map[string]int
	Parallel bool
	Step     Step
}

// When does Then with probability P, if the class is one of Classes (empty: any); else Else.
type When struct {
	P       float64 // 0 means 1
	Classes []string
	Then    Step
	Else    Step

	id uint64
}

// Lock does Step while holding one of Slots of the instance's lock Name.
type Lock struct {
	Name  string
	Slots int // 0 means 1
	Step  Step

	id uint64
}

// Async starts Step and does not wait for it.
type Async struct {
	Step Step
}

// Publish sends a message: a producer span of Send, and later, after Dwell, the consumer's work.
type Publish struct {
	To    *Operation // of protocol Message
	Send  Dist
	Dwell Dist
	// Link: the consumer begins a trace of its own that links to the producer.
	Link bool

	id uint64
}

// A Call is a call of another service's operation. Zero values of its policies mean no policy.
type Call struct {
	To  *Operation
	Leg Leg
	// Optional: a failure of the call is not one of the caller. This is meaning, not time: an
	// optional call is waited for like any other.
	Optional bool
	// Timeout of one attempt, from its begin. Deadline: the caller's propagated deadline less
	// Reserve limits it too, and is passed on.
	Timeout  Time
	Deadline bool
	Reserve  Time
	// Abandon: the caller goes on without an answer after this time, as if the call had failed, but does
	// not end it: the client span lasts until the answer comes.
	Abandon Time
	// MinRemaining: the call is left out when less is left until the deadline.
	MinRemaining Time
	Retry        *Retry
	Hedge        *Hedge
	// Coalesce: concurrent calls of one instance with the same identity share one.
	Coalesce bool
	// Shard, if positive, is 1 + the callee's instance.
	Shard int
	// BytesSize is the power of the size factor that scales the network legs.
	BytesSize float64

	id   uint64
	edge int // of its caller; a Call belongs to one plan
}

// Retry repeats failed attempts, after a backoff with full jitter that doubles.
type Retry struct {
	Max     int // attempts beyond the first
	Backoff Time
	// Budget, if positive, bounds the retries of an instance to that share of its calls.
	Budget float64
}

// Hedge starts a second attempt after Delay. Cap bounds the share of calls that may.
type Hedge struct {
	Delay Time
	Cap   float64
	Keep  bool // the loser is not cancelled
}

// Outcome is how a call or request ended.
type Outcome uint8

const (
	OK Outcome = iota
	Failed
	Rejected
	TimedOut
	Cancelled
	Omitted // never begun
)

func (o Outcome) String() string {
	return [...]string{"ok", "failed", "rejected", "timed_out", "cancelled", "omitted"}[o]
}

// number gives the steps of a plan their ids: what they are and the how many-th of that, so that a
// step's random numbers do not change when another step is added before it or moved around it.
func number(plan []Step) {
	seen := map[string]uint64{}
	id := func(name string) uint64 {
		seen[name]++
		return hashName(name) + seen[name]
	}
	Walk(plan, func(s Step) {
		switch s := s.(type) {
		case *Work:
			s.id = id("work " + s.Span)
		case *Call:
			s.id = id("call " + s.To.Service.Name + " " + s.To.Name)
		case *Publish:
			s.id = id("publish " + s.To.Name)
		case *When:
			s.id = id("when")
		case *Lock:
			s.id = id("lock " + s.Name)
		}
	})
}

// Walk visits every step of a plan, outer ones first.
func Walk(plan []Step, visit func(Step)) {
	for _, s := range plan {
		if s == nil {
			continue
		}
		visit(s)
		switch s := s.(type) {
		case Seq:
			Walk(s, visit)
		case *Parallel:
			Walk(s.Branches, visit)
		case *Repeat:
			Walk([]Step{s.Step}, visit)
		case *When:
			Walk([]Step{s.Then, s.Else}, visit)
		case *Lock:
			Walk([]Step{s.Step}, visit)
		case *Async:
			Walk([]Step{s.Step}, visit)
		}
	}
}
