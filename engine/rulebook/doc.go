// Package rulebook is the Lua host: it loads a rule set, proves it harmless,
// and lets it decide what a message does. A rule set is the manifest
// handlers.lua, the scripts of rules/ and the libraries of rules/lib/.
//
// A script is a pure function of (view, msg). What makes it one:
//
//   - There is one sandbox, built from an allow-list (sandbox.go). A name that is
//     not on the list is a fault of the file, found when the rule set is loaded.
//   - Every source passes through the rewriter (rewrite.go) before it is compiled. It
//     refuses to assign to globals and to variables of an enclosing function, and turns each
//     write to a table into a checked call. So nothing a script holds between two calls
//     can change: modules are frozen when they are loaded, and closures cannot keep state.
//   - view and msg are frozen tables: a write to them fails at its line.
//   - Tables are walked in key order, so that Go's map order reaches neither a
//     script nor a decision.
//   - The virtual machine asks for leave before each instruction (meter.go); the
//     count is exact and repeatable, grows with the number of records, and cannot be caught,
//     since there is no pcall. What a single native call may cost is charged to the
//     same meter, and the bytes of strings to another.
//   - A decision is converted back type-exactly by the catalogue (decision.go); an
//     unknown key, a wrong type or a tag outside the script's footprint is an error
//     that names its place.
//
// What can go wrong, and what comes of it:
//
//	a fault in the files       Load returns every fault found, each with its place; no rulebook
//	a script raises an error   Decide returns it with file and line; the machine is thrown away
//	a budget is used up        likewise
//	a decision is not right    likewise, naming the place inside the decision
//	a kind without a script    Script reports false, Decide returns an error
//
// Each of these carries a number of package diagnostic, in brackets at the end of its text, under
// which rules/DIAGNOSTICS.md explains it. What files declare is read by package declaration, and
// package lint finds most of it beforehand.
//
// A machine that has seen an error is never used again: the next call gets a
// new one, built from the compiled files.
//
// Whoever wants to know how a decision came about loads the rule set with LoadTraced: the
// decision and its cost still come from the plain machine, and an instrumented twin
// (instrument.go), in the same sandbox, is asked the same and reports what ran, which way
// each branch went, and what was read (record.go, trace.go).
//
// Old versions of a script stay in the files. Settings.Bound lets one decide again, in the place of
// the version that the manifest picks (bound.go); the corpus holds old versions that way.
//
// Beside it stand coverage, which adds up traces over many cases, and mutate, which breaks scripts
// on purpose. A Cache makes loading many rule sets that differ in one file quick.
//
// A Rulebook is safe for one caller at a time; several can live side by side.
package rulebook
