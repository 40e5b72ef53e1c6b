package rulebook

import "strings"

// OutOfBudget tells whether the text of an error of Decide, or a reason made of it, says that a
// script used up its instructions or its strings: the mark of a loop that does not end.
func OutOfBudget(reason string) bool {
	return strings.Contains(reason, errInstructions.Error()) || strings.Contains(reason, errStrings.Error())
}
