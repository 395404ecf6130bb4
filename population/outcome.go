package population

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tailscope/tailscope/trace"
)

// An Outcome is how a request, or a call, ended.
type Outcome uint8

const (
	Completed Outcome = iota // with an answer; a refusal of the request's content is one
	Cancelled                // the caller went away
	TimedOut                 // a deadline passed
	Rejected                 // refused before work began, by admission or rate control
	Failed                   // broken
)

// Outcomes is all of them, in the order of their values.
var Outcomes = []Outcome{Completed, Cancelled, TimedOut, Rejected, Failed}

func (o Outcome) String() string {
	switch o {
	case Completed:
		return "completed"
	case Cancelled:
		return "cancelled"
	case TimedOut:
		return "timed_out"
	case Rejected:
		return "rejected"
	}
	return "failed"
}

// OutcomeOf is how the span ended. calls reports whether work was done below it:
// an overload answer (503, gRPC 8) to a request that had made calls is a
// failure, without any it is a refusal.
//
// The first of these that speaks decides:
//
//	gRPC status    1 cancelled, 4 timed out, 8 rejected or failed,
//	               2 and 12 to 15 failed
//	HTTP status    499 cancelled, 408 and 504 timed out, 429 rejected,
//	               503 rejected or failed, other 5xx failed
//	status error   what error.type, the flags cancelled and timeout, or the
//	               status message say of a cancel or a deadline; else failed
//
// A gRPC call over HTTP answers 200 whatever became of it, so gRPC goes first.
func OutcomeOf(s *trace.Store, r trace.SpanRef, calls bool) Outcome {
	overload := Rejected
	if calls {
		overload = Failed
	}
	if code, ok := GRPCStatus(s, r); ok {
		switch code {
		case 1:
			return Cancelled
		case 4:
			return TimedOut
		case 8:
			return overload
		case 2, 12, 13, 14, 15:
			return Failed
		}
	} else if code, ok := HTTPStatus(s, r); ok {
		switch {
		case code == 499:
			return Cancelled
		case code == 408 || code == 504:
			return TimedOut
		case code == 429:
			return Rejected
		case code == 503:
			return overload
		case code >= 500:
			return Failed
		}
	}
	if s.Status(r) != trace.StatusError && s.AttrText(r, "error") != "true" && s.AttrText(r, "otel.status_code") != "ERROR" {
		return Completed
	}
	switch {
	case s.AttrText(r, "cancelled") == "true":
		return Cancelled
	case s.AttrText(r, "timeout") == "true":
		return TimedOut
	}
	if o := Worded(s.AttrText(r, "error.type", "exception.type")); o != Failed {
		return o
	}
	return Worded(s.String(s.StatusMessage(r)))
}

// Worded is what the text of an error says: Cancelled, TimedOut or else Failed.
// A deadline is looked for first: "canceled: deadline exceeded" names the cause
// after the effect.
func Worded(text string) Outcome {
	text = strings.ToLower(text)
	for _, w := range []string{"deadline", "timeout", "timed out", "timedout", "time-out", "etimedout"} {
		if strings.Contains(text, w) {
			return TimedOut
		}
	}
	// "cancelled", "canceled", "cancellation", CancelledException; what browsers
	// and nginx call it
	if strings.Contains(text, "cancel") || strings.Contains(text, "client closed") || text == "499" || text == "aborterror" {
		return Cancelled
	}
	return Failed
}

// HTTPStatus is the HTTP status code of a span, from the attributes of the new
// and of the old convention.
func HTTPStatus(s *trace.Store, r trace.SpanRef) (code int, ok bool) {
	return HTTPCode(s.AttrText(r, HTTPKeys...))
}

// HTTPKeys and GRPCKeys are the attributes that hold the status a request was answered with: the new conventions' first.
var (
	HTTPKeys = []string{"http.response.status_code", "http.status_code"}
	GRPCKeys = []string{"rpc.grpc.status_code", "rpc.response.status_code", "grpc.status_code"}
)

// HTTPCode is the HTTP status code that a text stands for.
func HTTPCode(text string) (code int, ok bool) {
	code, err := strconv.Atoi(text)
	return code, err == nil && code >= 100 && code < 600
}

// GRPCStatus is the gRPC status code of a span, by number or by name.
func GRPCStatus(s *trace.Store, r trace.SpanRef) (code int, ok bool) {
	return GRPCCode(s.AttrText(r, GRPCKeys...))
}

// GRPCCode is the gRPC status code that a text stands for.
func GRPCCode(text string) (code int, ok bool) {
	if text == "" {
		return 0, false
	}
	if code, err := strconv.Atoi(text); err == nil {
		return code, code >= 0 && code < len(grpcCodes)
	}
	text = strings.ToUpper(strings.ReplaceAll(text, "_", ""))
	for code, name := range grpcCodes {
		if name == text {
			return code, true
		}
	}
	return 0, false
}

// grpcCodes is the names of the codes, without underscores: libraries write
// DEADLINE_EXCEEDED and DeadlineExceeded.
var grpcCodes = [...]string{
	"OK", "CANCELLED", "UNKNOWN", "INVALIDARGUMENT", "DEADLINEEXCEEDED", "NOTFOUND", "ALREADYEXISTS", "PERMISSIONDENIED",
	"RESOURCEEXHAUSTED", "FAILEDPRECONDITION", "ABORTED", "OUTOFRANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATALOSS", "UNAUTHENTICATED",
}

// StatusKey reports whether an attribute holds the status that a request was answered with, HTTP's or gRPC's.
func StatusKey(key string) bool {
	return slices.Contains(HTTPKeys, key) || slices.Contains(GRPCKeys, key)
}

// Declined reports whether a status is that of a completed request that did not get what it asked for: a redirection, or
// the refusal of its content.
func Declined(status string) bool {
	if Broken(status) {
		return false
	}
	if code, err := strconv.Atoi(status); err == nil {
		return code >= 300 || code > 0 && code < len(grpcCodes)
	}
	name := strings.ToUpper(strings.ReplaceAll(status, "_", ""))
	return name != grpcCodes[0] && slices.Contains(grpcCodes[:], name)
}

// Broken reports whether a status that a metric recorded, HTTP's or gRPC's by number
// or name, is that of a request that did not end well, as OutcomeOf takes a span's.
func Broken(status string) bool {
	if code, err := strconv.Atoi(status); err == nil {
		if code >= 100 {
			return code == 408 || code == 429 || code >= 499
		}
		return brokenGRPC(code)
	}
	name := strings.ToUpper(strings.ReplaceAll(status, "_", ""))
	for code, n := range grpcCodes {
		if n == name {
			return brokenGRPC(code)
		}
	}
	return false
}

func brokenGRPC(code int) bool {
	switch code {
	case 1, 2, 4, 8, 12, 13, 14, 15:
		return true
	}
	return false
}
