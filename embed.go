// Package msgx holds the rule set that the binary carries inside, so that one
// file is a complete installation. The catalogue, the migrations and the corpus are carried
// by the packages that read them.
package msgx

import "embed"

// Files are the shipped rule set: handlers.lua and the scripts and libraries of
// rules. A directory named in the configuration takes its place.
//
//go:embed handlers.lua rules/*.lua rules/lib/*.lua
var Files embed.FS

// Diagnostics are the pages of what the linter, the loader and a running rule report.
//
//go:embed rules/DIAGNOSTICS.md
var Diagnostics string
