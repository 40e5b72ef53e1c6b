package golden

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"msgx/engine/nearest"
	"msgx/engine/rulebook"
)

// ErrNoSuchScript is what Cover and Mutate fail with when a name is none of a file of the rule set.
var ErrNoSuchScript = errors.New("no file of the rule set")

// scripts finds files of a rule set by name: "rules/flop-gtdt@1.lua", "flop-gtdt@1.lua",
// "flop-gtdt@1", "flop-gtdt" (at whatever version is used), "merge". They are in order, each once; all
// files when no name is given.
func scripts(book *rulebook.Rulebook, names []string) ([]string, error) {
	files := slices.Sorted(maps.Keys(book.Files()))
	if len(names) == 0 {
		return files, nil
	}
	var known []string
	byName := map[string][]string{}
	for _, file := range files {
		base := path.Base(file)
		versioned := strings.TrimSuffix(base, ".lua")
		script, _, _ := strings.Cut(versioned, "@")
		known = append(known, script, versioned)
		for _, name := range slices.Compact([]string{script, versioned, base, file}) {
			byName[name] = append(byName[name], file)
		}
	}
	var found []string
	for _, name := range names {
		fitting := byName[path.Clean(name)]
		if len(fitting) == 0 {
			return nil, fmt.Errorf("%q: %w%s", name, ErrNoSuchScript, nearest.Hint(name, known))
		}
		found = append(found, fitting...)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}
