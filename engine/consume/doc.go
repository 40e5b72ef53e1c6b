// Package consume reads what msgx tells Kafka as a consumer has to: deliveries come at least once, and a repeat can come
// after newer versions. schemas/EVENTS.md is the contract.
//
//   - Understand reads a record; what is not ours, or of a later schema version, is an error and no reason to stop.
//   - Feed tells of each record of KAFKA:msg whether it is new, a repeat, or late, and how many versions are missing.
//   - Latest keeps the latest state of each flight from the records of KAFKA:schd.
//   - Follower follows a topic from a position that its owner keeps, over outages of the brokers.
//
// The first three are pure. Their memory is bounded: each says what it forgets, and what that means.
//
// What can go wrong, and what is done:
//
//	a record comes again, at once or late        Feed: REPEAT; Latest: left out
//	versions are missing                         Feed tells how many; one that comes yet is LATE
//	a deletion comes before an older state       Latest keeps the version of the deletion
//	a deleted flight comes back                  its versions go on: the revival is above the deletion
//	a record of somebody else, a later schema    Understand says what is not as expected
//	brokers away, leaders moving                 Follower backs off and goes on where it was
//	retention was faster                         the reader goes on with the first that is there; Feed tells the gap
//	whoever is told fails                        Run ends with that error; the record is told again from the kept position
package consume
