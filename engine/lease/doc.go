// Package lease makes sure that at most one instance works on a database.
//
// The lease is a row with an epoch and a heartbeat, both by the database's
// clock. Whoever takes it over raises the epoch.
//
//	            claim refused or database away
//	              ┌───────────┐
//	              ▼           │
//	         ┌─────────┐      │   claimed: epoch + 1        ┌─────────┐
//	start ──▶│ standby │──────┴────────────────────────────▶│ leading │
//	         └─────────┘                                    └─────────┘
//	              ▲                                          │   │   │
//	              │     ┌──────┐  beat fenced, or no beat    │   │   │ lead returned
//	              └─────│ lost │◀── within the trust window ─┘   │   ▼
//	  once lead has     └──────┘                                 │  release, Run returns
//	  returned                             ctx ended ────────────┘
//	                                       lead drains under a beating lease,
//	                                       then release: takeover is immediate
//
// # Trust window
//
// A beat (or claim) that was sent at local time s and succeeded has set the
// heartbeat at or after s, so nobody takes over before s + lease. The holder
// trusts itself until s + lease - margin by the local monotonic clock; the
// margin covers two clocks running at different speeds and what is under way
// when trust ends. No assumption is made about two clocks showing the same time.
//
// Trust protects what the database cannot fence: before a mailbox mark or a
// Kafka send, ask [Lease.Held]. Writes to the database carry the epoch and are
// refused after a takeover, whatever an instance believes of itself. A machine
// that was suspended may trust itself until its next beat, since a suspended
// machine's monotonic clock may stand still: marks are written only over empty
// ones and Kafka readers guard by version, so this does no lasting harm.
//
// # Failures
//
//	what happens                        what follows
//	database away while standing by     logged once, tried every poll, logged once when back
//	database away while leading         beats are tried more often; lead is cancelled when trust ends
//	beat fenced                         lead is cancelled at once with fault.ErrFenced as cause
//	beat hangs                          as away: trust ends on time, whether or not the beat returns
//	lead returns fault.ErrFenced        standby, as for a fenced beat
//	lead returns another error          released, Run returns the error
//	lead does not return when cancelled no new claim is made until it does; trust is gone, writes are fenced
//	silent within a transaction         the server ends the transaction (idle_in_transaction_session_timeout, two fifths of
//	                                    the lease), so that the claim finds no lock when the lease has run out
//	its clock is set to another time    nothing: the heartbeat is by the database's clock, trust by the monotonic one
//	killed                              another instance takes over when the heartbeat is older than the lease
//	release fails                       logged; the others wait for the lease to run out
package lease
