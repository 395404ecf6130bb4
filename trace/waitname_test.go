package trace

import "testing"

func TestWaitNames(t *testing.T) {
	for _, x := range []struct {
		name string
		wait bool
	}{
		{"pg-pool.connect", true},
		{"HikariDataSource.getConnection", true},
		{"db.pool.checkout", true},
		{"tcp.connect", false},
		{"pg.connect", false},
		{"POST /checkout", false},
		{"checkout", false},
		{"LeasePool", false},
	} {
		if got := WaitName(x.name); got != x.wait {
			t.Errorf("%s: a wait: %t", x.name, got)
		}
	}
}
