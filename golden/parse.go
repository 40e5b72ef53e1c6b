package golden

// Parse reads the text of a case that lies in no file yet. The name is the one it would have.
// The error is Faults: all that is wrong, each with its line in the text.
func Parse(o Options, name string, text []byte) (*Case, error) {
	c, err := o.parse(name, text)
	if err != nil {
		return nil, err
	}
	return c, nil
}
