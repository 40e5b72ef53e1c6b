package core

import (
	"msgx/cmd/msgx/config"
	"msgx/engine/rulebook"
)

// Limits are what a rule may use in one call, in production and wherever it is proved.
func Limits(c *config.Config) rulebook.Limits {
	limits := rulebook.DefaultLimits()
	limits.Instructions = int64(c.Rules.Instructions)
	return limits
}
