// Package tree parses Lua into a tree that knows which bytes of the source each part takes, so
// that a source can be changed in place. The compiler's own tree (gopher-lua/ast) knows lines only.
package tree

import (
	"fmt"
	"strings"
)

// TokenKind is what a token is.
type TokenKind int

// The kinds of tokens. End stands once, at the end of the source.
const (
	NameToken TokenKind = iota
	KeywordToken
	NumberToken
	StringToken
	SymbolToken
	EndToken
)

// Token is a word of the source with the bytes that it takes.
type Token struct {
	Kind         TokenKind
	Text         string // as it stands in the source
	Start, End   int    // bytes
	Line, Column int    // from 1; columns count bytes
}

var keywords = func() map[string]bool {
	words := map[string]bool{}
	for _, w := range strings.Fields("and break do else elseif end false for function goto if in local nil not or repeat return then true until while") {
		words[w] = true
	}
	return words
}()

// symbols are longest first, so that "..." is not three times ".".
var symbols = []string{"...", "..", "==", "~=", "<=", ">=", "::"}

// Tokens takes a source apart. Blanks and comments are between the tokens. An error is one that
// the compiler finds as well, with its place.
func Tokens(source string) ([]Token, error) {
	s := &scanner{source: source, line: 1}
	var out []Token
	for {
		if err := s.blank(); err != nil {
			return nil, err
		}
		t := Token{Start: s.at, Line: s.line, Column: s.at - s.lineStart + 1, Kind: EndToken}
		if s.at < len(source) {
			kind, err := s.token()
			if err != nil {
				return nil, err
			}
			t.Kind = kind
		}
		t.End, t.Text = s.at, source[t.Start:s.at]
		if t.Kind == NameToken && keywords[t.Text] {
			t.Kind = KeywordToken
		}
		out = append(out, t)
		if t.Kind == EndToken {
			return out, nil
		}
	}
}

type scanner struct {
	source    string
	at        int
	line      int
	lineStart int
}

func (s *scanner) fault(format string, args ...any) error {
	return fmt.Errorf("%d:%d: %s", s.line, s.at-s.lineStart+1, fmt.Sprintf(format, args...))
}

// advance moves on to a place and counts the lines on the way.
func (s *scanner) advance(to int) {
	for ; s.at < to; s.at++ {
		if s.source[s.at] == '\n' {
			s.line, s.lineStart = s.line+1, s.at+1
		}
	}
}

// blank passes over blanks and comments.
func (s *scanner) blank() error {
	for s.at < len(s.source) {
		switch rest := s.source[s.at:]; {
		case strings.ContainsRune(" \t\r\n", rune(rest[0])):
			s.advance(s.at + 1)
		case strings.HasPrefix(rest, "--"):
			s.advance(s.at + 2)
			if s.long() > 0 {
				if err := s.passLong(); err != nil {
					return err
				}
				continue
			}
			end := strings.IndexByte(s.source[s.at:], '\n')
			if end < 0 {
				end = len(s.source) - s.at
			}
			s.advance(s.at + end)
		default:
			return nil
		}
	}
	return nil
}

// long is the length of an opening long bracket such as [==[, 0 when there is none.
func (s *scanner) long() int {
	rest := s.source[s.at:]
	if !strings.HasPrefix(rest, "[") {
		return 0
	}
	n := 1 + len(rest[1:]) - len(strings.TrimLeft(rest[1:], "="))
	if strings.HasPrefix(rest[n:], "[") {
		return n + 1
	}
	return 0
}

func (s *scanner) passLong() error {
	n := s.long()
	closing := "]" + strings.Repeat("=", n-2) + "]"
	end := strings.Index(s.source[s.at+n:], closing)
	if end < 0 {
		return s.fault("found no %s", closing)
	}
	s.advance(s.at + n + end + len(closing))
	return nil
}

func (s *scanner) token() (TokenKind, error) {
	rest := s.source[s.at:]
	c := rest[0]
	switch {
	case letter(c):
		n := 1
		for n < len(rest) && (letter(rest[n]) || digit(rest[n])) {
			n++
		}
		s.advance(s.at + n)
		return NameToken, nil
	case digit(c), c == '.' && len(rest) > 1 && digit(rest[1]):
		s.advance(s.at + numberLength(rest))
		return NumberToken, nil
	case c == '"', c == '\'':
		return StringToken, s.quoted(c)
	case s.long() > 0:
		return StringToken, s.passLong()
	}
	for _, symbol := range symbols {
		if strings.HasPrefix(rest, symbol) {
			s.advance(s.at + len(symbol))
			return SymbolToken, nil
		}
	}
	if !strings.ContainsRune("+-*/%^#<>=(){}[];:,.", rune(c)) {
		return SymbolToken, s.fault("found %q", c)
	}
	s.advance(s.at + 1)
	return SymbolToken, nil
}

func numberLength(text string) int {
	n := 1
	for n < len(text) {
		c := text[n]
		exponent := (c == '+' || c == '-') && (text[n-1] == 'e' || text[n-1] == 'E') && !strings.HasPrefix(strings.ToLower(text), "0x")
		if !letter(c) && !digit(c) && c != '.' && !exponent {
			break
		}
		n++
	}
	return n
}

func (s *scanner) quoted(quote byte) error {
	for i := s.at + 1; i < len(s.source); i++ {
		switch s.source[i] {
		case '\\':
			i++
		case '\n':
			return s.fault("a string does not end on its line")
		case quote:
			s.advance(i + 1)
			return nil
		}
	}
	return s.fault("a string does not end")
}

func letter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }
