package live

import (
	"encoding/json"
	"fmt"
	"html"
	"net"
	"net/http"
	"strings"
)

// Page serves the last report and the counts, and changes nothing: / is the
// text report in a page, /report.txt, /report.json and /report.md are the report,
// /stats.json the counts. What comes from outside is escaped. A browser may not
// run anything in it, or be brought here under another name: a request whose Host
// is neither an address, localhost nor one of names is refused.
func (e *Engine) Page(names ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "this page is only to be read", http.StatusMethodNotAllowed)
			return
		}
		if !known(r.Host, names) {
			http.Error(w, "this host is not known by that name", http.StatusForbidden)
			return
		}
		var body []byte
		switch r.URL.Path {
		case "/":
			h.Set("Content-Type", "text/html; charset=utf-8")
			body = e.html()
		case "/stats.json":
			h.Set("Content-Type", "application/json")
			body, _ = json.MarshalIndent(e.Stats(), "", "  ")
		case "/report.json", "/report.txt", "/report.md":
			p := e.Latest()
			if p == nil {
				http.Error(w, "no window has closed yet", http.StatusNotFound)
				return
			}
			format, media := "text", "text/plain; charset=utf-8"
			switch r.URL.Path {
			case "/report.json":
				format, media = "json", "application/json"
			case "/report.md":
				format, media = "markdown", "text/markdown; charset=utf-8"
			}
			h.Set("Content-Type", media)
			body = p.Rendered[format]
		default:
			http.Error(w, "there are /, /report.txt, /report.json, /report.md and /stats.json", http.StatusNotFound)
			return
		}
		_, _ = w.Write(body)
	})
}

// known reports whether a Host is one that this page may be asked for by.
func known(host string, names []string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.Trim(host, "[]")
	if host == "" || host == "localhost" || net.ParseIP(host) != nil {
		return true
	}
	for _, n := range names {
		if strings.EqualFold(n, host) {
			return true
		}
	}
	return false
}

func (e *Engine) html() []byte {
	var b strings.Builder
	b.WriteString("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>tailscope</title>" +
		"<style>body{font:14px/1.4 system-ui,sans-serif;margin:2em}pre{font:13px/1.35 ui-monospace,monospace;overflow-x:auto}</style></head><body>\n")
	s := e.Stats()
	if p := e.Latest(); p == nil {
		b.WriteString("<p>No window has closed yet.</p>\n")
	} else {
		what := "One window"
		if !p.Window.IsZero() {
			what = "The window from " + p.Window.Format("2006-01-02 15:04:05 MST")
		}
		if p.Open {
			what += ", which is still open: a regression shows"
		}
		fmt.Fprintf(&b, "<p>%s. <a href=\"report.json\">JSON</a>, <a href=\"report.md\">Markdown</a>, <a href=\"report.txt\">text</a>, <a href=\"stats.json\">counts</a></p>\n<pre>%s</pre>\n",
			html.EscapeString(what), html.EscapeString(string(p.Rendered["text"])))
	}
	fmt.Fprintf(&b, "<p>Spans: %d received, %d analysed, %d late, %d shed, %d open. %d windows, %d regressions.</p>\n</body></html>\n",
		s.Received, s.Analysed, s.Late, s.Shed, s.Open, s.Windows, s.Regressions)
	return []byte(b.String())
}
