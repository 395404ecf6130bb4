package main

import (
	"context"
	"encoding/binary"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/tailscope/tailscope/live"
	"github.com/tailscope/tailscope/trace"
)

// What the suite asks of stats is what a stream through the engine is told.
func TestLooksAreThoseOfTheEngine(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates")
	}
	const windows = lookHistory + 1
	seconds := windows * lookWindow.Seconds()
	g := generator(1, "engine")
	requests := arriving(int(seconds*lookRate), seconds, lognormal(50, 0.7))(g)
	for i := range requests {
		switch w := requests[i].at / lookWindow.Seconds(); {
		case w >= 4, w >= 2.6 && w < 3:
			requests[i].ms *= 1.5
		}
	}
	soon, whole := lookAt(requests, windows)
	engineSoon, engineWhole := engineLooks(t, requests, windows)
	near := func(a, b float64) bool { return (a > 0) == (b > 0) && math.Abs(a-b) <= 0.25 } // what is not whole yet differs
	if !slices.EqualFunc(soon, engineSoon, near) || !slices.Equal(whole, engineWhole) {
		t.Errorf("stats: early %v, at the end %v; the engine: %v, %v", soon, whole, engineSoon, engineWhole)
	}
	if soon[4] == 0 || !whole[4] {
		t.Errorf("early %v, at the end %v: the slowdown is not told", soon, whole)
	}
}

const lookQuiet = 2 * time.Second

// engineLooks sends requests through an engine, and returns for each window what share of it had passed when a regression
// was told of, 0 if it was not, and whether the report of the whole tells of one.
func engineLooks(t *testing.T, requests []request, windows int) (soon []float64, whole []bool) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	soon, whole = make([]float64, windows), make([]bool, windows)
	o := live.New()
	o.Window, o.Quiet, o.MaxAge, o.History = lookWindow, lookQuiet, 10*lookQuiet, lookHistory
	o.Report = func(p *live.Published) {
		w := int(p.Window.Sub(began) / lookWindow)
		if w < 0 || w >= windows || !p.Regression() {
			return
		}
		if !p.Open {
			whole[w] = true
		} else if soon[w] == 0 {
			seen := p.At.Add(-2 * lookQuiet).Sub(p.Window) // what is younger may not be whole
			soon[w] = math.Round(8*seen.Seconds()/lookWindow.Seconds()) / 8
		}
	}
	o.Warn = func(err error) { t.Error(err) }
	e, err := live.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	name := []byte("GET /checkout")
	service := []trace.RawAttr{{Key: []byte("service.name"), Value: trace.RawValue{Type: trace.String, Bytes: []byte("web")}}}
	id := uint64(0)
	send := func(of []request) {
		err := e.Add(func(in *live.Intake) {
			resource := in.Tables.AddResource(service)
			for _, q := range of {
				id++
				var t trace.TraceID
				binary.BigEndian.PutUint64(t[:], id*0x9e3779b97f4a7c15)
				at := trace.Time(began.UnixNano() + int64(1e9*q.at))
				in.Span(&trace.RawSpan{TraceID: t, ID: 1, Name: name, Kind: trace.KindServer, Resource: resource, Start: at, End: at + trace.Time(1e6*q.ms)})
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for second := 0; second < windows*int(lookWindow.Seconds())+int(6*lookQuiet.Seconds()); second++ {
		n := 0
		for n < len(requests) && requests[n].at < float64(second) {
			n++
		}
		send(requests[:n])
		requests = requests[n:]
		e.Tick(began.Add(time.Duration(second) * time.Second))
	}
	if err := e.Close(context.Background(), began.Add(time.Duration(windows)*lookWindow+6*lookQuiet)); err != nil {
		t.Fatal(err)
	}
	return soon, whole
}
