package structure

import (
	"slices"
	"strings"
	"testing"
)

// What stands on the rule host for authors knows rules only: a corpus, and how it is run, come from above
// (golden), so that any corpus can be measured.
func TestToolsForRulesStandOnTheRulebook(t *testing.T) {
	allowed := map[string][]string{
		"msgx/engine/rulebook/coverage":    {"msgx/engine/rulebook"},
		"msgx/engine/rulebook/mutate":      {"msgx/engine/rulebook/coverage", "msgx/engine/rulebook/syntax/tree"},
		"msgx/engine/rulebook/syntax/tree": {}, // reads Lua, and nothing of ours
	}
	for _, p := range list(t) {
		may, ok := allowed[p.ImportPath]
		if !ok {
			continue
		}
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, "msgx/") && !slices.Contains(may, imp) {
				t.Errorf("%s imports %s: it may import %q", p.ImportPath, imp, may)
			}
		}
		delete(allowed, p.ImportPath)
	}
	if len(allowed) > 0 {
		t.Errorf("there are no packages %v any more: take them out of this test", allowed)
	}
}
