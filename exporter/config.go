package exporter

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/config/confighttp"
	"go.opentelemetry.io/collector/config/configoptional"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/exporter/exporterhelper"

	"github.com/tailscope/tailscope/config"
	"github.com/tailscope/tailscope/internal/redact"
	"github.com/tailscope/tailscope/live"
	"github.com/tailscope/tailscope/summary"
)

// Config is the configuration of the exporter.
type Config struct {
	// Directory takes snapshots and reports; what is there from an earlier run is
	// gone on with. Empty: nothing is written.
	Directory string `mapstructure:"directory"`

	// Formats are those of the reports written there: json, markdown, text.
	Formats []string `mapstructure:"formats"`

	// OnlyRegressions writes a report only when a regression is found, not
	// whenever a window closes.
	OnlyRegressions bool `mapstructure:"only_regressions"`

	// Retain is how many windows' snapshots are kept in Directory.
	Retain int `mapstructure:"retain"`

	// Window is the length of a window of time; History how many completed windows
	// one is compared with.
	Window  time.Duration `mapstructure:"window"`
	History int           `mapstructure:"history"`

	// Quiet is how long no span of a trace must come until it is whole; MaxAge how
	// long a trace is kept whose spans keep coming.
	Quiet  time.Duration `mapstructure:"quiet"`
	MaxAge time.Duration `mapstructure:"max_age"`

	// Compare is what a window is compared with: time, version or pinned.
	Compare string `mapstructure:"compare"`

	// VersionOf is the service whose service.version counts, with compare: version.
	VersionOf string `mapstructure:"version_of"`

	// Baseline is the path of a snapshot, with compare: pinned.
	Baseline string `mapstructure:"baseline"`

	// Looks is how many times a window is compared while it is open; a report is made
	// where that shows a regression. Zero: only when it closes.
	Looks int `mapstructure:"looks"`

	// MemoryLimit bounds what the exporter holds.
	MemoryLimit Bytes `mapstructure:"memory_limit"`

	// ClassAttribute tells classes of requests apart. Settings is the path of a
	// tailscope.yaml.
	ClassAttribute string `mapstructure:"class_attribute"`
	Settings       string `mapstructure:"settings"`

	// Attributes says which values may be kept, and so may leave the process.
	Attributes AttributesConfig `mapstructure:"attributes"`

	// Page serves the last report, to be read only. Not given: there is none.
	Page configoptional.Optional[confighttp.ServerConfig] `mapstructure:"page"`

	// QueueConfig puts a queue in front. Without one a batch is taken in at once,
	// which never waits for the analysis.
	QueueConfig configoptional.Optional[exporterhelper.QueueBatchConfig] `mapstructure:"sending_queue"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// AttributesConfig says which attribute values may be kept.
type AttributesConfig struct {
	// Allow are the attributes of entry spans and resources that are kept besides
	// those that the analysis reads. A name that ends in * stands for all that begin
	// so.
	Allow []string `mapstructure:"allow"`

	// Redact are those that are not kept even so.
	Redact []string `mapstructure:"redact"`

	// prevent unkeyed literal initialization
	_ struct{}
}

// Bytes is an amount of memory: a number, or a text as 512MiB.
type Bytes int64

// UnmarshalText reads an amount of memory.
func (b *Bytes) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	number := strings.TrimRight(s, "BbIiKkMmGg")
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
	scale, ok := map[string]int64{"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "kb": 1e3, "mb": 1e6, "gb": 1e9}[strings.ToLower(s[len(number):])]
	if err != nil || !ok || n < 0 || n > 1<<62/scale {
		return fmt.Errorf("%q is no amount of memory; write it as 512MiB", s)
	}
	*b = Bytes(n * scale)
	return nil
}

// MarshalText writes it as MiB where that is exact.
func (b Bytes) MarshalText() ([]byte, error) {
	if b%(1<<20) == 0 {
		return fmt.Appendf(nil, "%dMiB", b>>20), nil
	}
	return strconv.AppendInt(nil, int64(b), 10), nil
}

var (
	_ component.Config  = (*Config)(nil)
	_ confmap.Validator = (*Config)(nil)
)

func createDefaultConfig() component.Config {
	o := live.New()
	page := confighttp.NewDefaultServerConfig()
	page.NetAddr.Endpoint = "localhost:4320"
	return &Config{
		Formats: o.Formats, Retain: o.Retain, Window: o.Window, History: o.History, Quiet: o.Quiet, MaxAge: o.MaxAge,
		Compare: string(o.Compare), Looks: o.Looks, MemoryLimit: Bytes(o.Memory),
		Attributes:  AttributesConfig{Allow: []string{"*"}, Redact: redact.Default},
		Page:        configoptional.Default(page),
		QueueConfig: configoptional.Default(exporterhelper.NewDefaultQueueConfig()),
	}
}

// Validate reports what is wrong, naming the field. Settings that would be
// ignored are wrong too.
func (c *Config) Validate() error {
	if c.Window == 0 {
		return errors.New("window: must be at least 1s")
	}
	if c.Compare == string(live.Pinned) && c.Baseline == "" {
		return errors.New("baseline: compare: pinned needs the path of a snapshot")
	}
	if c.Compare != string(live.Pinned) && c.Baseline != "" {
		return errors.New("baseline: is only used with compare: pinned")
	}
	o := c.options()
	if c.Baseline != "" {
		o.Baseline = []byte{0} // read at start
	}
	if err := o.Check(); err != nil {
		return err
	}
	if c.Directory == "" {
		if c.OnlyRegressions {
			return errors.New("only_regressions: is only used with a directory")
		}
		if !c.Page.HasValue() && c.Compare == "" {
			return errors.New("directory: is missing")
		}
	}
	if c.Directory != "" && len(c.Formats) == 0 && c.OnlyRegressions {
		return errors.New("only_regressions: is only used with formats of reports")
	}
	for _, list := range []struct {
		name string
		keys []string
	}{{"attributes::allow", c.Attributes.Allow}, {"attributes::redact", c.Attributes.Redact}} {
		if err := redact.Patterns(list.keys).Check(); err != nil {
			return fmt.Errorf("%s: %w", list.name, err)
		}
	}
	if c.Page.HasValue() {
		host, _, err := net.SplitHostPort(c.Page.Get().NetAddr.Endpoint)
		if err != nil {
			return fmt.Errorf("page::endpoint: %w", err)
		}
		ip := net.ParseIP(host)
		if loopback := host == "localhost" || ip != nil && ip.IsLoopback(); !loopback && !c.Page.Get().Auth.HasValue() {
			return fmt.Errorf("page::endpoint: %s can be reached from other machines: give page::auth, or listen on localhost", c.Page.Get().NetAddr.Endpoint)
		}
	}
	return nil
}

// options are the engine's, but for what is read from files.
func (c *Config) options() live.Options {
	o := live.New()
	o.Dir, o.Formats, o.OnlyRegressions, o.Retain = c.Directory, c.Formats, c.OnlyRegressions, c.Retain
	o.Window, o.History, o.Quiet, o.MaxAge = c.Window, c.History, c.Quiet, c.MaxAge
	o.Looks = c.Looks
	o.Compare, o.VersionOf, o.Memory = live.Comparison(c.Compare), c.VersionOf, int64(c.MemoryLimit)
	o.Analysis.ClassAttr = c.ClassAttribute
	return o
}

// load is options with the files that they name.
func (c *Config) load() (live.Options, error) {
	o := c.options()
	if c.Settings != "" {
		s, err := config.Load(c.Settings)
		if err != nil {
			return o, fmt.Errorf("settings: %w", err)
		}
		o.Analysis.Config = s
	}
	if c.Baseline != "" {
		b, err := os.ReadFile(c.Baseline)
		if err == nil {
			_, err = summary.Decode(b)
		}
		if err != nil {
			return o, fmt.Errorf("baseline: %s: %w", c.Baseline, err)
		}
		o.Baseline = b
	}
	return o, nil
}
