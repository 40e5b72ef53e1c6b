package golden

import (
	"fmt"
	"slices"
)

// Coverage tells which kinds the selected cases cover: kind to the cases in
// which a message of that kind takes effect.
func Coverage(o Options) (map[string][]string, error) {
	cases, err := Load(o)
	if err != nil {
		return nil, err
	}
	covered := map[string][]string{}
	books := newLoaded(o.rules)
	for _, c := range cases {
		out, err := c.Replay(o.Catalogue, books.book)
		if err != nil {
			return nil, fmt.Errorf("golden: %s: %w", c.Name, err)
		}
		for _, r := range out.Results {
			s := &r.Settlement
			in := covered[s.Kind]
			if len(s.Effects.Advances)+len(s.Effects.Refs) > 0 && (len(in) == 0 || in[len(in)-1] != c.Name) {
				covered[s.Kind] = append(in, c.Name)
			}
		}
	}
	return covered, nil
}

// Unheld lists the scripts at versions that the manifest does not pick and that no case holds to
// what they decided: none of the selected cases is bound to it (!rules) and has a message that
// it decides. Old versions stay in the rule set, so that past decisions can be computed again;
// without such a case nothing would tell that one has changed.
func Unheld(o Options) ([]string, error) {
	cases, err := Load(o)
	if err != nil {
		return nil, err
	}
	books := newLoaded(o.rules)
	plain, err := books.book((&Case{}).RuleSettings())
	if err != nil {
		return nil, err
	}
	held := map[string]bool{}
	for _, s := range plain.Scripts() {
		held[s.ID()] = true // every case without !rules is about these
	}
	for _, c := range cases {
		if len(c.Settings.Rules) == 0 {
			continue
		}
		out, err := c.Replay(o.Catalogue, books.book)
		if err != nil {
			return nil, fmt.Errorf("golden: %s: %w", c.Name, err)
		}
		for i := range out.Results {
			if script := out.Results[i].Settlement.Script; slices.Contains(c.Settings.Rules, script) {
				held[script] = true
			}
		}
	}
	var out []string
	for _, script := range o.scripts() {
		if !held[script] {
			out = append(out, script)
		}
	}
	return out, nil
}
