package rulebook

// Budget is how many instructions a decision on a message of so many records may use.
func (b *Rulebook) Budget(records int) int64 {
	return b.limits.Instructions + int64(records)*b.limits.InstructionsPerRecord
}
