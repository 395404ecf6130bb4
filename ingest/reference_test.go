package ingest

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"go.opentelemetry.io/collector/pdata/pmetric"
)

// The slow and obvious ways to read what the decoders read fast.

var pmetricNone = pmetric.NewMetrics()

func jsonValid(b []byte) bool { return json.Valid(b) }

func jsonString(b []byte) string {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		panic(err)
	}
	return s
}

var maxUint = new(big.Int).SetUint64(1<<64 - 1)

// bigInt is the integer that a JSON number stands for, nil if it is none; it
// reports whether s is a JSON number of a reasonable size.
func bigInt(s string) (*big.Int, bool) {
	if !json.Valid([]byte(s)) || strings.TrimSpace(s) != s || s[0] != '-' && (s[0] < '0' || s[0] > '9') {
		return nil, false
	}
	if _, exp, ok := strings.Cut(strings.ToLower(s), "e"); ok {
		if e, err := strconv.Atoi(exp); err != nil || e > 999 || e < -999 {
			return nil, false
		}
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil, false
	}
	if !r.IsInt() {
		return nil, true
	}
	return r.Num(), true
}
