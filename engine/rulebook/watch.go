package rulebook

// Watch has tell called after each Decide with the kind of the message and what happened;
// the trace is tell's to keep. Without LoadTraced there is nothing to tell.
func (b *Rulebook) Watch(tell func(kind string, t *Trace)) {
	if b.tracer != nil {
		b.tracer.tell = tell
	}
}
