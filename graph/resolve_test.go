package graph

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tailscope/tailscope/trace/tracetest"
)

// A call whose server half was lost is told by its caller's name of it and of
// the party called.
func TestResolve(t *testing.T) {
	for _, c := range []struct{ why, drawn, want string }{
		{"the same name and party: the sibling's slot", `
web GET /page 0..100ms server
  web GET 10..50ms client server.address=cart
    cart GET /cart 20..40ms server

web GET /page 0..100ms server
  web GET 10..50ms client server.address=cart
`, "GET /page, GET /cart\nGET /page, GET /cart\n"},
		{"another party: a call of its own", `
web GET /page 0..100ms server
  web GET 10..50ms client server.address=cart
    cart GET /cart 20..40ms server

web GET /page 0..100ms server
  web GET 10..50ms client server.address=bank.example
`, "GET /page, GET /cart\nGET /page, GET\n"},
		{"two operations of the party may be meant: the one that is missing", `
web GET /page 0..100ms server
  web GET 10..50ms client server.address=cart
    cart GET /items 20..40ms server
  web GET 50..90ms client server.address=cart
    cart GET /total 60..80ms server

web GET /page 0..100ms server
  web GET 10..50ms client server.address=cart
    cart GET /items 20..40ms server
  web GET 50..90ms client server.address=cart

web GET /page 0..100ms server
  web GET 10..50ms client server.address=cart
  web GET 50..90ms client server.address=cart
    cart GET /total 60..80ms server
`, strings.Repeat("GET /page, GET /items, GET /total\n", 3)},
		{"what hangs below the lost call's caller comes along", `
web GET /page 0..100ms server
  web GET 10..50ms client server.address=cart
    web connect 10..12ms internal
    cart GET /cart 20..40ms server

web GET /page 0..100ms server
  web GET 10..50ms client server.address=cart
    web connect 10..12ms internal
`, "GET /page, GET /cart, connect\nGET /page, GET /cart, connect\n"},
	} {
		s, err := tracetest.Parse(c.drawn)
		if err != nil {
			t.Fatal(err)
		}
		d := draw(s)
		calls := make([]int64, d.dict.Slots())
		for _, r := range d.records {
			for i := range r.Calls {
				calls[r.Calls[i].Slot]++
			}
		}
		res := d.dict.Resolve(calls, nil)
		var got strings.Builder
		slots := map[SlotID]string{}
		for _, r := range d.records {
			res.Record(r)
			var names []string
			for i := range r.Calls {
				slot := r.Calls[i].Slot
				name := d.dict.String(d.dict.SlotAt(slot).Shown().Operation)
				if old := slots[slot]; old != "" && old != name {
					t.Errorf("slot %d is %s and %s", slot, old, name)
				}
				slots[slot] = name
				names = append(names, name)
			}
			got.WriteString(strings.Join(names, ", ") + "\n")
		}
		if diff := cmp.Diff(c.want, got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
	}
}
