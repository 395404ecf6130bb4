package prose

import (
	"math"
	"testing"
)

func TestSprintf(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{43.56, "43.6"},
		{-2.39, "−2.39"},
		{1234.4, "1,234"},
		{-1234567, "−1,234,567"},
		{9.996, "10"},
		{0.5, "0.5"},
		{0.01234, "0.0123"},
		{999.6, "1,000"},
		{2, "2"},
		{0, "0"},
		{-0.00000001, "-1e-08"},
		{math.Inf(1), "+Inf"},
	} {
		if got := Sprintf("%.3g", c.v); got != c.want {
			t.Errorf("%v: %q, want %q", c.v, got, c.want)
		}
	}
	if got, want := Sprintf("%.0f, %.1f and %6.1f of %f", 2100.0, -1234.56, 1234.0, 1000.0), "2,100, −1,234.6 and 1234.0 of 1000.000000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := Sprintf("%d of %s of %d, %.1f %%, %.2g and %05d", 1887, "a", int64(3), 12.34, 1500.0, 42), "1,887 of a of 3, 12.3 %, 1,500 and 00042"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestMs(t *testing.T) {
	for ms, want := range map[float64]string{
		0: "0 ms", 0.0123: "12.3 µs", 43.56: "43.6 ms", -2.394: "−2.39 ms", 1234: "1,234 ms", 12_340: "12.3 s", 660_000: "11.0 min",
	} {
		if got := Ms(ms); got != want {
			t.Errorf("%v: %q, want %q", ms, got, want)
		}
	}
	if got := Ns(int64(1_500_000)); got != "1.50 ms" {
		t.Errorf("%q", got)
	}
}

func TestPercent(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0 %", 0.00001: "<0.01 %", 0.00123: "0.12 %", 0.235: "23.5 %", 0.2: "20 %", 1: "100 %", -0.5: "−50 %",
	} {
		if got := Percent(x); got != want {
			t.Errorf("%v: %q, want %q", x, got, want)
		}
	}
}

func TestPValue(t *testing.T) {
	for p, want := range map[float64]string{0: "p < 0.0001", 0.00012: "p = 0.00012", 0.0049: "p = 0.0049", 0.25: "p = 0.25"} {
		if got := PValue(p); got != want {
			t.Errorf("%v: %q, want %q", p, got, want)
		}
	}
}
