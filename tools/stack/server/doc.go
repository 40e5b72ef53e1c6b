// Package server starts and stops one private development server: PostgreSQL,
// MariaDB or Apache Kafka, on a free loopback port, with a folder of its own.
//
// A server is a process in its own session. It is known by its Record: process
// id, start time of that process and boot of the machine. All three have to
// match before anything is signalled, so that a number that was given to
// another process since then never costs that process its life.
//
// As root the servers run as an unprivileged account, because PostgreSQL
// refuses anything else; as an ordinary user they run as that user.
//
//	what can go wrong            what happens
//	-------------------------    ----------------------------------------------------
//	chosen port taken meanwhile  start fails at once, another port is tried
//	start ends early             error with the last lines of the server's log
//	starter killed while         the server carries a mark in its environment; the
//	starting                     next start in the same folder finds and ends it
//	server killed                the next start recovers from its data folder; if
//	                             that fails, shared.Up starts with an empty one
//	folder unreachable for the   error that names the folder and MSGX_STACK_DIR
//	unprivileged account
//
// Linux only: it reads /proc.
package server
