// Package outbox delivers committed events to one target. A Dispatcher runs per
// target: KAFKA:msg carries every change in order, KAFKA:schd the latest state
// of each flight.
//
// Events are rows that the decision's transaction has committed. A round reads
// what is due, freezes that set of events, sends it in waves, and records what
// the broker answered. No database transaction is open while sending.
//
// # Streams
//
// A backlog is delivered as a stream: while one set of events is on its way, the next is
// read and what landed before is confirmed, so that neither the broker nor the database
// waits for the other. A stream goes on only while each set is full, complete (no event
// up to its end is left out, because none backs off) and lands whole; anything else ends it,
// what was read ahead is forgotten, and the next round looks at everything from the start.
//
// # Lanes
//
// Two events share a lane when they have the same key or tell of the same
// flight. An event waits for every earlier unsent event of its lanes, and for
// nothing else. Within a wave only events of the same key may follow each other,
// because these go to one partition in one request, which the broker stores whole
// or not at all; an event whose flight was announced under another key in the
// same wave waits for the next one.
//
// # Invariants
//
//   - First deliveries of a lane happen in the order of event ids.
//   - An event is confirmed only after all replicas have acknowledged it, and
//     for KAFKA:schd only if the row still holds the event and version that were sent.
//   - Only a refusal of the record itself uses up an attempt. Refused for good, or
//     with the attempts used up, it is DEAD, which frees its lanes; it never takes
//     the rest of its batch with it.
//   - After a send with an unknown outcome nothing is sent in its lanes until the
//     broker's request time-out has passed, so that a request still on its way cannot
//     arrive after a later one. The publisher closes its connections meanwhile.
//   - The lease is checked before each send.
//   - Ending the context never breaks a send off: the wave in flight is finished and
//     recorded, and Run returns.
//
// # Failures
//
//	what fails                         | what happens
//	-----------------------------------|------------------------------------------------------------
//	broker unreachable                 | nothing is counted; back-off; one log line when it goes, one when it is back
//	partition without leader, replicas | its lanes are put off, stored so that they do not fill the
//	  missing, topic missing, no right |   next reading; other lanes go on; no attempt is used up
//	answer lost or timed out           | UNKNOWN: its lanes are quarantined, then sent again (a duplicate is possible)
//	batch refused, culprit unknown     | its records are sent one by one
//	record refused                     | attempt used up, put off by the retry tiers; DEAD when exhausted
//	record refused for good            | DEAD at once
//	database away when confirming      | what landed is remembered and confirmed before anything else is read
//	database away when reading         | back-off; one log line when it goes, one when it is back
//	process ends between send and      | the event is still unsent and is sent again: at least once; readers
//	  confirmation                     |   guard by the headers flid and state_version
//	lease lost                         | Run returns fault.ErrFenced; nothing more is sent
package outbox
