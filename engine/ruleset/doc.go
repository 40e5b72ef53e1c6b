// Package ruleset is the vocabulary of rule sets that change while messages flow:
// what a rule set is made of, when which one was live and how it came to be, what was refused
// and why, what operators ask of the leader, and what a shadow would have decided otherwise.
//
// Two digests are kept apart. The hash of a rule set names what decides: the files in use, the
// catalogue and the settings; every processed message records it. The content of a
// directory (Content) names what lies there, files that nothing uses included; it tells whether
// somebody has changed something since it was last looked at.
package ruleset
