// Package fault names the conditions of the infrastructure that stages act
// on. Adapters wrap their errors around these; stages ask with errors.Is and never
// look at a driver's own error types.
package fault

import "errors"

var (
	// ErrUnavailable means that a server cannot be reached or does not take
	// part at all (connection refused or lost, starting up, read-only). It is nobody's
	// fault but the infrastructure's: it uses up no attempt, the stage waits.
	ErrUnavailable = errors.New("server unavailable")

	// ErrFenced means that another instance holds a newer lease epoch: nothing
	// was written and nothing may be written any more by this one.
	ErrFenced = errors.New("lease lost: another instance is active")

	// ErrCommitInDoubt means that the reply to COMMIT was lost: the transaction
	// may or may not have committed. It is resolved by reading, never by repeating.
	ErrCommitInDoubt = errors.New("commit in doubt")

	// ErrMoved means that a row is no longer in the state the caller acted on
	// (not the head, not PENDING or FAILED, a newer version); nothing was written.
	ErrMoved = errors.New("row has moved on")

	// ErrNotFound means that there is no such row.
	ErrNotFound = errors.New("not found")

	// ErrRefused means that a condition of the operation does not hold; the
	// text says which. Nothing was written.
	ErrRefused = errors.New("refused")
)
