package main

import (
	"bytes"
	"math"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/tailscope/tailscope/report"
)

var (
	reportSchema     = compiled(report.ReportSchema)
	traceSchema      = compiled(report.TraceSchema)
	inspectionSchema = compiled(report.InspectionSchema)
)

func compiled(schema []byte) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		panic(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		panic(err)
	}
	return c.MustCompile("schema.json")
}

func valid(t *testing.T, s *jsonschema.Schema, out []byte) {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(doc); err != nil {
		t.Errorf("%#v", err)
	}
}

// checkReport holds a report against its schema, its structural rules, and the
// laws of its sums: the parts of a quantile are the quantile, and the changes of
// the parts are its change.
func checkReport(t *testing.T, out []byte) *report.Report {
	t.Helper()
	valid(t, reportSchema, out)
	r, err := report.Decode(bytes.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	for i := range r.Endpoints {
		e := &r.Endpoints[i]
		type sums struct{ base, cur, delta float64 }
		of := map[report.Float]*sums{}
		for _, a := range e.Allocation {
			s := of[a.Quantile]
			if s == nil {
				s = &sums{}
				of[a.Quantile] = s
			}
			s.base += a.BaselineMs.Or(0)
			s.cur += a.CurrentMs.Or(0)
			s.delta += a.DeltaMs.Or(0)
		}
		for q, s := range of {
			v := e.Of(q)
			if v == nil {
				t.Errorf("%s %s: an allocation of the quantile %v, which is not given", e.Service, e.Operation, q)
				continue
			}
			for _, x := range []struct {
				what      string
				want, got float64
				known     bool
			}{
				{"baseline", v.BaselineMs.Or(0), s.base, v.BaselineMs.Known()},
				{"current", v.CurrentMs.Or(0), s.cur, v.CurrentMs.Known()},
				{"delta", v.DeltaMs.Or(0), s.delta, v.DeltaMs.Known()},
			} {
				// JSON numbers have 12 digits.
				if eps := 1e-9 * math.Max(1, math.Abs(x.want)); x.known && math.Abs(x.want-x.got) > eps {
					t.Errorf("%s %s, quantile %v: the parts of %s sum to %v and not to %v", e.Service, e.Operation, q, x.what, x.got, x.want)
				}
			}
		}
	}
	return r
}
