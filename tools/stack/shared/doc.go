// Package shared keeps the one development stack that a user has on a machine,
// for all checkouts and all test processes at once.
//
// Everything is below one folder: MSGX_STACK_DIR, else msgx-stack-UID in the
// folder for temporary files.
//
//	lock        held exclusively while the stack is changed
//	users       held shared by everyone who uses the stack
//	stack.json  which servers run: process, port, address; replaced atomically
//	postgres/ mariadb/ kafka/   a server's data, configuration and log
//	unpacked/ jars-*/           programs that the machine lacked
//
// Rules
//
//   - Up starts only what does not run. A server that was killed comes up again
//     with its data, or with an empty folder if the data cannot be recovered.
//   - Down ends exactly the processes that stack.json names, after comparing
//     their start times, and removes their data.
//   - A command under Run that found no stack ends the one that it started,
//     unless somebody else uses it by then: then the last Run ends it.
//   - Locks are held by open files. A process that is killed lets go of them.
package shared
