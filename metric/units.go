package metric

import "strings"

// nanoseconds is the units of time that metrics use: UCUM codes and the spellings
// of older libraries.
var nanoseconds = map[string]float64{
	"ns": 1, "nanosecond": 1, "nanoseconds": 1, "nanos": 1,
	"us": 1e3, "µs": 1e3, "μs": 1e3, "microsecond": 1e3, "microseconds": 1e3, "micros": 1e3,
	"ms": 1e6, "millisecond": 1e6, "milliseconds": 1e6, "millis": 1e6,
	"s": 1e9, "sec": 1e9, "second": 1e9, "seconds": 1e9,
	"min": 60e9, "minute": 60e9, "minutes": 60e9,
	"h": 3600e9, "hour": 3600e9, "hours": 3600e9,
	"d": 86400e9, "day": 86400e9, "days": 86400e9,
}

// Nanoseconds is how many nanoseconds one of a unit is; ok is false if it is not
// a unit of time. An annotation such as the one in "s{request}" is passed over.
func Nanoseconds(unit string) (ns float64, ok bool) {
	if i := strings.IndexByte(unit, '{'); i >= 0 {
		unit = unit[:i]
	}
	ns, ok = nanoseconds[strings.TrimSpace(unit)]
	return ns, ok
}

// Counted is the thing that a unit such as "{connection}" counts; "" if the unit
// is not of that form.
func Counted(unit string) string {
	if thing, ok := strings.CutPrefix(unit, "{"); ok {
		if thing, ok = strings.CutSuffix(thing, "}"); ok {
			return thing
		}
	}
	return ""
}

// millis is the factor that turns values of the series into milliseconds. The
// unit decides; a name that ends in a unit speaks where there is none, as
// Prometheus exporters write it.
func (k *Key) millis() (factor float64, ok bool) {
	if ns, ok := Nanoseconds(k.Unit); ok {
		return ns / 1e6, true
	}
	if k.Unit != "" && k.Unit != "1" {
		return 0, false
	}
	name := strings.TrimSuffix(strings.ReplaceAll(k.Name, ".", "_"), "_total")
	if i := strings.LastIndexByte(name, '_'); i >= 0 {
		if ns, ok := nanoseconds[name[i+1:]]; ok {
			return ns / 1e6, true
		}
	}
	return 0, false
}
