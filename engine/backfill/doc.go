// Package backfill is the stage that pays the marks which finished messages
// owe the mailbox. That a mark is owed was stored together with the message's
// terminal state, so a scan finds it whatever happened since; nothing but the scan
// drives this stage, and a poke only makes it look sooner.
//
// A round scans for due marks, holds their rows over one bounded call of the mailbox,
// and stores what became of each in the same transaction that held them. When a full batch
// got somewhere the next round follows at once.
//
// Due is a message that is SUCCEEDED, SKIPPED or DEAD, owes a mark, has it neither confirmed nor given up, and
// has no time for the next attempt, or one that has come, or was enqueued longer than R ago: by then each round
// tries it whatever its back-off. Enqueued, not received: the mailbox's clock is not ours. The least tried come
// first, then the smallest id, so that rows which always fail do not fill the batch.
//
// # Invariants
//
//   - A mark is written for terminal messages only, and over an empty mark only: the scan sees to
//     the first, the mailbox to the second.
//   - A row that is held here is not replayed, archived or marked by anybody else, on any
//     instance: the holding transaction has it locked, and the lease epoch with it. A replay waits for it; a
//     row that a replay has locked is passed by. The database session is kept awake while the mailbox is called.
//   - A row's attempts go up by at most one a round, whatever was tried in that round.
//   - A row is given up only after a failing attempt, and only if its own transient failures have
//     lasted R; never for the number of attempts, never for its age. A row that the mailbox does
//     not have is given up at once. Given up is not confirmed.
//   - Attempts are repeated freely: a mark that was written before its reply was lost is found to be
//     there and confirmed.
//
// # Failures
//
//	mailbox away                       every row of this round's batch has failed once and is due again later;
//	                                   the stage backs off as a whole, so that an outage costs one
//	                                   batch an attempt per back-off step; logged once
//	a batch fails for another reason   its rows are tried one by one, once, as long as the hold allows; one bad
//	                                   row does not keep the others from their marks. Rows for which
//	                                   time ran out are left as they were
//	all of them fail                   as for a mailbox that is away
//	no such row                        given up (MISSING_ROW), metric, logged as an error
//	mailbox hangs                      the call is bounded by HoldLimit; then as for one that is away
//	failing for R                      given up (TRANSIENT_DEADLINE), metric, logged as an error
//	our database away or commit lost   logged once; back-off; the scan finds out what was stored
//	lease lost (fault.ErrFenced)       Run returns it; nothing of the round is stored
//	shutdown in a round                nothing of the round is stored; marks already written are confirmed next time
//	an operator reopens a mark         due at once, its attempts and its R begin anew
//	paused                             no scan, no mark
//	shadow mode                        Run does nothing at all
//
// # Metrics
//
// All are named msgx_backfill_…: marks_total by result, abandoned_total by reason, due (marks found
// by the last scan, at most a batch), attempts_alarms_total, mailbox_up, paused.
package backfill
