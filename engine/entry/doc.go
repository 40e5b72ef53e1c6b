// Package entry is the HTTP entry that is compatible with the system before us: POST /cminmsgs/send takes a message
// as its body and puts it into the shared mailbox, as any other sender does, and then enqueues it in our own database. These are
// two servers and two steps, never one transaction; the answer says how far it came, and promises no more.
//
//	200 queued       the row has the id that is told, and so has its processing record. It is decided when everything before it was
//	202 accepted     the row has the id that is told; the inbox will enqueue it, as it does rows of other senders
//	400 401 403 413 415 422 refused   nothing was written; the same request will be refused again
//	503 unavailable  nothing was written; to be repeated
//	503 unknown      the mailbox did not answer in time: the row may be there or not; to be repeated
//
// # Invariants
//
//   - The row comes first. Nothing is enqueued that has no row.
//   - The watermark is neither read past nor moved: a record beyond it waits, so order is that of the ids, always. A row that
//     the inbox has passed by meanwhile (it took longer than msgx.pipeline.max-commit-delay) is not enqueued: it is late as any other.
//   - A client that repeats puts a second row into the mailbox. It has the same business identity, so the pump ends it as
//     SKIPPED (duplicate-of), within msgx.identity.memory. A message without a legible envelope has no identity, and is dead each time.
//   - A message that cannot be decoded is taken all the same, as the mailbox takes it from others, and the answer says so.
//   - What has been begun is done to its end within the bounds of the servers, also when the client hangs up.
//
// # Text
//
// Any content type is taken, but for multipart, which would wrap the message. A byte order mark decides about the charset, then the
// content type's charset, then the XML declaration; us-ascii and iso-8859-1 count as none, since clients say so of anything. A character
// column gets the text; a column of bytes gets the body as it came where it says its charset itself, else as UTF-8 with a mark.
//
// # Failures
//
//	the body is too large, empty, or not in its charset   refused, nothing written
//	the mailbox is away                                   503 unknown: a lost reply cannot be told from a lost request
//	the mailbox was never reached                         503 unavailable
//	the mailbox refuses the row                           422, nothing written
//	our database is away, or its commit is in doubt       202 accepted: the inbox enqueues the row, or finds it enqueued
//	this instance stands by, or has lost its lease        202 accepted: the active instance's inbox does
//	the process dies between the steps                    no answer: the row is there, and enqueued by the next inbox
//	the process dies before the answer                    no answer: a client that repeats makes a duplicate, which is skipped
//	too many at once                                      503 unavailable: 4 are in hand, others wait 5 s
//	the inbox is paused, or stopped                       rows and records wait, as those of other senders do
package entry
