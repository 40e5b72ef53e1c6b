package simulate_test

// mutant is a deliberate breakage. The simulation has to find each of them, or it proves nothing.
type mutant string

const (
	sound mutant = ""

	youngHole       mutant = "the watermark passes a young hole"
	wideStride      mutant = "gaps that are holes are taken for strides"
	tornRead        mutant = "a read that broke off is taken for complete"
	cursorAlone     mutant = "the cursor moves without the rows that it stands for"
	seedAlone       mutant = "a seed does not note what is missing below it"
	noFence         mutant = "the fencing check is dropped"
	impatientClaim  mutant = "a takeover does not wait for open transactions"
	longTrust       mutant = "an instance trusts its lease for longer than the others wait"
	failedIsPassed  mutant = "a message that waits for its next attempt is overtaken"
	blindRepeat     mutant = "a commit in doubt is repeated, and no state is asked for"
	countedTwice    mutant = "a failure is counted twice"
	identityUnbound mutant = "who holds an identity is not looked up"
	looseMark       mutant = "marks are written for messages that are not finished"
	falseMark       mutant = "a mark that failed is taken for written"
	forgottenBatch  mutant = "the outbox forgets what landed when it cannot record it"
	lanesIgnored    mutant = "an event overtakes an earlier one of its lane"
	noQuarantine    mutant = "nothing waits for a send with an unknown outcome"
	lostIsLanded    mutant = "a lost acknowledgement is taken for one"
	staleConfirm    mutant = "a confirmation does not look at the version"
	halfCommit      mutant = "the terminal state commits without the effects"
)

// near is where the search for a mutant begins that few schedules find, so that tests end soon; the others begin at 1.
var near = map[mutant]uint64{youngHole: 470, tornRead: 90, noFence: 60, impatientClaim: 290, longTrust: 60, forgottenBatch: 100,
	noQuarantine: 75, lostIsLanded: 45, staleConfirm: 70}

// mutants are all of them.
var mutants = []mutant{youngHole, wideStride, tornRead, cursorAlone, seedAlone, noFence, impatientClaim, longTrust, failedIsPassed, blindRepeat, countedTwice,
	identityUnbound, looseMark, falseMark, forgottenBatch, lanesIgnored, noQuarantine, lostIsLanded, staleConfirm, halfCommit}
