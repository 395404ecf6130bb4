// Package tui is the interactive drill-down: from the endpoints of a report to one endpoint, a cause, a queue, late
// work, a request's waterfall, and two requests side by side.
//
// Read [App] first. It is a reducer without a framework: keys, clicks and answers go in, [Effect]s and a frame of text
// come out. A screen (screen.go) is a pure function of its state and size to lines, so that every view can be a golden
// file. program.go is the only file that knows Bubble Tea; it turns messages into calls of App and effects into
// commands. What takes longer than a frame is an effect, and its answer carries the number of the request: an answer
// to a screen that was left is dropped.
//
// What stands on a screen is laid out by report/page and drawn by report/text wherever these have it, so that the
// terminal, the HTML page and this program say the same. Every name passes internal/escape before it is drawn.
package tui
