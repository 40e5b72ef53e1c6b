// Package feed makes the messages of an airport day, the same bytes for the
// same seed, and knows what has to become of each.
//
// A day begins with reference data and a morning schedule; then every flight has
// its operations in a believable order: stands, counters, gates, belts and chutes,
// estimates and delays, boarding, off-block, take-off or landing. Some flights are
// cancelled, diverted, returned, deleted, added late, or brought back by a second
// schedule. A few messages are bad, of every class. While it writes, the
// generator keeps a small model of the flights (which exist, which are deleted, whose
// code share is whose), so that the expected outcome of every message is known.
//
// Messages can be written to a folder, one file each in the declared encoding, or
// inserted into a mailbox table as its writers would do it: several at once, commits
// out of order, and ids that never become visible.
package feed
