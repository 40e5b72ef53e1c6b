// Package msgx holds what the binary carries inside: the rule set, the
// catalogue and the migrations, so that one file is a complete installation.
package msgx

import "embed"

// Files are the shipped rule set (handlers.lua, rules), catalogue (schemas) and
// migrations. A directory of the configuration can take the place of the rule set.
//
//go:embed handlers.lua rules/*.lua rules/lib/*.lua schemas/*.yaml
var Files embed.FS
