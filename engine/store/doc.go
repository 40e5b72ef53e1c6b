// Package store is our own PostgreSQL database, and the only package that speaks
// to it. It keeps six kinds of facts:
//
//	arrived, decided, marked   proc_state, raw_message, proc_state_hst
//	read so far                inbox_cursor, inbox_hole
//	flights                    flight_schd, one table for each list, flight_change, flight_hst
//	to be announced            msg_event, req_track, ref_master, schd_snap_log
//	who may write, and how     instance_lease, instance_heartbeat, pipeline_lock, operator_control, operator_log, instance_fact, job_run, schema_compatible
//	rule sets                  ruleset, ruleset_file, ruleset_live, ruleset_refusal, ruleset_request,
//	                           shadow_now, shadow_run, shadow_count, shadow_difference
//
// The schema is in package migrations. The columns of flights follow the catalogue, and so do
// the statements on them, which are built once by Open; every other statement is a
// constant whose name begins with sql, beside the function that runs it. A test prepares them all.
//
// # Rules
//
//   - InTx is the one function that commits. Decide is built on it: its first round trip carries
//     BEGIN, the locks and all reads; its second carries all writes and COMMIT. Settle, a single
//     statement, is its own transaction.
//   - Every write of the engine goes through a Writer and holds the lease epoch shared (FOR SHARE of
//     instance_lease) in its own transaction or statement. ClaimLease changes the epoch exclusively, so it
//     waits for writes under way, and after it no writer of an older epoch writes anything. The heartbeat
//     is another row: beating and writing never wait for each other. The lease runs by the database's clock.
//   - What changes flights, numbers decisions or allocates event ids holds pipeline_lock. Hence
//     decision_no has no gaps, and event ids are in commit order. Locks are taken in the order
//     instance_lease, pipeline_lock, proc_state.
//   - The head is looked up after pipeline_lock is held, so that it is seen as its last holder left it.
//   - A message is in its turn (out_of_turn is false) when the inbox enqueued it above the watermark and nobody sent it
//     through again. What is unfinished below the message that was decided last is out of turn, so the smallest unfinished
//     message is found without passing all that was finished since a long reader began to hold back vacuum.
//   - Operators' commands (SetPaused, AskRuleset, Replay, RetryNow, Skip, Reopen, Reconcile) hold no epoch; they lock the rows that
//     they change, ascending, look at them again, and write what was before and is after to operator_log in the same transaction. Skip holds
//     pipeline_lock too. Rows that somebody has in hand (a decision, a mark under way) are waited for; the back-fill
//     passes by what an operator has in hand.
//   - An audit reads a Snapshot: one read-only transaction over many pages, which no writer waits for. It ends
//     within its own bounds, not the lease's.
//   - A trigger, not a promise, keeps a flight's version and operation day, finished states and confirmed marks.
//   - Values are canonical text on this side, typed columns on the other. Times are instants, to the microsecond.
//     MAFL is not stored: it is derived from the children whenever flights are read.
//   - What a message was judged on can be rebuilt (ViewBefore): later versions are taken back from the current state, one
//     recorded change after the other, and each has to fit. What is lost is told as a LostError, never guessed.
//   - A flight whose row is gone is read with the highest version that history or the outbox knows of it.
//   - Text of a message passes message.SafeText before it is stored; bodies are bytes.
//   - Plans are made once for a statement and serve every call; sequential scans, hash and merge joins are off
//     for our sessions, so a plan made on empty tables is as good as any. A test looks at the plans of the hot statements.
//   - A rule set that was asked about any message is kept for good, and so is one of which that is not known; others, refusals,
//     answered requests and the findings of shadows are kept in bounded numbers.
//
// # Failures
//
//	server away, starting, read-only, full, session ended   fault.ErrUnavailable: nothing written, nobody's fault
//	COMMIT of Decide, or Settle, without a reply             fault.ErrCommitInDoubt: ask Resolve, never repeat
//	COMMIT of any other write without a reply                fault.ErrUnavailable: repeating it does no harm
//	a newer epoch                                            fault.ErrFenced: nothing written, stop
//	row not in the state that was acted on                   fault.ErrMoved: nothing written, look again
//	deadlock, lock held by others, session ended as idle     fault.ErrUnavailable: no message brings them about
//	value refused, statement too slow                        the error as it is: it counts against the message
//	decision slow, process alive                             nothing: the session is kept awake
//	the caller gives up before the second round trip         its own context error; after that the commit is seen through
package store
