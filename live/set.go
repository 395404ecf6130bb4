package live

import "github.com/tailscope/tailscope/trace"

// A key is a hash of a trace's id. It is never zero.
type key uint64

// A set holds keys in 8 to 16 bytes each.
type set struct {
	slots []key
	n     int
}

func (s *set) add(k key) {
	if 4*(s.n+1) > 3*len(s.slots) {
		old := s.slots
		s.slots = make([]key, max(64, 2*len(old)))
		for _, o := range old {
			if o != 0 {
				s.slots[s.place(o)] = o
			}
		}
	}
	if at := s.place(k); s.slots[at] == 0 {
		s.slots[at] = k
		s.n++
	}
}

func (s *set) has(k key) bool { return s.n > 0 && s.slots[s.place(k)] == k }

// place is where k is, or belongs.
func (s *set) place(k key) int {
	mask := len(s.slots) - 1
	at := int(k) & mask
	for s.slots[at] != 0 && s.slots[at] != k {
		at = (at + 1) & mask
	}
	return at
}

func (s *set) bytes() int64 { return int64(len(s.slots)) * 8 }

// A memory knows what became of the traces of the last generations.
type memory struct {
	gens   []gone
	keep   int   // generations
	budget int64 // bytes
}

// gone is the traces that ended in one generation.
type gone struct{ done, shed set }

func (m *memory) last() *gone { return &m.gens[len(m.gens)-1] }

// next begins a generation and forgets the oldest ones.
func (m *memory) next() {
	m.gens = append(m.gens, gone{})
	for len(m.gens) > 1 && (len(m.gens) > m.keep || m.bytes() > m.budget) {
		m.gens = append(m.gens[:0], m.gens[1:]...)
	}
}

func (m *memory) done(k key) bool {
	for i := range m.gens {
		if m.gens[i].done.has(k) {
			return true
		}
	}
	return false
}

func (m *memory) shed(k key) bool {
	for i := range m.gens {
		if m.gens[i].shed.has(k) {
			return true
		}
	}
	return false
}

func (m *memory) bytes() (n int64) {
	for i := range m.gens {
		n += m.gens[i].done.bytes() + m.gens[i].shed.bytes()
	}
	return n
}

// keyOf is the key of a trace.
func (e *Engine) keyOf(id trace.TraceID) key {
	return max(key(hashID(e.seed, id)), 1)
}
