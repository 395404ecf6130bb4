// Package export turns a simulated run into what the SDKs of its services and a Collector would have
// written of it: spans and metric points in OTLP with the semantic conventions' names, in each host's
// own clock, batched by the SDKs and merged by the Collector, sampled and partly lost if asked for.
// Nothing of the run's truth that an SDK could not know goes into it.
package export

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/tailscope/tailscope/samples/gen/otlp"
	"github.com/tailscope/tailscope/samples/gen/sim"
)

// Options say what becomes of the telemetry on its way.
type Options struct {
	Start time.Time // true time at which the run began
	// Head is the probability of consistent head sampling, written into tracestate; 0 and 1: all.
	Head float64
	Tail *Tail
	// LoseSpans and LoseBatches are the probabilities that a span, or an SDK's batch, is lost.
	LoseSpans, LoseBatches float64
	// Silent services report no spans (their metrics stay).
	Silent []string
	// Rename gives spans of an operation another name and route, as an upgrade of the instrumentation does.
	Rename map[string]string
	// NoMetrics drops all metrics.
	NoMetrics bool
}

// Tail is tail sampling: traces that are slow or failed are kept, and a share of the others. The spans
// do not say so.
type Tail struct {
	Slower time.Duration
	Rate   float64
}

// A Set is the telemetry of one run.
type Set struct {
	Run     *sim.Run
	Options Options
}

const (
	sdkDelay       = 5 * time.Second        // between exports of an SDK's batch span processor
	sdkBatch       = 512                    // spans in one export
	collectorDelay = 200 * time.Millisecond // exports that arrive within it are written together
)

// batch is one export of an SDK.
type batch struct {
	at    sim.Time
	in    int // instance, in the order of the run's
	n     int
	spans []int32 // in the order in which they ended
}

func (s *Set) batches() []batch {
	index := map[*sim.Instance]int{}
	for i, in := range s.Run.Instances {
		index[in] = i
	}
	silent := map[string]bool{}
	for _, name := range s.Options.Silent {
		silent[name] = true
	}
	open := make([]batch, len(s.Run.Instances))
	var out []batch
	close := func(i int, at sim.Time) {
		b := open[i]
		open[i] = batch{n: b.n + 1}
		b.at, b.in = at, i
		if !s.lost(s.Options.LoseBatches, uint64(i)<<32|uint64(b.n), 1) {
			out = append(out, b)
		}
	}
	for i := range s.Run.Spans {
		sp := &s.Run.Spans[i]
		if silent[sp.In.Service.Name] || !s.sampled(sp) || s.lost(s.Options.LoseSpans, sp.ID, 2) {
			continue
		}
		k := index[sp.In]
		b := &open[k]
		if len(b.spans) > 0 && sp.End >= b.at {
			close(k, b.at)
			b = &open[k]
		}
		if len(b.spans) == 0 {
			phase := sim.Time(k*7919%5000) * time.Millisecond // instances did not start together
			b.at = (sp.End+phase)/sdkDelay*sdkDelay + sdkDelay - phase
		}
		b.spans = append(b.spans, int32(i))
		if len(b.spans) == sdkBatch {
			close(k, sp.End)
		}
	}
	for k := range open {
		if len(open[k].spans) > 0 {
			close(k, open[k].at)
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].at < out[j].at })
	return out
}

func (s *Set) lost(p float64, id uint64, what uint64) bool {
	return p > 0 && sim.Key(s.Run.Options.Seed).Name("loss").Sub(what).Sub(id).Float() < p
}

// threshold is the sampling threshold of a probability, in the four hexadecimal digits that samplers
// write; a trace is kept if the last 56 bits of its id are not below it.
func threshold(p float64) (t uint64, state string) {
	t = uint64((1-p)*(1<<16)+0.5) << 40
	return t, "ot=th:" + strings.TrimRight(fmt.Sprintf("%04x", t>>40), "0")
}

func (s *Set) headSampled(trace [16]byte) bool {
	p := s.Options.Head
	if p <= 0 || p >= 1 {
		return true
	}
	t, _ := threshold(p)
	return binary.BigEndian.Uint64(trace[8:])&(1<<56-1) >= t
}

func (s *Set) sampled(sp *sim.Span) bool {
	q := &s.Run.Requests[sp.Request]
	if !s.headSampled(sp.Trace) {
		return false
	}
	if t := s.Options.Tail; t != nil && q.Latency() < t.Slower && q.Outcome == sim.OK {
		return sim.Key(binary.BigEndian.Uint64(q.Trace[:8])).Name("tail").Float() < t.Rate
	}
	return true
}

// Traces calls yield for each message that the Collector writes.
func (s *Set) Traces(yield func([]otlp.ResourceSpans) error) error {
	w := s.writer()
	bs := s.batches()
	for i := 0; i < len(bs); {
		var rs []otlp.ResourceSpans
		tick := bs[i].at / collectorDelay
		for ; i < len(bs) && bs[i].at/collectorDelay == tick; i++ {
			rs = append(rs, w.batch(&bs[i]))
		}
		if err := yield(rs); err != nil {
			return err
		}
	}
	return nil
}

// Metrics calls yield for each message that the Collector writes.
func (s *Set) Metrics(yield func([]otlp.ResourceMetrics) error) error {
	if s.Options.NoMetrics {
		return nil
	}
	w := s.writer()
	ms := s.Run.Metrics
	for i := 0; i < len(ms); {
		var rms []otlp.ResourceMetrics
		at := ms[i].At
		for ; i < len(ms) && ms[i].At == at; i++ {
			rms = append(rms, w.snapshot(&ms[i]))
		}
		if err := yield(rms); err != nil {
			return err
		}
	}
	return nil
}

// Encode writes traces and metrics as one stream of uncompressed messages.
func (s *Set) Encode(enc otlp.Encoding) (traces, metrics []byte) {
	f := otlp.Format{Encoding: enc}
	var t, m bytes.Buffer
	s.Messages(enc, func(isTraces bool, msg []byte) error {
		if isTraces {
			f.Frame(&t, msg)
		} else {
			f.Frame(&m, msg)
		}
		return nil
	})
	return t.Bytes(), m.Bytes()
}

// Messages calls f for each message that the Collector writes, traces first. The bytes are valid until f
// returns.
func (s *Set) Messages(enc otlp.Encoding, f func(traces bool, msg []byte) error) error {
	var b []byte
	err := s.Traces(func(rs []otlp.ResourceSpans) error {
		if enc == otlp.Proto {
			b = otlp.AppendTracesProto(b[:0], rs)
		} else {
			b = otlp.AppendTracesJSON(b[:0], rs)
		}
		return f(true, b)
	})
	if err != nil {
		return err
	}
	return s.Metrics(func(rms []otlp.ResourceMetrics) error {
		if enc == otlp.Proto {
			b = otlp.AppendMetricsProto(b[:0], rms)
		} else {
			b = otlp.AppendMetricsJSON(b[:0], rms)
		}
		return f(false, b)
	})
}

// WriteFiles writes the set as traces-N and metrics-N files into dir, in place of those that are there.
func (s *Set) WriteFiles(dir string, format otlp.Format) error {
	for _, name := range []string{"traces", "metrics"} {
		old, err := filepath.Glob(filepath.Join(dir, name+"-[0-9]*"))
		if err != nil {
			return err
		}
		for _, path := range old {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	t := &otlp.Files{Format: format, Dir: dir, Name: "traces"}
	m := &otlp.Files{Format: format, Dir: dir, Name: "metrics"}
	err := s.Messages(format.Encoding, func(traces bool, msg []byte) error {
		if traces {
			return t.Write(msg)
		}
		return m.Write(msg)
	})
	if err != nil {
		return err
	}
	if err := t.Close(); err != nil {
		return err
	}
	return m.Close()
}

// InstanceID is the service.instance.id of the n-th instance of a service.
func (s *Set) InstanceID(service string, n int) string {
	for _, in := range s.Run.Instances {
		if in.Service.Name == service && in.N == n {
			for _, a := range resource(s.Run.System.Name, in).Attrs {
				if a.Key == "service.instance.id" {
					return a.Value.(string)
				}
			}
		}
	}
	return ""
}
