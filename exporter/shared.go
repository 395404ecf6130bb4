package exporter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.uber.org/zap"

	"github.com/tailscope/tailscope/internal/redact"
	"github.com/tailscope/tailscope/live"
)

// shared is what the pipelines of one configuration have in common.
type shared struct {
	config *Config
	set    exporter.Settings
	policy *redact.Policy
	gone   func()

	mu        sync.Mutex
	users     int
	engine    *live.Engine
	stop      context.CancelFunc
	wait      sync.WaitGroup
	page      *http.Server
	telemetry *telemetry
}

// start opens the engine with the first pipeline.
func (s *shared) start(ctx context.Context, host component.Host) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
	if s.engine != nil {
		return nil
	}
	o, err := s.config.load()
	if err != nil {
		return err
	}
	s.policy.Reads = o.Analysis.Reads()
	log := s.set.Logger
	o.Warn = func(err error) { log.Warn("not all is well", zap.Error(err)) }
	o.Report = func(p *live.Published) {
		if t := s.telemetry; t != nil {
			t.report(p)
		}
		if p.Regression() {
			log.Info("a regression was found", zap.Time("window", p.Window), zap.Bool("open", p.Open))
		}
	}
	if s.telemetry, err = newTelemetry(s.set.MeterProvider); err != nil {
		return err
	}
	e, err := live.Open(o)
	if err != nil {
		return fmt.Errorf("directory: %w", err)
	}
	if err := s.telemetry.observe(e); err != nil {
		return err
	}
	if s.config.Page.HasValue() {
		c := s.config.Page.Get()
		// The handler knows by which names it may be asked for.
		name, _, _ := net.SplitHostPort(c.NetAddr.Endpoint)
		if s.page, err = c.ToServer(ctx, host.GetExtensions(), s.set.TelemetrySettings, e.Page(name)); err != nil {
			return fmt.Errorf("page: %w", err)
		}
		l, err := c.ToListener(ctx)
		if err != nil {
			return fmt.Errorf("page::endpoint: %w", err)
		}
		log.Info("the last report is on a page", zap.String("endpoint", l.Addr().String()))
		s.wait.Go(func() {
			if err := s.page.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				log.Error("the page ended", zap.Error(err))
			}
		})
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	s.stop, s.engine = stop, e
	s.wait.Go(func() { e.Run(running) })
	return nil
}

// shutdown ends the engine with the last pipeline: what is open is analysed, as
// long as ctx lasts.
func (s *shared) shutdown(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users > 0 || s.engine == nil {
		return nil
	}
	defer s.gone()
	var errs []error
	if s.page != nil {
		if err := s.page.Shutdown(ctx); err != nil {
			errs = append(errs, s.page.Close())
		}
	}
	s.stop()
	s.wait.Wait()
	errs = append(errs, s.engine.Close(ctx, time.Now()))
	errs = append(errs, s.telemetry.close())
	n := s.engine.Stats()
	s.set.Logger.Info("ended", zap.Int64("received", n.Received), zap.Int64("analysed", n.Analysed), zap.Int64("late", n.Late), zap.Int64("shed", n.Shed), zap.Int64("open", n.Open))
	s.engine = nil
	return errors.Join(errs...)
}

// pushTraces takes a batch. It waits for other batches only.
func (s *shared) pushTraces(_ context.Context, td ptrace.Traces) error {
	return s.engine.Add(func(in *live.Intake) { decoderOf(in, s.policy).traces(in, td) })
}

func (s *shared) pushMetrics(_ context.Context, md pmetric.Metrics) error {
	return s.engine.Add(func(in *live.Intake) { decoderOf(in, s.policy).metrics(in, md) })
}
