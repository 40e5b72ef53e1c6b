package diagnostic

// The codes, by family.
const (
	Syntax         Code = "MX001"
	UnexpectedFile Code = "MX002"
	Unreadable     Code = "MX003"
	NoLibrary      Code = "MX004"
	LibraryCircle  Code = "MX005"
	FailsLoading   Code = "MX006"

	ManifestShape   Code = "MX010"
	NotAScript      Code = "MX011"
	ManifestKind    Code = "MX012"
	Contradiction   Code = "MX013"
	NoScript        Code = "MX014"
	Unhandled       Code = "MX015"
	NeverApplies    Code = "MX016"
	ServesOtherKind Code = "MX017"

	GlobalWrite   Code = "MX101"
	OuterWrite    Code = "MX102"
	UnknownName   Code = "MX103"
	RequireForm   Code = "MX104"
	InputWrite    Code = "MX105"
	UnknownNative Code = "MX106"
	NextLoop      Code = "MX107"
	Comparison    Code = "MX108"
	ModuleWrite   Code = "MX109"
	UnknownMember Code = "MX110"

	UndeclaredTag  Code = "MX201"
	UnwrittenTag   Code = "MX202"
	UndeclaredOp   Code = "MX203"
	UnusedOp       Code = "MX204"
	UndeclaredRead Code = "MX205"
	UnusedRead     Code = "MX206"

	UnknownTag       Code = "MX301"
	UnknownField     Code = "MX302"
	UnknownKind      Code = "MX303"
	UnknownReference Code = "MX304"
	WrongSection     Code = "MX305"
	UnknownKey       Code = "MX306"
	NotCarried       Code = "MX307"

	ScriptShape     Code = "MX401"
	UnknownHeader   Code = "MX402"
	UnknownDecision Code = "MX403"
	DecisionShape   Code = "MX404"
	NoDecision      Code = "MX405"
	WrongLiteral    Code = "MX406"

	UnusedLocal     Code = "MX501"
	UnusedParameter Code = "MX502"
	Unreachable     Code = "MX503"
	Shadowing       Code = "MX504"
	Constant        Code = "MX505"
	EmptyText       Code = "MX506"
	NeverClear      Code = "MX507"
	IdentifierSum   Code = "MX508"
	DuplicateKey    Code = "MX509"
	EmptyBranch     Code = "MX510"
	WrongType       Code = "MX511"
	NotAFlag        Code = "MX512"

	Instructions   Code = "MX601"
	StringBytes    Code = "MX602"
	CallDepth      Code = "MX603"
	LuaError       Code = "MX604"
	Raised         Code = "MX605"
	ReadOnly       Code = "MX606"
	Position       Code = "MX607"
	NotExact       Code = "MX608"
	Arguments      Code = "MX609"
	DecisionForm   Code = "MX620"
	DecisionTag    Code = "MX621"
	DecisionPlace  Code = "MX622"
	OutOfFootprint Code = "MX623"
	DecisionValue  Code = "MX624"
	DecisionTwice  Code = "MX625"
	NoHandler      Code = "MX630"
	BrokenHost     Code = "MX640"
	Refused        Code = "MX641"
)

var kinds = []Kind{
	{Code: Syntax, Title: "the file does not parse", Cause: "this is not Lua 5.1", Fix: "mend the syntax at this place, or just before it"},
	{Code: UnexpectedFile, Title: "a file that does not belong here", Cause: "a file with a wrong name would silently not be used", Fix: "name scripts NAME@VERSION.lua, put libraries into rules/lib, and keep other files elsewhere"},
	{Code: Unreadable, Title: "the file cannot be read", Cause: "a rule set is loaded whole or not at all", Fix: "put the file there, readable, with at most 256 KB"},
	{Code: NoLibrary, Title: "there is no such library", Cause: "require reaches rules/lib and the built-in flight only", Fix: "write the name of a library, or add the file"},
	{Code: LibraryCircle, Title: "libraries that require each other", Cause: "none of them could be loaded first", Fix: "move what both need into a third library"},
	{Code: FailsLoading, Title: "the file fails when it is loaded", Cause: "the part outside of decide runs once, when the rule set is loaded", Fix: "mend what the error names"},

	{Code: ManifestShape, Title: "handlers.lua has the wrong shape", Cause: "the manifest returns one table: kind to script, with defaults and unsupported", Fix: `return { ["FLOP-GTDT"] = "flop-gtdt@1", defaults = { ["REF-*"] = "ref@1" }, unsupported = {} }`},
	{Code: NotAScript, Title: "not a script at a version", Cause: "a kind is handled by one version of a script", Fix: `write the name and the version, such as "flop-gtdt@1"`},
	{Code: ManifestKind, Title: "handlers.lua names an unknown kind", Cause: "no message is of a kind that the catalogue does not have", Fix: "write a kind of the catalogue"},
	{Code: Contradiction, Title: "a kind that is both handled and unsupported", Cause: "only one of the two can be meant", Fix: "take it out of one of them"},
	{Code: NoScript, Title: "there is no such script", Cause: "handlers.lua names a script whose file is not there", Fix: "name a script and version that is in rules/"},
	{Code: Unhandled, Title: "a kind without a script", Cause: "every kind of the catalogue is handled or listed as unsupported", Fix: "name a script for it, or list it under unsupported"},
	{Code: NeverApplies, Title: "a pattern that never applies", Cause: "every kind that it covers is handled by an entry of its own or by a longer pattern", Fix: "take it out"},
	{Code: ServesOtherKind, Title: "a script that does not serve this kind", Cause: "a script handles only what its kind or kinds say", Fix: "name another script, or add the kind to the script"},

	{Code: GlobalWrite, Title: "writing to a global", Cause: "a global would carry state from one message to the next", Fix: "make it a local variable"},
	{Code: OuterWrite, Title: "writing to a variable of an enclosing function", Cause: "such a variable would outlive the call and carry state from one message to the next", Fix: "return the value, or keep it in a table made inside the function"},
	{Code: UnknownName, Title: "a name that a rule does not have", Cause: "a rule may use its own locals and what the sandbox lists, nothing else", Fix: "use what the sandbox has"},
	{Code: RequireForm, Title: "require in another form", Cause: "the files of a rule set are known before it runs", Fix: `write require("merge") with the name as it stands`},
	{Code: InputWrite, Title: "writing to view or msg", Cause: "what a rule is given is read-only: the write fails the message", Fix: "build a new table and return it in the decision"},
	{Code: UnknownNative, Title: "a function that the sandbox does not have", Cause: "the call fails every message that reaches it", Fix: "use what the sandbox has"},
	{Code: NextLoop, Title: "a loop over next", Cause: "next sorts the whole table at every step, and an empty table ends it differently", Fix: "write: for key, value in pairs(t) do"},
	{Code: Comparison, Title: "a comparison that is not an order", Cause: "table.sort wants a < b: with <=, >= or a constant, equal entries change places", Fix: "compare with < or >"},
	{Code: ModuleWrite, Title: "writing to a table of the file", Cause: "everything that a file holds is read-only once it is loaded: the write fails the message", Fix: "make the table inside the function"},
	{Code: UnknownMember, Title: "the library has no such function", Cause: "a name that a library does not have is nil", Fix: "write a name that the library has"},

	{Code: UndeclaredTag, Title: "a tag outside of writes", Cause: "the host refuses a decision that writes what the script does not declare", Fix: "add the tag to writes, or do not write it"},
	{Code: UnwrittenTag, Title: "a tag in writes that nothing writes", Cause: "a footprint that is too wide proves too little", Fix: "take the tag out of writes, or write it"},
	{Code: UndeclaredOp, Title: "an operation outside of ops", Cause: "the host refuses an operation that the script does not declare; without ops that is all but update", Fix: "add the operation to ops"},
	{Code: UnusedOp, Title: "an operation in ops that nothing does", Cause: "a footprint that is too wide proves too little", Fix: "take the operation out of ops"},
	{Code: UndeclaredRead, Title: "reference data outside of reads", Cause: "view.refs has only the types that the script declares; the rest is nil", Fix: "add the type to reads"},
	{Code: UnusedRead, Title: "reads without a look at view.refs", Cause: "reference data is loaded for every message of the kind", Fix: "take the type out of reads"},

	{Code: UnknownTag, Title: "an unknown tag", Cause: "the catalogue has no such tag of a flight", Fix: "write a tag of the catalogue"},
	{Code: UnknownField, Title: "an unknown field", Cause: "what is not in the catalogue is always nil", Fix: "write a field that is there"},
	{Code: UnknownKind, Title: "an unknown kind", Cause: "no message is of a kind that the catalogue does not have", Fix: "write a kind of the catalogue"},
	{Code: UnknownReference, Title: "an unknown type of reference data", Cause: "the catalogue has no such type", Fix: "write a type of the catalogue"},
	{Code: WrongSection, Title: "a mode or section for another shape", Cause: "scalars and objects are set and cleared, lists are replaced as a whole", Fix: "use what fits the shape of the tag"},
	{Code: UnknownKey, Title: "a key that the list does not have", Cause: "a record that lacks a key element has no key: it is always appended", Fix: "write an element of the list"},
	{Code: NotCarried, Title: "an element that the kind does not carry", Cause: "it is nil in every message that the script handles", Fix: "read an element of the kind, or the flight of the view"},

	{Code: ScriptShape, Title: "the script has the wrong shape", Cause: "a script returns one table with kind or kinds, writes and decide", Fix: "give the script what is missing, in the right type"},
	{Code: UnknownHeader, Title: "an unknown key of a script", Cause: "what the host does not know has no effect", Fix: "write kind, kinds, writes, ops, reads or decide"},
	{Code: UnknownDecision, Title: "an unknown key of a decision", Cause: "the host refuses a decision with a key that it does not know", Fix: "write a key that a decision has"},
	{Code: DecisionShape, Title: "a decision of the wrong shape", Cause: "the host refuses it, and the message fails", Fix: "give the decision the shape that rules/README.md shows"},
	{Code: NoDecision, Title: "decide returns nothing on some path", Cause: "nil is not a decision: the message fails", Fix: "return {} when nothing is to change"},
	{Code: WrongLiteral, Title: "a value of the wrong type", Cause: "the host refuses a value that is not of the field's type", Fix: "write a value of the field's type"},

	{Code: UnusedLocal, Title: "an unused local", Cause: "nothing reads it", Fix: "take it out, or name it _"},
	{Code: UnusedParameter, Title: "an unused parameter", Cause: "nothing reads it", Fix: "take it out, or begin its name with _"},
	{Code: Unreachable, Title: "code that never runs", Cause: "every path before it has ended", Fix: "take it out"},
	{Code: Shadowing, Title: "a name that hides another", Cause: "the outer one cannot be reached here, and readers mix them up", Fix: "choose another name"},
	{Code: Constant, Title: "a condition that is always the same", Cause: "one of the two ways is never taken", Fix: "write the condition that was meant, or take it out"},
	{Code: EmptyText, Title: "a comparison with the empty text", Cause: "a value is never \"\": an empty element is CLEAR, an absent one nil", Fix: "compare with CLEAR or with nil"},
	{Code: NeverClear, Title: "a comparison with CLEAR that never holds", Cause: "CLEAR stands only for an element of a record of msg that was there and empty", Fix: "compare with nil"},
	{Code: IdentifierSum, Title: "a number made of an identifier", Cause: "identifiers and decimals are texts, because a number would not be exact", Fix: "compare and keep it as the text that it is"},
	{Code: DuplicateKey, Title: "a key that stands twice", Cause: "the last one wins, the first has no effect", Fix: "take one of them out"},
	{Code: EmptyBranch, Title: "an empty branch", Cause: "it does nothing", Fix: "take it out, or turn the condition round"},
	{Code: WrongType, Title: "a comparison of different types", Cause: "a text never equals a number", Fix: "compare with a value of the field's type"},
	{Code: NotAFlag, Title: "a value that the field never has", Cause: "the field has one of its listed values, or none", Fix: "compare with one of the listed values"},

	{Code: Instructions, Run: true, Title: "the instruction budget is used up", Cause: "a loop without an end, or far too much work for the size of the message", Fix: "bound the loop"},
	{Code: StringBytes, Run: true, Title: "the string budget is used up", Cause: "the rule builds too much text", Fix: "collect parts in a table and join them once"},
	{Code: CallDepth, Run: true, Title: "too many nested calls", Cause: "a function calls itself without an end", Fix: "write a loop"},
	{Code: LuaError, Run: true, Title: "an operation on a value that does not allow it", Cause: "most often something was nil that the rule took for granted", Fix: "ask first: if x then"},
	{Code: Raised, Run: true, Title: "the rule raised an error", Cause: "it called error, or an assert did not hold", Fix: "see the rule; to refuse a message for good, return { reject = … }"},
	{Code: ReadOnly, Run: true, Title: "a write to a read-only table", Cause: "view, msg and everything that a file holds are read-only", Fix: "build a new table"},
	{Code: Position, Run: true, Title: "a key that a table cannot have", Cause: "a table is a list without holes or a map keyed by strings", Fix: "append with t[#t + 1], or use tostring for the key"},
	{Code: NotExact, Run: true, Title: "a number that is not exact", Cause: "floats are exact up to 2^53, and NaN has no text", Fix: "keep identifiers and decimals as texts"},
	{Code: Arguments, Run: true, Title: "a function of the sandbox with wrong arguments", Cause: "it got a value of another type, or a position outside of the list", Fix: "give it what rules/README.md says"},
	{Code: DecisionForm, Run: true, Title: "a decision of the wrong form", Cause: "a key or a type that a decision does not have", Fix: "give the decision the shape that rules/README.md shows"},
	{Code: DecisionTag, Run: true, Title: "a decision with an unknown tag", Cause: "the catalogue has no such tag", Fix: "write a tag of the catalogue"},
	{Code: DecisionPlace, Run: true, Title: "a tag in the wrong section of a decision", Cause: "scalars and objects stand under set and clear, lists under lists", Fix: "move it"},
	{Code: OutOfFootprint, Run: true, Title: "a decision outside of the footprint", Cause: "the script does not declare what it does", Fix: "widen writes or ops, or do not do it"},
	{Code: DecisionValue, Run: true, Title: "a decision with a value of the wrong type", Cause: "the catalogue says of which type a field is", Fix: "give the value its type: identifiers and decimals are texts, integers are numbers"},
	{Code: DecisionTwice, Run: true, Title: "a decision that says something twice", Cause: "each flight has one entry, each tag one fate", Fix: "fold it into one"},
	{Code: NoHandler, Run: true, Title: "no script handles the kind", Cause: "handlers.lua lists it as unsupported", Fix: "name a script for it"},
	{Code: BrokenHost, Run: true, Title: "the host is broken", Cause: "what the host was given contradicts the catalogue", Fix: "report it, with the message"},
	{Code: Refused, Run: true, Title: "a decision that the flights do not allow", Cause: "a flight that is there is not created, one that is not there is not updated, and only flights that the message names are changed", Fix: "ask view.flights before deciding"},
}
