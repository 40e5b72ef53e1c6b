// Package play serves a page on which rules are edited: beside the script stand an input and
// what the rules make of it, which is worked out anew with every pause in typing.
//
// What is shown comes from the same as everything else: rulebook.LoadTraced for decisions and
// how they came about, lint.Check for findings, package golden for cases. The text of the
// editor is put over the rule set in memory (draft.go); only a save writes.
//
// # The page
//
// GET / is rendered here; its scripts and styles are in the binary and are modules without a build
// step (assets/page), the editor is CodeMirror (assets/codemirror, see its README). All
// texts of the page are in assets/page/words.json. Whatever comes from a script, a message or a state
// is set as text, never as markup.
//
// # The interface
//
// Everything is below the token of the address: GET /TOKEN/api/file and so on. A POST carries
// JSON of at most 4 MB. Errors are {"error": "what was found, what was expected, what to do"}.
//
//	GET  api/lists               what there is to open                        Lists
//	GET  api/file?name=          a file of the rule set and its digest        File
//	GET  api/case?name=          a golden case, taken apart                   Case
//	POST api/evaluate            what the rules make of an input              Question, Answer
//	POST api/corpus              the same of the corpus, and coverage         CorpusQuestion, CorpusAnswer
//	POST api/file                puts a text in the place of a file           Save, Saved
//	POST api/version             files a text as the next version             Version, Saved
//	POST api/compose             the text of a case made from an input        NewCase, Composed
//	POST api/case                the same, filed in the golden directory      NewCase, Composed
//
// # Who may
//
//   - It listens on loopback, unless the flags say otherwise.
//   - The token is the first part of every path, new with every start, compared in constant time. It is
//     no cookie: cookies go to every port of a host, and are sent along by other pages.
//   - A request that names us by a name that is not ours is refused: DNS rebinding.
//   - A write from a page of somebody else is refused, by Sec-Fetch-Site and Origin, and by the type
//     of its body.
//   - The policy of the page lets run what carries the nonce of this answer, and load from here only.
//   - Only paths of a rule set are read or written: no ".." leads out. A link is read as the loader of rule
//     sets reads it, wherever it leads; a save refuses a link. A new version is filed as msgx rules new files it.
//
// # What can go wrong
//
//	the file changed on disk since it was opened   409 with its digest; nothing is written
//	a crash in the middle of a save                the file is as before; a .NAME.saving stays, which nobody reads
//	the rule set is that of the binary             403, and what flag to give
//	a script that does not end                     its instruction budget ends it, as in production
//	a newer run while one is under way             the page gives up the older; one at a time runs, the others wait 60 s at most
//	a script or a state that is broken             200 with what is wrong; the page keeps the last result, marked stale
//	Ctrl-C                                         what runs is told to end and waited for, 5 s at most
package play
