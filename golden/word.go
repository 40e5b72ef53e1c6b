package golden

import (
	"regexp"
	"strings"
)

var safeWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// ShellWord quotes a word of a command line where a shell would take it for something else.
func ShellWord(word string) string {
	if safeWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// caseWord is the name of a case as the last word of a command line; a file may have any name.
func caseWord(name string) string {
	if strings.HasPrefix(name, "-") {
		return "-- " + ShellWord(name)
	}
	return ShellWord(name)
}
