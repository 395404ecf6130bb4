package stats

import "math"

// adjust gives every member and the test its p under the joint null: the smaller of Bonferroni's and of the
// probability that the smallest Fisher p of dealt requests is as small. The second is only worked out where it
// could matter to a decision.
func (p *Pair) adjust(t *Test, tables []counted) {
	n0, n1 := tables[0].n0, tables[0].n1
	above := make([]int, len(tables))
	for i, c := range tables {
		above[i] = c.a + c.b
		if !p.Base.equal || !p.Cur.equal {
			above[i] = int(math.Round((1 - t.Members[i].Quantile) * float64(n0+n1)))
		}
		if i > 0 {
			above[i] = min(above[i], above[i-1])
		}
	}
	null := newJointNull(n0, n1, above)
	m := float64(len(tables))
	known := map[float64]float64{}
	t.P = 1
	for i := range t.Members {
		raw := t.Members[i].Raw
		adjusted, ok := known[raw]
		if !ok {
			adjusted = min(m*raw, 1)
			if raw <= 0.2 && m*raw >= 0.002 {
				adjusted = min(adjusted, null.atMost(raw))
			}
			known[raw] = adjusted
		}
		t.Members[i].P = adjusted
		t.P = min(t.P, adjusted)
	}
}

// choose finds the basis and what speaks against it.
func (p *Pair) choose(t *Test) {
	ms := t.Members
	better := func(i, j int) bool {
		if j < 0 {
			return true
		}
		if a, b := p.Counts(ms[i]), p.Counts(ms[j]); a != b {
			return a
		}
		if ms[i].P != ms[j].P {
			return ms[i].P < ms[j].P
		}
		return p.opt.distance(ms[i].Share) < p.opt.distance(ms[j].Share)
	}
	up, down, nearest := false, false, -1
	for i, m := range ms {
		if better(i, t.Basis) {
			t.Basis = i
		}
		if m.P > p.opt.Alpha || !p.moved(m.From, m.Moved) {
			continue
		}
		up, down = up || m.Direction > 0, down || m.Direction < 0
		if nearest < 0 || p.opt.distance(m.Share) < p.opt.distance(ms[nearest].Share) {
			nearest = i
		}
	}
	if up && down {
		t.Basis = nearest
	}
	if t.Basis < 0 {
		return
	}
	for i, m := range ms {
		opposed := m.P <= p.opt.Alpha && m.Direction == -ms[t.Basis].Direction && m.Direction != 0
		if opposed && (t.Opposed < 0 || m.P < ms[t.Opposed].P) {
			t.Opposed = i
		}
	}
}

// Counts reports whether a member rejects and moved by the smallest effect.
func (p *Pair) Counts(m Member) bool { return m.P <= p.opt.Alpha && p.moved(m.From, m.Moved) }

// moved reports whether a move from a baseline value reaches the smallest effect.
func (p *Pair) moved(from, by float64) bool {
	by = math.Abs(by)
	return by > 0 && by >= p.opt.MinNS && by >= p.opt.MinShare*from
}
