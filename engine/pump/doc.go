// Package pump decides messages: the smallest unfinished id at or below the
// watermark, one at a time, each in one transaction.
//
//	         ahead of the decision, bounded in count and bytes      one at a time, in order
//	heads ──▶ read bodies ──▶ decode ──────────────────────────────▶ claim, judge, settle ──▶ next
//	  ▲       (mailbox, then     (one goroutine)                      (one transaction)
//	  │        our own copy)                                               │
//	  └──────────── what was read ahead no longer holds: read again ◀──────┘
//
// # Invariants
//
//   - Messages are decided in id order; a FAILED head holds everything behind
//     it back. What was read ahead is only a guess at what comes next: the store
//     confirms, in the transaction that decides, that the message is the head, and
//     refuses with fault.ErrMoved where it is not (an operator replayed or skipped
//     one, a late row turned up). Everything read ahead is then dropped.
//   - Reading and decoding ahead change nothing: identity is bound, duplicates are
//     found and rules run only in the transaction of the message.
//   - One failure is counted once, in the place that holds the message. A server that
//     is away, a lost lease and a shutdown are nobody's failure and count for nothing.
//   - A transaction whose commit is in doubt is looked up, never repeated.
//   - Who judges changes between two messages only (Options.Turn), and not before that is on
//     record: claim and judgement of a message come from one rule set, the one whose hash is stored with it.
//   - Memory is bounded: bodies in flight by Options.AheadBytes, their number by
//     Options.Ahead. A body larger than the whole budget passes, alone.
//   - Between two messages nothing of the pump is in the database, so it can
//     be paused, stopped or killed there, and in the middle of one the database rolls back.
//
// # Failures
//
//	what happens                                  what becomes of the message
//	raw in neither mailbox nor our own copies     DEAD(MALFORMED) raw-missing
//	body cannot be read, mailbox answers          FAILED(INFRA)
//	mailbox (or its table) or PostgreSQL away     nothing: wait with back-off, log once each way
//	body is not well-formed, or breaks the format DEAD(MALFORMED)
//	catalogue may be wrong (codec error)          FAILED(CODEC_ERROR)
//	decoder panics                                FAILED(CODEC_ERROR), stack in the log
//	judge says skip or dead                       SKIPPED, DEAD(PROTOCOL or MALFORMED)
//	judge says failed                             FAILED(UNSUPPORTED or RULE_ERROR)
//	judge panics                                  FAILED(RULE_ERROR), stack in the log
//	transaction fails on this message             rolled back, then FAILED(INFRA) with the identity
//	judging takes long (a slow machine)           nothing: the session is kept awake meanwhile
//	a script has no end                           FAILED(RULE_ERROR): its budget of instructions ends it
//	deadlock, a lock of others, a frozen process  nothing: as if PostgreSQL were away
//	any of the failures, the last allowed one     DEAD(EXHAUSTED), class and text kept in the reason
//	head has used up its attempts when found      DEAD(EXHAUSTED)
//	head is FAILED and not due                    waits; nothing overtakes
//	head is not the head any more (ErrMoved)      nothing: read again
//	commit in doubt (ErrCommitInDoubt)            looked up: terminal, go on; else read again
//	lease lost (ErrFenced)                        nothing: Run returns the error
//	a failure cannot be recorded                  nothing: as if PostgreSQL were away
//	ids beyond the watermark only                 wait, logged once for each watermark
//	paused                                        nothing, from the next message on
//	shutdown before the judge has answered        rolled back, nothing counted
//	shutdown after it                             commits, within Options.Grace
//
// Attempts count only what the message brought about. How long a decision takes is not among it: what a script may do
// is bounded in instructions, and a clock would kill good messages on a slow machine. A statement that is too slow is: it
// grows with the message, and would hold the line for ever. The last failure's class and text stay in the reason
// of what is EXHAUSTED, also when its attempts are found used up (TestExhaustedHeadFoundAtStart).
//
// TestFailureTable, TestWholeChain, TestASlowMachineUsesUpNoAttempt, TestAnEndlessScriptIsTheMessagesFailure,
// TestServerAwayIsLoggedOnceAndCountsNothing and TestFencedEndsRun walk through this table.
//
// # Interrupted anywhere
//
// What follows a crash is found out from what is stored, never from what a process remembered. Where it was
// interrupted, what is found, what is done, and the test that does it:
//
//	in the mailbox, not enqueued        an id above the watermark without record, marked   TestInTheMailboxAndNotEnqueued
//	                                    or not: enqueued
//	watermark before a hole             hole_since is stored: its age goes on; released    TestAHoleKeepsItsTimeOverARestart
//	                                    is the hole alone
//	in a transaction                    no terminal state: rolled back, decided again,     TestKilledInTheMiddleOfABacklog
//	                                    no attempt counted                                 TestShutdownWhileTheJudgeWorksRollsBack
//	commit without a reply              looked up under the lock, never repeated           TestCommitInDoubtIsResolvedByReading
//	storing the intent to mark          it is in the transaction of the decision: there    TestDecideStoresEverythingTogether
//	                                    is no such moment
//	committed, mark not written         the intent is on the row: only the mark follows    TestCommittedAndNotMarked
//	mark written, not confirmed         found there, confirmed, left as it is              TestMarkedAndNotConfirmed
//	enqueued beyond the watermark       waits; the reading finds it there                  TestEnqueuedBeyondTheWatermark
//	row gone before its mark            given up at once (MISSING_ROW), not confirmed      TestTheRowIsGoneBeforeItsMark
//	no time of arrival                  overdue by enqueued_at, then tried every round     TestOverdueWithoutATimeOfArrival
//	mark fails for R                    given up (TRANSIENT_DEADLINE), can be reopened     TestAnOutageOfRGivesUpAfterALastAttempt
//	delivered, SENT not stored          still PENDING: may be sent again, readers tell     TestDatabaseAwayAfterSendingConfirmsWithoutSendingAgain
//	                                    by event id and version                            TestOrderHoldsWhateverTheBrokerDoes
//	PostgreSQL restored from a backup   goes on from its watermark and comes to the same;  TestRestoredFromABackup
//	                                    marks are found there, events may be sent again
//
// # One transaction for several messages
//
// Deciding is split into prepare (what the message is, no transaction), commit
// (the store) and conclude (what follows from a commit). A group of consecutive
// heads would prepare each, commit once and conclude each; a group that fails is
// repeated one by one.
package pump
