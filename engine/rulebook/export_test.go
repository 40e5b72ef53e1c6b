package rulebook

import "msgx/engine/decision"

// Twin tells what the instrumented twin of a traced rule set decides.
func (b *Rulebook) Twin(f func(decision.Decision, error)) { b.tracer.same = f }
