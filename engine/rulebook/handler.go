package rulebook

import "msgx/engine/decision"

// Handler is what a verdict needs to know of the script of a kind; false means
// that the kind is unsupported.
func (b *Rulebook) Handler(kind string) (decision.Script, bool) {
	e, ok := b.byKind[kind]
	if !ok {
		return decision.Script{}, false
	}
	return decision.Script{ID: e.ID(), Writes: e.Writes, Reads: e.Reads}, true
}
