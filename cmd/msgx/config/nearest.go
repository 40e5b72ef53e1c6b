package config

import (
	"fmt"

	"github.com/agnivade/levenshtein"
)

// nearest suggests the known name that looks most like the given one.
func nearest(name string, known []string) string {
	best, distance := "", len(name)/3+1
	for _, k := range known {
		if d := levenshtein.ComputeDistance(name, k); d < distance {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %s?", best)
}
