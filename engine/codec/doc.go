// Package codec turns the bytes of a mailbox message into a message.Message,
// and the fields of a request into bytes, both by the catalogue.
//
// Decoding goes in one direction: bytes, text (charset.go), tree (tree.go),
// envelope (envelope.go), records (flight.go, entry.go, reference.go). The tree
// is made of xmlquery nodes but is built here from the tokens of encoding/xml:
// xmlquery's own parser takes content outside the root element, has no bounds,
// and appends comments in quadratic time.
//
// Invariants
//   - Decode never panics and never hangs; its time is linear in the body.
//   - Its error is always a *codec.Error whose text is safe to store and print.
//   - The same bytes give the same message, whichever machine decodes them.
//   - Values are canonical text (see flight.Fields); nothing passes through a float.
//   - Nothing is fetched or expanded: a DOCTYPE is skipped, an entity that only
//     it declares is a fault.
//
// # Absent, empty, value
//
// An element is empty when it has no text but blanks and no attribute that the
// catalogue names. An entry of a list is empty when none of its parts has a
// value. An element that has content of which nothing could be used (a value
// that on-bad dropped, or children that the catalogue does not name) is neither:
// it counts as absent and is listed in Dropped, so that what we do not
// understand never clears what we know.
//
// # Failures
//
//	what is found                                        becomes
//	broken XML, content outside the root, two roots      MALFORMED
//	bytes that are not valid in their charset            MALFORMED
//	root not MSG, META or a part of it missing           MALFORMED
//	"|" in a part of the identity, SEQN not digits       MALFORMED
//	a value that does not parse, a number out of range   MALFORMED
//	RECS or the key of a reference record not there      MALFORMED
//	text longer than the catalogue allows                CODEC_ERROR
//	a flag outside its list                              CODEC_ERROR
//	a scalar or object that stands twice in one record   CODEC_ERROR
//	an unsupported charset, a limit exceeded             CODEC_ERROR
//	FLID or SODT of a schedule missing or bad            Record.Faults
//	the payload or a subtype's element missing           Message.PayloadMissing
//	elements and attributes without a name in the catalogue  Message.Unknowns
//
// CODEC_ERROR is what a change of the catalogue or of this package may mend;
// MALFORMED is what only the sender can.
package codec
