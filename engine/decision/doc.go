// Package decision is the vocabulary of what a rule decides, and the pure
// logic that turns a decision into next states, history and events.
//
// Apply is the one place where a flight changes. It takes values and returns
// values: no clock, no I/O, no randomness, and nothing of its input is altered.
//
// What it holds to:
//
//   - A flight advances at most once per message, by exactly one version, with one
//     entry of history, one KAFKA:msg and one KAFKA:schd event. A flight left equal
//     is not touched at all.
//   - A script changes only tags of its footprint, only flights that the message
//     names, and only by the operations of its family: a schedule creates, updates and
//     revives, an operation updates, a deletion deletes.
//   - The operation day comes from a schedule's SODT and never changes once set.
//   - MAFL of a master equals its active children at every version. It is derived
//     here, once, after everything else.
//   - Deleting a master deletes its direct active children with it.
//
// How it fails:
//
//	what                                    error            becomes
//	decision breaks a rule of the house     plain            FAILED(RULE_ERROR), nothing is written
//	SODT gives another operation day        *ProtocolError   DEAD(PROTOCOL), nothing is written
//
// Masters and chains. A master is an active flight whose MAID is empty. A child
// counts for the flight its MAID names if that one is a master; under a deleted, unknown,
// chained (itself a child) or self-referring one it counts for nobody and announces
// itself. One level is all there is: deleting a chained flight leaves its own
// followers alone, and a flight that gets a MAID loses its MAFL without its children changing.
//
// The view must hold, besides the flights that the message names, their masters
// (by the state's MAID and by the message's) and every flight whose MAID is one
// of all these, deleted ones included. Needs says which those are.
package decision
