package live

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tailscope/tailscope/summary"
)

// Names of files: window-20260102T150405Z.snap of a completed window,
// open-20260102T150405Z.snap of one that an engine left open, each with
// .version-NAME before .snap if it is of one version.
const (
	stamp         = "20060102T150405Z"
	windowPrefix  = "window-"
	openPrefix    = "open-"
	versionMark   = ".version-"
	snapshotExt   = ".snap"
	partExt       = ".part"
	regressionPre = "regression-"
)

var extensions = map[string]string{"json": ".json", "markdown": ".md", "text": ".txt"}

// fileName is the name of the snapshot of a part.
func (e *Engine) fileName(c *completed, version string) string {
	prefix := windowPrefix
	if c.open {
		prefix = openPrefix
	}
	name := prefix + e.begins(c.index).Format(stamp)
	if e.o.Window == 0 {
		name = "snapshot"
	}
	if version != "" {
		v := url.PathEscape(version) // no separator of paths is left
		if len(v) > 100 {
			v = fmt.Sprintf("%s~%016x", v[:80], fnv(version))
		}
		name += versionMark + v
	}
	return name + snapshotExt
}

func fnv(s string) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(s) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// save writes the snapshots of a window, and drops files that are too old.
func (e *Engine) save(c *completed) error {
	if e.o.Dir == "" {
		return nil
	}
	var errs []error
	for _, p := range c.parts {
		errs = append(errs, replace(filepath.Join(e.o.Dir, p.name), p.snapshot))
	}
	if !c.open && e.o.Window > 0 {
		// What an engine left open is in this window now.
		errs = append(errs, e.remove(openPrefix+e.begins(c.index).Format(stamp)))
	}
	errs = append(errs, e.prune())
	return errors.Join(errs...)
}

func (e *Engine) remove(prefix string) error {
	found, err := filepath.Glob(filepath.Join(e.o.Dir, prefix+"*"+snapshotExt))
	for _, path := range found {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// prune keeps the files of as many windows as are to be retained.
func (e *Engine) prune() error {
	var errs []error
	for _, prefix := range []string{windowPrefix, regressionPre} {
		found, err := filepath.Glob(filepath.Join(e.o.Dir, prefix+"*"))
		errs = append(errs, err)
		at := func(path string) string {
			name := strings.TrimPrefix(filepath.Base(path), prefix)
			return name[:min(len(name), len(stamp))]
		}
		slices.SortFunc(found, func(a, b string) int { return strings.Compare(at(b), at(a)) })
		windows, last := 0, ""
		for _, path := range found {
			if t := at(path); t != last {
				windows, last = windows+1, t
			}
			if windows > e.o.Retain {
				errs = append(errs, os.Remove(path))
			}
		}
	}
	return errors.Join(errs...)
}

// saveReport writes a report; that of a regression is kept under its own name
// too.
func (e *Engine) saveReport(p *Published, regression bool) error {
	if e.o.Dir == "" {
		return nil
	}
	var errs []error
	for _, format := range e.o.Formats {
		errs = append(errs, replace(filepath.Join(e.o.Dir, "report"+extensions[format]), p.Rendered[format]))
		if regression {
			at := p.Window
			if at.IsZero() {
				at = p.At
			}
			errs = append(errs, replace(filepath.Join(e.o.Dir, regressionPre+at.UTC().Format(stamp)+extensions[format]), p.Rendered[format]))
		}
	}
	return errors.Join(errs...)
}

// replace writes a file so that at any moment, and after any failure, there is
// the old content or the new one.
func replace(path string, content []byte) error {
	tmp := path + partExt
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("live: %w", err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
		return fmt.Errorf("live: writing %s: %w", path, err)
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync() // not every file system can
		dir.Close()
	}
	return nil
}

// resume reads the windows that an earlier engine left. A file that cannot be
// read is told of and left alone.
func (e *Engine) resume() error {
	if e.o.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(e.o.Dir, 0o700); err != nil {
		return fmt.Errorf("live: %w", err)
	}
	entries, err := os.ReadDir(e.o.Dir)
	if err != nil {
		return fmt.Errorf("live: %w", err)
	}
	byIndex := map[int64]*completed{}
	regressions := map[string]bool{} // by the time of the window
	for _, f := range entries {
		if name, ok := strings.CutPrefix(f.Name(), regressionPre); ok && len(name) > len(stamp) {
			regressions[name[:len(stamp)]] = true
		}
	}
	for _, f := range entries {
		name := f.Name()
		path := filepath.Join(e.o.Dir, name)
		if strings.HasSuffix(name, partExt) && (strings.HasPrefix(name, windowPrefix) || strings.HasPrefix(name, openPrefix) || strings.HasPrefix(name, "report") || strings.HasPrefix(name, regressionPre)) {
			os.Remove(path) // torn by a crash
			continue
		}
		rest, closed := strings.CutPrefix(name, windowPrefix)
		if !closed {
			var open bool
			if rest, open = strings.CutPrefix(name, openPrefix); !open {
				continue
			}
		}
		rest, ok := strings.CutSuffix(rest, snapshotExt)
		if !ok || e.o.Window == 0 {
			continue
		}
		at, escaped, _ := strings.Cut(rest, versionMark)
		begin, err := time.Parse(stamp, at)
		if err != nil || begin.UnixNano()%int64(e.o.Window) != 0 {
			continue // of another length of windows
		}
		version, err := url.PathUnescape(escaped)
		if err != nil || (version != "") != (e.o.Compare == ByVersion && escaped != "") {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			e.o.warn(fmt.Errorf("live: %w", err))
			continue
		}
		runs, err := summary.Decode(content)
		if err != nil {
			e.o.warn(fmt.Errorf("live: %s is left out: %w", path, err))
			continue
		}
		index := e.index(begin.UnixNano())
		if !closed {
			if e.anyClosed && index <= e.last {
				continue
			}
			w := e.windows[index]
			if w == nil {
				w = e.newWindow(index)
				e.windows[index] = w
			}
			for _, r := range runs {
				w.part(version).Merge(r)
			}
			w.bytes += w.part(version).Bytes()
			continue
		}
		c := byIndex[index]
		if c == nil {
			c = &completed{index: index, told: &told{}}
			c.told.regression.Store(regressions[at])
			byIndex[index] = c
		}
		p := part{version: version, snapshot: content, name: name}
		for _, r := range runs {
			p.requests += len(r.Records)
			p.first = r.Counts.From
		}
		c.parts = append(c.parts, p)
	}
	for _, c := range byIndex {
		e.keep(c)
		if !e.anyClosed || c.index > e.last {
			e.last, e.anyClosed = c.index, true
		}
		delete(e.windows, c.index)
	}
	return nil
}
