package scenario

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/tailscope/tailscope/samples/gen/otlp"
)

// Write writes dir/baseline, dir/current and dir/truth.json; full adds the rows of single requests and
// seconds to the truth.
func (r *Result) Write(dir string, format otlp.Format, full bool) error {
	for _, side := range []string{"baseline", "current"} {
		sub := filepath.Join(dir, side)
		if err := os.MkdirAll(sub, 0o777); err != nil {
			return err
		}
		set := r.Baseline
		if side == "current" {
			set = r.Current
		}
		if err := set.WriteFiles(sub, format); err != nil {
			return err
		}
	}
	t := r.Truth.Summary()
	if full {
		r.Rows()
		t = r.Truth
	}
	b, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "truth.json"), append(b, '\n'), 0o666)
}
