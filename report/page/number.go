package page

import (
	"math"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/internal/prose"
	"github.com/tailscope/tailscope/report"
)

// A scale is the unit and the number of decimals that the times of one column share.
type scale struct {
	unit     string
	ms       float64 // one unit in milliseconds
	decimals int
}

// scaleOf is the scale in which the largest of the values has about four digits. If small is positive, decimals are
// added, up to three, until small shows two digits.
func scaleOf(small float64, values ...report.Num) scale {
	largest := 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(v.Or(0)))
	}
	s := scale{"ms", 1, 0}
	switch {
	case largest >= 60_000:
		s = scale{"s", 1000, 0}
	case largest < 1 && largest > 0:
		s = scale{"µs", 0.001, 0}
	}
	switch x := largest / s.ms; {
	case x < 10:
		s.decimals = 2
	case x < 1000:
		s.decimals = 1
	}
	for small > 0 && s.decimals < 3 && small/s.ms*math.Pow10(s.decimals) < 10 {
		s.decimals++
	}
	return s
}

// round is v in units, as it will be shown.
func (s scale) round(v float64) float64 {
	p := math.Pow10(s.decimals)
	return math.Round(v/s.ms*p) / p
}

func (s scale) num(v report.Num) string {
	x, ok := v.Get()
	if !ok {
		return "?"
	}
	return s.of(x)
}

func (s scale) of(ms float64) string { return prose.Decimal(s.round(ms), s.decimals) }

// signed shows a change: a sign, and ~ where its interval is closed and holds zero.
func (s scale) signed(v report.Num, ci report.Interval) string {
	x, ok := v.Get()
	switch {
	case !ok:
		return "?"
	case ci.Closed() && !ci.Excludes(0):
		return "~"
	}
	return s.plus(x)
}

func (s scale) plus(ms float64) string {
	t := s.of(ms)
	if s.round(ms) > 0 {
		t = "+" + t
	}
	return t
}

// openInterval stands for an interval of which the data close neither end.
const openInterval = "open"

// interval shows [lo, hi]; of changes with signs.
func (s scale) interval(v report.Interval, signed bool) string {
	if v.IsZero() {
		return ""
	}
	// Thousands are not separated here: the comma stands between the ends.
	show := func(x float64) string {
		if signed {
			return strings.ReplaceAll(s.plus(x), ",", "")
		}
		return strings.ReplaceAll(s.of(x), ",", "")
	}
	if !v.Lo.Known() && !v.Hi.Known() {
		return openInterval
	}
	lo, hi := "−∞", "∞"
	if x, ok := v.Lo.Get(); ok {
		lo = show(x)
	} else if !signed {
		lo = "0"
	}
	if x, ok := v.Hi.Get(); ok {
		hi = show(x)
	}
	return "[" + lo + ", " + hi + "]"
}

// dur is one time with its unit, three digits.
func dur(v report.Num) string {
	x, ok := v.Get()
	if !ok {
		return "?"
	}
	return prose.Ms(x)
}

// durs are two times in one unit: "268 → 487 ms", or one of them where the other is not given.
func durs(base, cur report.Num) string {
	if base.IsZero() {
		return dur(cur)
	}
	s := proseScale(base, cur)
	return s.num(base) + " → " + s.num(cur) + " " + s.unit
}

// change is a change with its interval and unit: "+219 ms [+171, +262]".
func change(v report.Num, ci report.Interval) string { return estimate(v, ci, true) }

// estimate is a number with its interval in one unit: "487 ms [448, 525]". Without an interval it says so.
func estimate(v report.Num, ci report.Interval, signed bool) string {
	x, ok := v.Get()
	if !ok {
		return "?"
	}
	s := proseScale(v, ci.Lo, ci.Hi)
	t := s.of(x)
	if signed {
		t = s.plus(x)
	}
	t += " " + s.unit
	if ci.IsZero() {
		return t + " (no interval)"
	}
	show := s.of
	if signed {
		show = s.plus
	}
	lo, above := ci.Lo.Get()
	hi, below := ci.Hi.Get()
	switch {
	case above && below:
		return t + " " + s.interval(ci, signed)
	case above:
		return t + " (no less than " + show(lo) + ", open above)"
	case below && signed:
		return t + " (no more than " + show(hi) + ", open below)"
	case below:
		return t + " " + s.interval(ci, signed) // a time is not below zero
	}
	return t + " (its interval is open at both ends)"
}

// proseScale drops the decimals that a column would keep for alignment.
func proseScale(values ...report.Num) scale {
	s := scaleOf(0, values...)
	largest := 0.0
	for _, v := range values {
		largest = max(largest, math.Abs(v.Or(0))/s.ms)
	}
	if largest >= 100 {
		s.decimals = 0
	}
	return s
}

// trimmed is digits without closing zeros after the point.
func trimmed(v float64) string {
	t := prose.Digits(v)
	if strings.Contains(t, ".") && !strings.Contains(t, "e") {
		t = strings.TrimRight(strings.TrimRight(t, "0"), ".")
	}
	return t
}

func count[N report.Float | int64 | int](n N) string { return prose.Decimal(math.Round(float64(n)), 0) }

// counts are two counts, or one where there is no baseline.
func counts[N report.Float | int64](base *N, cur N) string {
	if base == nil {
		return count(cur)
	}
	return count(*base) + " → " + count(cur)
}

// share is a part of one in per cent.
func share(v report.Num) string {
	x, ok := v.Get()
	if !ok {
		return "?"
	}
	return prose.Percent(x)
}

// shares are two parts in per cent.
func shares(base, cur report.Num) string {
	if base.IsZero() {
		return share(cur)
	}
	return strings.TrimSuffix(share(base), " %") + " → " + share(cur)
}

// quantileName is "p99" for 0.99, "max" for 1.
func quantileName(q report.Float) string {
	if q == 1 {
		return "max"
	}
	return "p" + strconv.FormatFloat(math.Round(float64(q)*1e6)/1e4, 'f', -1, 64)
}

// pValue shows a probability.
func pValue(v report.Num) string {
	x, ok := v.Get()
	if !ok {
		return "p = ?"
	}
	return prose.PValue(x)
}

// quantity shows a number of evidence in its unit.
func quantity(v report.Num, unit string) string {
	x, ok := v.Get()
	if !ok {
		return "?"
	}
	switch unit {
	case "ms":
		return prose.Ms(x)
	case "share":
		return prose.Percent(x)
	case "":
		return trimmed(x)
	}
	return trimmed(x) + " " + unit
}

// quantities shows two numbers of evidence: "18.2 → 228 ms".
func quantities(base, cur report.Num, unit string) string {
	switch {
	case !base.Known() && !cur.Known():
		return ""
	case base.IsZero():
		return quantity(cur, unit)
	case unit == "ms":
		return durs(base, cur)
	case unit == "share":
		return shares(base, cur)
	}
	u := ""
	if unit != "" {
		u = " " + unit
	}
	return quantity(base, "") + " → " + quantity(cur, "") + u
}
