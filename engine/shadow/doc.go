// Package shadow lets a second rule set decide beside the live one and compares the two. Nothing that
// it decides is applied.
//
//	pump, after the commit ──Offer──▶ queue ──▶ shadow judge ──▶ compare ──▶ counts and examples ──▶ PostgreSQL
//	                          │ full                                          (each second)
//	                          └──▶ dropped, counted
//
// # Invariants
//
//   - The head of the line never waits for the shadow: Offer takes no lock that is held over work, and drops what the
//     queue has no room for. The queue is bounded in messages and in records.
//   - Both rule sets see the same: the shadow is given what the live one was judged on, which nobody changes any more.
//   - It has budgets of its own: instructions, and time on the clock.
//   - A message counts once, however often it was tried.
//   - Counts belong to a pair of rule sets, shadow and live, and begin anew when either changes.
//   - It writes to the shadow tables only, under the lease epoch.
//
// # Failures
//
//	what happens                             what becomes of it
//	directory cannot be read, does not load  no shadow, the fault is shown; tried again when the content changes
//	a decision fails, or panics              a difference in the outcome
//	a decision takes too long                counted as late, not compared
//	it reads reference data that the live
//	rule set does not read                   counted as unread, not compared
//	it cannot keep up                        dropped and counted
//	PostgreSQL away                          findings are kept, in their bounds, and written later; a commit in doubt may count twice
//	lease lost                               Run returns fault.ErrFenced
package shadow
