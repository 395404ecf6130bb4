// Package exporter is an OpenTelemetry Collector exporter that compares each
// window of time with those before it and says why a tail is slower.
//
// NewFactory is what a Collector is built with; Config is what users write. The
// analysis is package live's: this package moves spans and points from pdata into
// it, decides which attribute values may be kept, and tells the Collector's own
// telemetry what came of it.
package exporter

import (
	"context"
	"sync"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/consumer"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/tailscope/tailscope/internal/redact"
)

// componentType is the type in a configuration.
var componentType = component.MustNewType("tailscope")

const stability = component.StabilityLevelDevelopment

// NewFactory returns the factory of the exporter.
func NewFactory() exporter.Factory {
	f := &factory{running: map[*Config]*shared{}}
	return exporter.NewFactory(componentType, createDefaultConfig,
		exporter.WithTraces(f.traces, stability),
		exporter.WithMetrics(f.metrics, stability))
}

// A factory gives the pipelines of one configuration one engine.
type factory struct {
	mu      sync.Mutex
	running map[*Config]*shared
}

func (f *factory) of(c *Config, set exporter.Settings) *shared {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.running[c]
	if s == nil {
		s = &shared{config: c, set: set, policy: &redact.Policy{Allow: c.Attributes.Allow, Redact: c.Attributes.Redact}}
		s.gone = func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			delete(f.running, c)
		}
		f.running[c] = s
	}
	return s
}

func (f *factory) traces(ctx context.Context, set exporter.Settings, c component.Config) (exporter.Traces, error) {
	s := f.of(c.(*Config), set)
	return exporterhelper.NewTraces(ctx, set, c, s.pushTraces, s.with()...)
}

func (f *factory) metrics(ctx context.Context, set exporter.Settings, c component.Config) (exporter.Metrics, error) {
	s := f.of(c.(*Config), set)
	return exporterhelper.NewMetrics(ctx, set, c, s.pushMetrics, s.with()...)
}

func (s *shared) with() []exporterhelper.Option {
	return []exporterhelper.Option{
		exporterhelper.WithCapabilities(consumer.Capabilities{MutatesData: false}),
		exporterhelper.WithStart(s.start),
		exporterhelper.WithShutdown(s.shutdown),
		exporterhelper.WithTimeout(exporterhelper.TimeoutConfig{Timeout: 0}), // nothing is waited for
		exporterhelper.WithQueue(s.config.QueueConfig),
	}
}
