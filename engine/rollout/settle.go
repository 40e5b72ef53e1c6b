package rollout

// settle tells when a place has changed and come to rest. It is pure.
type settle struct {
	considered string // the content that was taken, refused, or passed over
	last       string // of the look before
}

// look notes the content of the place, "" when it could not be read, and tells whether it is to be tried.
func (s *settle) look(content string) bool {
	rests := content != "" && content == s.last
	s.last = content
	return rests && content != s.considered
}

// consider notes that a content needs no trial, until there is another.
func (s *settle) consider(content string) {
	if content != "" {
		s.considered = content
	}
}
