package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// A Num is a number that may be unknown. The zero Num is unset: absent from the JSON where its field may be
// absent (see the package comment), else null. It is never NaN or infinite.
type Num struct {
	v     float64
	state numState
}

type numState uint8

const (
	unset numState = iota
	null
	known
)

// Null is a number that cannot be given.
var Null = Num{state: null}

// Some returns v as a Num, or [Null] if v is NaN or infinite.
func Some(v float64) Num {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Null
	}
	return Num{v: v, state: known}
}

// Int returns n as a Num.
func Int(n int64) Num { return Some(float64(n)) }

// Ms returns a time in nanoseconds as a Num of milliseconds.
func Ms(ns int64) Num { return Some(float64(ns) / 1e6) }

// Get returns the number, and whether it is known.
func (n Num) Get() (v float64, ok bool) { return n.v, n.state == known }

// Known reports whether the number is known.
func (n Num) Known() bool { return n.state == known }

// Or returns the number, or v if it is not known.
func (n Num) Or(v float64) float64 {
	if n.state == known {
		return n.v
	}
	return v
}

// IsZero reports whether n is unset; encoding/json leaves such a field out where its tag says omitzero.
func (n Num) IsZero() bool { return n.state == unset }

// Equal reports whether both are the same number, or both unset, or both null.
func (n Num) Equal(m Num) bool { return n == m }

// String is for messages and tests: the number, or "null".
func (n Num) String() string {
	if n.state != known {
		return "null"
	}
	return string(appendFloat(nil, n.v))
}

// MarshalJSON gives the number or null.
func (n Num) MarshalJSON() ([]byte, error) {
	if n.state != known {
		return []byte("null"), nil
	}
	return appendFloat(nil, n.v), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Num) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Null
		return nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return fmt.Errorf("report: number %s: %w", b, err)
	}
	*n = Some(v)
	return nil
}

// A Float is a number that is always known; it marshals like a [Num]. Counts of requests are Floats because
// sampled requests count with their weight; they are whole where nothing was sampled.
type Float float64

// MarshalJSON gives the number; NaN and infinities, which are mistakes here, become null.
func (f Float) MarshalJSON() ([]byte, error) { return Some(float64(f)).MarshalJSON() }

// UnmarshalJSON reads what MarshalJSON wrote.
func (f *Float) UnmarshalJSON(b []byte) error {
	var n Num
	if err := n.UnmarshalJSON(b); err != nil {
		return err
	}
	*f = Float(n.v)
	return nil
}

// appendFloat writes whole numbers in full and others with 12 significant digits: enough for nanoseconds in a
// million seconds of milliseconds, few enough that 0.1 + 0.2 is 0.3. Negative zero is zero.
func appendFloat(b []byte, v float64) []byte {
	if v == 0 {
		return append(b, '0')
	}
	if v != math.Trunc(v) {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 11, 64), 64) // in range: whole beyond 2⁵³
	}
	format := byte('f')
	if a := math.Abs(v); a < 1e-6 || a >= 1e21 {
		format = 'e'
	}
	return strconv.AppendFloat(b, v, format, -1, 64)
}

// An Interval is [Lo, Hi] at the report's confidence (95 % unless Run.Alpha says otherwise). An end that the data
// cannot close is [Null]: null in JSON, ∞ in text. The zero Interval says that none was computed: null in JSON, or
// absent where its field may be absent.
type Interval struct{ Lo, Hi Num }

// Between returns the interval from lo to hi; NaN and infinities are open ends.
func Between(lo, hi float64) Interval { return Interval{Some(lo), Some(hi)} }

// Open is an interval with both ends open.
var Open = Interval{Null, Null}

// IsZero reports whether no interval was computed.
func (v Interval) IsZero() bool { return v.Lo.IsZero() && v.Hi.IsZero() }

// Closed reports whether both ends are known.
func (v Interval) Closed() bool { return v.Lo.Known() && v.Hi.Known() }

// Excludes reports whether x is certainly outside: below a known low end or above a known high end.
func (v Interval) Excludes(x float64) bool {
	lo, okLo := v.Lo.Get()
	hi, okHi := v.Hi.Get()
	return okLo && x < lo || okHi && x > hi
}

// MarshalJSON gives [lo, hi] with null for open ends, or null for no interval.
func (v Interval) MarshalJSON() ([]byte, error) {
	if v.IsZero() {
		return []byte("null"), nil
	}
	lo, _ := v.Lo.MarshalJSON()
	hi, _ := v.Hi.MarshalJSON()
	b := append([]byte{'['}, lo...)
	b = append(append(b, ','), hi...)
	return append(b, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (v *Interval) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*v = Interval{}
		return nil
	}
	var ends []Num
	if err := json.Unmarshal(b, &ends); err != nil {
		return err
	}
	if len(ends) != 2 {
		return fmt.Errorf("report: interval with %d ends", len(ends))
	}
	*v = Interval{ends[0], ends[1]}
	return nil
}

// A List is a slice that marshals to [] when nil, never to null.
type List[T any] []T

// MarshalJSON gives an array.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return marshal([]T(l))
}

// A Pair is one number of each data set.
type Pair struct {
	Baseline Num `json:"baseline,omitzero"` // absent for a single data set
	Current  Num `json:"current"`           // the current set
}

// Sides is one value of each data set.
type Sides[T any] struct {
	Baseline *T `json:"baseline,omitempty"` // nil, and absent, for a single data set
	Current  T  `json:"current"`            // the current set
}
