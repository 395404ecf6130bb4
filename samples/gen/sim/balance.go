package sim

// choose picks an instance of a service for a call; avoid is 1 + the instance not to take again.
func (r *Run) choose(from *Instance, s *Service, k Key, avoid int) *Instance {
	list := r.services[s.id]
	n := len(list)
	if n == 1 {
		return list[0]
	}
	var i int
	switch {
	case s.Placement != nil:
		var cum []float64
		var sum float64
		for _, w := range s.Placement {
			sum += w
			cum = append(cum, sum)
		}
		i = pick(cum, k.Float())
	case s.Balance == RoundRobin && from != nil:
		i = (from.robin[s.id] + from.N) % n
		from.robin[s.id]++
	case s.Balance == LeastLoaded:
		off := int(k.Float() * float64(n)) // ties are broken evenly
		i = off
		for d := range n {
			if c := (off + d) % n; list[c].outstanding < list[i].outstanding {
				i = c
			}
		}
	case s.Balance == TwoChoices:
		i = int(k.Float() * float64(n))
		if j := int(k.Sub(1).Float() * float64(n)); list[j].outstanding < list[i].outstanding {
			i = j
		}
	default:
		i = int(k.Float() * float64(n))
	}
	if i+1 == avoid {
		i = (i + 1) % n
	}
	return list[i]
}
