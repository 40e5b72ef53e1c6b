package rulebook

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Manifest is the file that names the script of each kind.
const Manifest = manifestFile

// ErrNoSuchFile is what Find fails with.
var ErrNoSuchFile = errors.New("no file of the rule set")

// Find finds files of the rule set by name: "rules/flop-gtdt@1.lua", "flop-gtdt@1.lua",
// "flop-gtdt@1", "flop-gtdt" (at whatever version is used), "merge". The result is in order, each
// file once. A name that is none is an error that names the nearest.
func (b *Rulebook) Find(names ...string) ([]string, error) {
	found := map[string]bool{}
	var short []string
	for _, file := range b.used {
		short = append(short, strings.TrimSuffix(path.Base(file), ".lua"))
	}
	for _, name := range names {
		wanted := strings.TrimSuffix(path.Base(name), ".lua")
		known := false
		for i, file := range b.used {
			script, _, _ := strings.Cut(short[i], "@")
			whole := strings.HasSuffix("/"+file, "/"+path.Clean(name))
			if whole || (!strings.Contains(name, "/") && (short[i] == wanted || script == wanted)) {
				found[file], known = true, true
			}
		}
		if !known {
			return nil, fmt.Errorf("%q: %w%s", name, ErrNoSuchFile, nearest(wanted, short))
		}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

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
