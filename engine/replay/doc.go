// Package replay is what an operator does with messages that have not gone well: it says what a
// message would do if it were decided now, and sends it through again. It runs no stage; a command calls it, beside
// the daemon or without one.
//
// # What a replay is
//
// A DEAD or FAILED message becomes PENDING again, without its past failures and with the identity that it has bound.
// Its id is smaller than those of the messages that wait, so it is the head at once and is decided
// before all of them, but after later messages that have been decided meanwhile. That is the one exception to the order of
// the mailbox, and it is recorded (operator_log: out_of_order, decided_up_to).
// What it does is decided over the flights of today; the past does not come back. So a plan comes first: for each message
// what it would change now, and which later messages have touched the same flights.
//
// # Invariants
//
//   - A plan changes nothing. It is made over the flights as they are, message after message in the order of their ids,
//     each seeing what those before it would have done.
//   - Only messages in one of the allowed classes are sent through, and only while they are DEAD or FAILED: the
//     store asks again, with the row locked.
//   - A message whose body is nowhere any more is left out: it would die as MALFORMED and its class would be lost.
//   - The back-fill's columns are left alone. A mark that is confirmed is not owed again; one that was given up stays so.
//   - Back-fill, replay and archiving never work on a message at once, on whatever instance: each holds the row.
//
// # What a plan says of a message
//
//	CHANGE      it would change flights or reference data, and nobody has touched those flights since
//	SUPERSEDED  it would change flights that later messages have touched: older values may come over newer ones
//	NOTHING     it would change nothing, or be skipped (and why)
//	FAILS       it would fail again (and why)
//
// # Failures
//
//	mailbox away or not configured    our own copies are read; a message without one is left out, with the reason
//	our database away                 the error, nothing is changed
//	a row is held for too long        fault.ErrUnavailable: somebody decides or marks it just now, try again
//	a message has moved on meanwhile  it is left out, with the reason; the others are sent through
package replay
