// Package config reads tailscope.yaml: what a team means by its endpoints, which
// no trace can tell. Nothing needs the file; the zero Config is what holds
// without one.
//
// Read Config and Rules first. Parse refuses what it does not understand, a
// misspelt key included, and says line and column: a setting that is silently
// ignored is worse than none. docs/config.md shows every key in use.
package config
