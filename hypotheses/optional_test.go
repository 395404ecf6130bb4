package hypotheses

import (
	"fmt"
	"testing"
)

// A branch that became slow and that is waited for: an optional one where
// requests were completed without it or somebody says so, the callee's service
// time where neither holds, whatever was seen of one that is declared mandatory.
func TestOptionalBranch(t *testing.T) {
	with := func(slow, failing int) string {
		return repeat(40, func(i, at int) string {
			if i < failing {
				return fmt.Sprintf("web GET_/page %d..%dms server\n  web GET_/hints %d..%dms client error http.response.status_code=503 peer.service=hints\n", at, at+40, at+10, at+20)
			}
			return fmt.Sprintf("web GET_/page %d..%dms server\n  web GET_/hints %d..%dms client peer.service=hints\n", at, at+slow+20, at+10, at+10+slow)
		})
	}
	says := func(optional bool) func(string, string) (bool, bool) {
		return func(service, operation string) (bool, bool) {
			return optional && service == "hints", service == "hints"
		}
	}
	for _, row := range []struct {
		what    string
		failing int
		meant   func(string, string) (bool, bool)
		want    string
	}{
		{"completed without it", 3, nil, "optional-branch"},
		{"declared optional", 0, says(true), "optional-branch"},
		{"neither", 0, nil, "service-time"},
		{"declared mandatory", 3, says(false), "service-time"},
	} {
		c, _ := compared(t, with(30, row.failing), with(300, row.failing))
		c.Meant = row.meant
		if f := first(t, Rank(c)); f.Kind != row.want || f.Peer != "hints" {
			t.Errorf("%s: first is %s of %s", row.what, f.Kind, f.Peer)
		}
	}
}
