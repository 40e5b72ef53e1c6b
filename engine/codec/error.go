package codec

import (
	"fmt"

	"msgx/engine/message"
)

const (
	maxValue = 64  // characters of a value that an error shows
	maxText  = 300 // characters of an error's text
)

// Error says what is wrong with a message: where, what was found, what was expected.
type Error struct {
	Class message.ErrorClass // MALFORMED or CODEC_ERROR
	Kind  string             // of the message, once its envelope was read, else ""
	Path  string             // /MSG/SCHD/FLTR[3]/SODT
	Value string             // what was found, safe and cut; "" when nothing was there
	Want  string
}

// Error is safe to store and print whatever the message held.
func (e *Error) Error() string {
	found := "found nothing"
	if e.Value != "" {
		found = fmt.Sprintf("found %q", e.Value)
	}
	return message.SafeText(fmt.Sprintf("%s: %s, expected %s", e.Path, found, e.Want), maxText)
}

// ErrorClass lets a caller learn the class without importing this package.
func (e *Error) ErrorClass() message.ErrorClass { return e.Class }

// MessageKind is the kind of a message whose envelope could be read, else "".
func (e *Error) MessageKind() string { return e.Kind }

func newError(class message.ErrorClass, path, value, want string) *Error {
	return &Error{Class: class, Path: message.SafeText(path, 160), Value: message.SafeText(value, maxValue), Want: want}
}

func malformed(path, value, want string) *Error {
	return newError(message.Malformed, path, value, want)
}

func unable(path, value, want string) *Error {
	return newError(message.CodecError, path, value, want)
}
