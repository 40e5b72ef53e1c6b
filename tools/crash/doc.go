// Package crash runs the daemon on real servers while it is killed and its servers are in trouble, and holds what is
// left to what it has to be. It has tests only: "make crash" kills 1,000 times, "make test" 60 times.
//
//	producers ──▶ MariaDB ◀─┐                       ┌─▶ audit --rebuild
//	                        proxies ◀── 3 daemons   │
//	              PostgreSQL◀─┤        killed, again │
//	              Kafka     ◀─┘                     └─▶ the same mailbox, undisturbed: compared row by row
//
// # What happens
//
// Three instances stand by for each other. Every process has an end that is drawn for it: at a fail point (package failpoint names
// them; the program is built with the tag "failpoints") at its n-th pass, or at a moment within 300 ms of beginning to lead or to work.
// Then another one leads. Meanwhile several writers fill the mailbox with a generated day: commits out of order, ids that are given up,
// messages again when a writer cannot know whether they are in. PostgreSQL, MariaDB and the broker are killed and started again,
// frozen, and the ways to them are cut, reset, silenced, slowed, cut in the middle of a message and sliced, one at a time; the disk of
// PostgreSQL is filled where this account may mount a file system, and the output says so where it may not. One COMMIT in 400 breaks
// all along. The rules change to another text from time to time, and to one that is refused.
//
// The same seed draws the same messages, ends and troubles in the same order. When they meet is up to the machine, so
// a failure is repeated by the same seed often, and not surely. A failure prints what was done and when, with the message that
// was the head of the line at that time, so that a message in a finding leads to what was done to it.
//
// What a boundary needs to be reached is made for it while an instance that is to end there leads: commits that break, for resolve;
// connections to the broker that break after a little, for defer-event; a wrong text of the rules, for refuse-rules. A point that an
// instance did not come to within 1.5 s of beginning to work (4 s for the rare ones) is counted as not reached, and the instance
// is killed there and then. Migrations are killed at their points before the run. TestPointsOutsideTheRun goes to the boundaries
// that nothing in a run leads to, commands of operators among them, and looks at what is there before and after each.
//
// # What is held
//
// No daemon ends by itself. At the end one instance works off what is left, within bounds; all promises of "msgx audit"
// hold, with every decision made again; and outcomes, attempts, the order of decisions, flights with their lists, changes,
// events with their payloads and reference data are those of a daemon to which nothing happened, on the same
// mailbox: all columns but the times of writing, the ids of events and the hash of the rule set.
//
// The lease of a process that is known to be dead is taken from it, so that a run does not wait 3 s a kill; one in sixteen
// runs out by itself, and every one while a frozen broker may hold a request of the dead one.
//
// TestMutantsAreFound shows that the harness has teeth: it builds msgx with two things in the wrong order and finds what is lost.
//
// # Seen
//
// README.md has the table of a long run.
package crash
