package stats

import "math"

// A Member is one test of the exceedance family: whether more of the requests of one side are above a threshold.
type Member struct {
	// Share is the tail share u of the pooled requests that the threshold stands for; the quantile is 1 − u.
	Share float64

	// Threshold is the smallest pooled latency with F >= 1 − u. Above means strictly above.
	Threshold float64

	Base, Cur           Count   // requests above and in all, unweighted
	BaseShare, CurShare float64 // weighted shares above

	// Direction is +1 where the current share above is larger, −1 where it is smaller, 0 where they are equal.
	Direction int

	// Quantile is the pooled F at the threshold; 1 − Share but for ties. From and Moved are the baseline's value
	// there and how far the current one's lies from it. Between unequal shares this quantile is on different
	// sides of the threshold in the two samples, also with ties, so Moved has the sign of Direction.
	Quantile, From, Moved float64

	// Raw is the p-value of this threshold alone: the largest of Fisher's and of the block tests'.
	Raw float64

	// P is Raw adjusted for the whole family.
	P float64
}

// A Count is some of many.
type Count struct{ Above, Of int }

// A Test is the answer to "did the latency change?".
type Test struct {
	// P is the p-value of the endpoint, adjusted for its family of thresholds, not for other endpoints.
	P float64

	// Method is Runs where the runs decide, by the t-test of the target quantile; then there are no members.
	Method Method

	// Members are ordered from the widest tail inward.
	Members []Member

	// Basis is the member that speaks for the test: the smallest P among those that moved by the smallest
	// effect or, failing these, among all. Where members reject in both directions it is the one nearest to the
	// target quantile. −1 without members.
	Basis int

	// Opposed is a member that rejects in the other direction than the basis, −1 if none does.
	Opposed int

	Warnings []Warning
}

// counted is a member's 2×2 table as Fisher's test reads it, and the variance that independent requests give to
// the difference of shares.
type counted struct {
	a, n0, b, n1 int
	variance     float64
}

// chance is the part of the variance that one side's requests have, n effective ones.
func (c *counted) chance(n int) float64 {
	return c.variance * float64(c.n0) * float64(c.n1) / float64(c.n0+c.n1) / float64(n)
}

// counted makes the table. Unequal weights enter as the effective numbers of requests whose plain share would be as
// uncertain, at the pooled share p and with each side's own mean weights above and below the threshold. A side
// with a few requests above, all light by chance, would by itself count for far more than it is; so the mean weights
// of both sides together, each side's weights first divided by their mean, set an upper limit.
func (p *Pair) counted(m *Member) counted {
	share := 1 - m.Quantile
	if p.Base.equal && p.Cur.equal {
		all := float64(m.Base.Above+m.Cur.Above) / float64(m.Base.Of+m.Cur.Of)
		return counted{m.Base.Above, m.Base.Of, m.Cur.Above, m.Cur.Of,
			all * (1 - all) * (1/float64(m.Base.Of) + 1/float64(m.Cur.Of))}
	}
	h0, h1 := p.Base.heaviness(p.Base.above(m.Threshold)), p.Cur.heaviness(p.Cur.above(m.Threshold))
	mean0, mean1 := p.Base.Weight()/float64(m.Base.Of), p.Cur.Weight()/float64(m.Cur.Of)
	both := h0.scaled(1 / mean0).plus(h1.scaled(1 / mean1)).perRequest(share)
	e0 := min(p.Base.Weight()*h0.perRequest(share), float64(m.Base.Of)*both)
	e1 := min(p.Cur.Weight()*h1.perRequest(share), float64(m.Cur.Of)*both)
	round := func(x float64) int { return int(math.Round(x)) }
	return counted{round(m.BaseShare * e0), round(e0), round(m.CurShare * e1), round(e1), share * (1 - share) * (1/e0 + 1/e1)}
}

// Test asks whether the two samples differ, by exact tests of the counts above nested thresholds and, where times
// are known, t-tests on blocks of every dyadic width; where three runs a side are given, by the t-test of the
// runs' target quantiles alone.
func (p *Pair) Test() Test {
	none := Test{P: 1, Method: Independent, Basis: -1, Opposed: -1}
	if p.timed {
		none.Method = Blocks
	}
	if len(p.Base.x) == 0 || len(p.Cur.x) == 0 {
		return none
	}
	if p.byRuns() {
		none.Method, none.P = Runs, p.runs(p.opt.Quantile).p
		return none
	}
	t := none
	t.Warnings = p.warnings(t.Method, float64(min(minBlocks, p.Base.span(), p.Cur.span())))
	ms := p.members()
	tables := make([]counted, len(ms))
	reachable := false
	for i := range ms {
		tables[i] = p.counted(&ms[i])
		c := tables[i]
		ms[i].Raw = FisherTwoSided(c.a, c.n0, c.b, c.n1)
		reachable = reachable || leastFisher(c) <= p.opt.Alpha
	}
	if !reachable {
		return t
	}
	if p.timed {
		p.timeTests(ms, tables)
	}
	t.Members = ms
	p.adjust(&t, tables)
	p.choose(&t)
	return t
}

// leastFisher is the smallest p that any split of the requests above the threshold could have.
func leastFisher(c counted) float64 {
	k, n := c.a+c.b, c.n0+c.n1
	if k == 0 || k == n || c.n0 == 0 || c.n1 == 0 {
		return 1
	}
	h := newHypergeometric(n, k, c.n1)
	return min(h.twoSided(h.lo), h.twoSided(h.lo+len(h.p)-1))
}

// testSafety is the share of its standard error, √(1/2B), by which the tests take the correlation between blocks to be
// higher than it was seen. Without it every fourth run of 50 unchanged endpoints has a regression in windows of 4 τ;
// with it every sixth. A rise of the tail alone is found some 5 points less often.
const testSafety = 0.35

// timeTests raises the raw p of each member to the largest of the block tests, over all widths that leave
// minBlocks blocks on both sides.
//
// Where nothing changed, what the share of a block varies by beyond chance is the same on both sides. A short window knows
// little of it, and nothing if it happens to lie between two jobs that the longer one holds; so the sides' variances are
// also pooled, by their numbers of blocks, and the correlation between blocks likewise. Windows of one length are
// compared as they would be without. A window that is less than half as long as the other is also compared over blocks
// of which it has fewer than minBlocks, up to its own length: how much those vary the longer one tells.
func (p *Pair) timeTests(ms []Member, tables []counted) {
	thresholds := make([]float64, len(ms))
	for i, m := range ms {
		thresholds[i] = m.Threshold // ascending, since the widest tail comes first
	}
	base, cur := newTimeline(p.Base, thresholds), newTimeline(p.Cur, thresholds)
	cell := max(base.cell, cur.cell)
	ws, alone := bothWidths(base.runs, cur.runs, cell)
	for _, width := range ws {
		b0, b1 := base.blocks(width), cur.blocks(width)
		n0, n1 := float64(b0.n), float64(b1.n)
		few := width > alone // the shorter side has too few blocks to know what they vary by
		inverse := (1/n0 + 1/n1) / 2
		if few {
			inverse = 1 / (n0 + n1 - 1)
		}
		for i := range ms {
			v0, rho0 := b0.variance(i)
			v1, rho1 := b1.variance(i)
			f := inflation((n0*rho0+n1*rho1)/(n0+n1)+testSafety*math.Sqrt(inverse/2), inverse)
			c := tables[i]
			chance0, chance1 := c.chance(c.n0), c.chance(c.n1)
			beyond := max(0, ((n0-1)*n0*(v0-chance0)+(n1-1)*n1*(v1-chance1))/(n0+n1-2))
			v := max(f*(v0+v1), c.variance+f*beyond*(1/n0+1/n1))
			if few {
				v = c.variance + beyond*(inflationOf(f, b0.n)/n0+inflationOf(f, b1.n)/n1)
			}
			d := max(2, (n0+n1-2)/f)
			raw := 1.0
			if v > 0 {
				raw = studentTail((ms[i].CurShare-ms[i].BaseShare)/math.Sqrt(v), d)
			}
			ms[i].Raw = max(ms[i].Raw, raw)
		}
	}
}
