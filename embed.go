// Package msgx holds the rule set that the binary carries inside, so that one
// file is a complete installation. The catalogue and the migrations are carried by
// the packages that read them.
package msgx

import "embed"

// Rules is the shipped rule set: handlers.lua and the scripts of rules. A directory
// named in the configuration takes its place.
//
//go:embed handlers.lua rules
var Rules embed.FS
