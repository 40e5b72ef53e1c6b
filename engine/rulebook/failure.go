package rulebook

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"msgx/engine/rulebook/diagnostic"
)

// fail raises an error with its number. Nothing a script can do catches it.
func (m *machine) fail(l *lua.LState, code diagnostic.Code, format string, args ...any) {
	if m.failed == "" {
		m.failed = code
	}
	l.RaiseError(format, args...)
}

// scriptError takes the text of an error without the machine's stack trace.
func (m *machine) scriptError(err error) error {
	var e *lua.ApiError
	if !errors.As(err, &e) {
		return diagnostic.With(m.codeOf(""), err)
	}
	text := "a script raised something that is not a text"
	if s, ok := e.Object.(lua.LString); ok {
		text = string(s)
	}
	text = strings.TrimSpace(text)
	return diagnostic.With(m.codeOf(text), errors.New(text))
}

// codeOf numbers an error: natives say what theirs is, the machine's own are told by
// their words.
func (m *machine) codeOf(text string) diagnostic.Code {
	switch {
	case m.failed != "":
		return m.failed
	case strings.HasSuffix(text, errInstructions.Error()):
		return diagnostic.Instructions
	case strings.HasSuffix(text, errStrings.Error()):
		return diagnostic.StringBytes
	case strings.Contains(text, "stack overflow"), strings.Contains(text, "registry overflow"):
		return diagnostic.CallDepth
	case strings.Contains(text, "bad argument"):
		return diagnostic.Arguments
	}
	return diagnostic.LuaError
}

// numbered is an error as it is stored: its text ends with its number, so that whoever
// reads it finds the page.
func numbered(code diagnostic.Code, cause error, format string, args ...any) error {
	if c := diagnostic.CodeOf(cause); c != "" {
		code = c
	}
	return diagnostic.With(code, fmt.Errorf("%s [%s]", fmt.Sprintf(format, args...), code))
}
