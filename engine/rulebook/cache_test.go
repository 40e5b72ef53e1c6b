package rulebook_test

import (
	"sync"
	"testing"

	"msgx/engine/rulebook"
)

// A rule set from a cache is the one that Load gives, also when a file has changed or is
// faulty, and many may be loaded side by side.
func TestCacheLoadsTheSame(t *testing.T) {
	cat := shippedCatalogue(t)
	var cache rulebook.Cache
	sets := []map[string]string{
		nil,
		{"rules/flop-gtdt@1.lua": deciding(`return { skip = "other" }`)},
		{"rules/flop-gtdt@1.lua": deciding(`x = 1`)},
		{"rules/lib/merge.lua": "return ("},
	}
	var wait sync.WaitGroup
	for range 3 {
		for _, files := range sets {
			fsys := changed(t, files)
			wait.Go(func() {
				m, v := gates()
				want, wantErr := rulebook.Load(fsys, cat, rulebook.Settings{}, rulebook.Limits{})
				got, err := cache.Load(fsys, cat, rulebook.Settings{}, rulebook.Limits{})
				if wantErr != nil {
					if err == nil || err.Error() != wantErr.Error() {
						t.Errorf("%v, expected %v", err, wantErr)
					}
					return
				}
				if err != nil || got.Hash() != want.Hash() {
					t.Errorf("%v, expected the rule set %s", err, want.Hash())
					return
				}
				wantDecision, _ := want.Decide(m, v)
				gotDecision, err := got.Decide(m, v)
				if err != nil {
					t.Error(err)
				}
				same(t, gotDecision, wantDecision)
			})
		}
	}
	wait.Wait()
}
