// Package nearest finds the name that a person is likely to have meant, for errors about
// names that are not known.
package nearest

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Name gives the known name that looks most like the given one; false when none is near: within
// one change, or one in three characters of a longer name. Two neighbours in each other's place
// are one change, and so is another case of every letter.
func Name(name string, known []string) (string, bool) {
	best, distance := "", utf8.RuneCountInString(name)/3+1
	if distance < 2 {
		return "", false // anything is as near to one or two letters as anything else
	}
	for _, k := range known {
		if d := apart(name, k); d < distance {
			best, distance = k, d
		}
	}
	return best, best != ""
}

// Hint is how an error goes on after a name that is not known: ", did you mean X?", or "".
func Hint(name string, known []string) string {
	if best, ok := Name(name, known); ok {
		return ", did you mean " + best + "?"
	}
	return ""
}

// apart is how many changes it takes from one name to the other.
func apart(a, b string) int {
	if strings.EqualFold(a, b) {
		return min(1, levenshtein.ComputeDistance(a, b))
	}
	least := levenshtein.ComputeDistance(a, b)
	letters := []rune(a)
	for i := 1; i < len(letters); i++ {
		swapped := slices.Clone(letters)
		swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
		least = min(least, 1+levenshtein.ComputeDistance(string(swapped), b))
	}
	return least
}
