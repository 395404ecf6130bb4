package hypotheses

// A Doc explains a kind of cause. It is data, so that the command, the report
// and the tests read the same.
type Doc struct {
	Kind     string // its fixed name
	Title    string
	Claim    string // one sentence, true or false
	Supports string // what data show when it holds
	Refutes  string // what would rule it out
	Mimics   string // what looks alike, and how it is told apart
	Emit     string // what to record so that it can be told
}

// A Cause is a kind of cause: its doc, and how it is found.
type Cause struct {
	Doc
	find func(*Asking) []Finding
}

// Catalogue is all kinds that can be found, in order of precedence: of two that
// explain the same milliseconds the earlier leads, because the later is its
// consequence more often than the other way round.
var Catalogue = []Cause{
	mixShift,
	newHop, callCount, fanOut, serialization,
	hedging, retries, timeoutPlateau,
	pause, instance, lateWork,
	load, network, clientWait, serverQueue, optionalBranch, contention, serviceTime,
}

// Explain is the doc of a kind.
func Explain(kind string) (Doc, bool) {
	for _, c := range Catalogue {
		if c.Kind == kind {
			return c.Doc, true
		}
	}
	return Doc{}, false
}

// precedence is the place of a kind in the catalogue.
func precedence(kind string) int {
	for i, c := range Catalogue {
		if c.Kind == kind {
			return i
		}
	}
	return len(Catalogue)
}
