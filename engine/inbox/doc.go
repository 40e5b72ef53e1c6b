// Package inbox is the stage that brings mailbox rows into our own database:
// every row once, in id order, and none left behind.
//
// A round reads the rows above the watermark, lets package watermark work out what
// that proves, and stores the result in one transaction. When there is more, the next
// round follows at once; otherwise after the poll interval, or when poked.
//
// # Invariants
//
//   - The watermark never passes an existing row, given that the owner keeps the
//     promised commit delay. A row that breaks the promise is found by looking again at
//     released holes, and at the ids that were missing just below a seed.
//   - Only a complete read moves the cursor or begins or ends the age of a hole. The
//     clock is read after the read to begin an age, and before the read to judge it.
//   - Rows are enqueued in id order; a processing record that is there already (from a
//     compatible entry) is left as it is.
//   - A new row is never taken for an old one: when the table would hand out ids at or
//     below the watermark again, reading stops until an operator has mended it and resumes
//     the inbox or starts it again.
//   - Where an empty database begins to read is said by the operator, never assumed. The seed and the ids that are
//     missing just below it are stored together.
//   - The age of a hole outlives the process, and the host: it is stored as an age by the clock of our own database, and
//     goes on by the monotonic clock of whoever reads. What the clocks of hosts show does not matter.
//   - What is persisted is all there is: after a restart or an error the cursor is read again.
//
// # Failures
//
//	mailbox away, or a read fails       logged once; back-off; cursor and holes as they were
//	our database away, or a write fails logged once; back-off; cursor read again, then the round is
//	                                    repeated, which is safe because enqueueing is
//	lost reply to COMMIT                the same: reading the cursor resolves it
//	lease lost (fault.ErrFenced)        Run returns it: another instance goes on from the cursor
//	lost reply to a seed                the cursor is read again; a second seed is refused, and reading goes on from the first
//	no seed, or a refused one           Run returns it, saying what to configure
//	the table is exchanged or renamed   as for a mailbox that is away; what is there afterwards is looked up. Rows that
//	                                    the owner leaves behind unread are holes
//	a read breaks in the middle         an error: nothing of it counts
//	a missing id                        nothing past it is enqueued until it turns up or its age is
//	                                    the commit delay; then it is a permanent hole: metric, log, ledger
//	a row in a permanent hole           recorded as late, metric, logged as an error; left to the operator
//	ids in use again                    stops, metric, logged as an error once
//	paused                              nothing is read; resuming reads the cursor again
//	rows removed by their owner         normal, also when the highest id goes down
//
// # Metrics
//
// All are named msgx_inbox_…: rows_enqueued_total, watermark_id, highest_id, hole_age_seconds,
// permanent_holes_total, late_rows_total, mailbox_up, ids_reused, paused.
package inbox
