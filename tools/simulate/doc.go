// Package simulate runs the real stages (inbox, pump, back-fill, both dispatchers of the outbox, and the lease that
// elects between two instances) on a mailbox, a database and a broker in memory, on schedules drawn at random, and
// holds what happens against a slow and obvious model.
//
// It has tests only: "make simulate" runs as many schedules as time allows, "make test" a bounded number. Measured: 50,000
// to 59,000 schedules of 310 calls a minute on one processor, which is all that one process uses; "make simulate" runs one for each processor.
// TestMutantsAreFound shows that it has teeth: it breaks the fakes and the wiring on purpose, in the ways that mutants lists.
//
//	         draws every choice from a tape
//	┌───────────┐  lets one call go on   ┌─────────────────────────────┐      ┌──────────────────┐
//	│ scheduler │ ─────────────────────▶ │ stages of one, two instances│ ───▶ │ mailbox, database│ ──▶ witness: at each write
//	│           │ ◀───────────────────── │ (everybody waits in a call  │      │ broker           │ ──▶ model: at the end
//	└───────────┘  all are waiting again │  or for the clock)          │      └──────────────────┘
//
// # Schedules
//
// Every call that leaves a stage waits until the scheduler lets it go on, one at a time, in a bubble of
// testing/synctest where time passes only when nobody works. What can happen to a call: it goes through; the server is
// away; it takes effect and its reply is lost; it does not, and the reply is lost too; it takes effect later, or never,
// while the caller is told that nobody knows; it takes long. What can happen to an instance: killed in any call (what is under
// way takes effect or not), stopped, cut off from everything for a while. What the owner of the mailbox
// does: commits late and out of order, rolls back, counts in strides, breaks the promised delay, removes marked rows
// and, carelessly, others.
//
// Each choice comes from a tape. A tape that has ended gives zeros, and zero is always harmless, so every
// schedule comes to rest. A schedule that breaks a promise is shrunk by leaving out and zeroing parts of
// its tape, and printed with its seed and what happened, call by call.
//
// # What is held
//
// At each write, by the witness: the watermark passes no row that is there or may come within the promise; messages
// finish in the order of their ids, each once and only at or below the watermark; no write under an old lease
// epoch; no send begun by an instance that does not lead; a mark only for a finished message and over an empty one; a
// lane's events first land in the order of their ids, and a later landing of an earlier event comes from an earlier
// instance only; versions of a flight advance by one.
//
// At the end, by the model: every row has the outcome, the number of attempts, the versions and the mark that it would
// have had alone in the world; every id up to the watermark is enqueued, in a released hole, or within the
// stride; a row that came too late is on record; every event is delivered or refused for good; the latest state in the topic is that of the database;
// nothing is left undone.
//
// # What is not in it
//
// SQL, drivers, wire formats and rules are not: the fakes state what the adapters promise, and the adapters' own tests hold
// real servers to that. A process that stands still together with its clock is not either.
package simulate
