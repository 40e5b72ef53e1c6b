package ruleset

// Settle tells when a place has changed and come to rest. It is pure.
type Settle struct {
	considered string // the content that was taken, refused, or passed over
	last       string // of the look before
}

// Look notes the content of the place, "" when it could not be read, and tells whether it is to be tried.
func (s *Settle) Look(content string) bool {
	rests := content != "" && content == s.last
	s.last = content
	return rests && content != s.considered
}

// Consider notes that a content needs no trial, until there is another.
func (s *Settle) Consider(content string) {
	if content != "" {
		s.considered = content
	}
}

// Considered is the content that was considered last, "" when there was none.
func (s *Settle) Considered() string { return s.considered }
