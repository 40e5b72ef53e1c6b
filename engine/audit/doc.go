// Package audit compares what the mailbox, our own database and the broker hold,
// and says of each invariant of the system whether the data keep it.
//
// # What is compared
//
//	mailbox and records    every id up to the watermark is enqueued, a released hole, or below the seed; marks
//	decisions              numbers without a gap, in the order of ids but for late rows and replays on record
//	flights and history    versions without a gap; the state is what history comes to; MAFL at every version
//	history and outbox     one KAFKA:msg event for each version, one latest state for each flight
//	outbox and topics      every acknowledged event is there; first deliveries in order; the last state of each key
//	messages and state     a rebuild: the decisions made again, in their order, under the rule sets on record
//
// # How
//
// Our database is read in one snapshot, by ascending keys, a page at a time, and merged
// with pages of the mailbox. The mailbox is read after it and the topics after that, so that
// work going on meanwhile does not look like a fault: what was not yet so in the snapshot is looked at
// afresh before it is called broken. In memory are a page of each, and for the topics one bit
// for each sent event, one hash for each flight and the last version of each flight and partition. A
// rebuild keeps all flights.
//
// # Verdicts
//
//	held             compared, and nothing found
//	broken           with each difference: its place, what was found, what was expected
//	not comparable   the data do not tell, or are gone, and why
//
// What retention may have removed is not called broken: a Line's limits say from when on it
// was compared. A finding that follows from another is not suppressed in general, but one loss is told once
// where the data make clear that it is one.
package audit
