package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"msgx/engine/catalogue"
	"msgx/schemas"
)

func catalogueOf(t testing.TB) *catalogue.Catalogue {
	t.Helper()
	cat, err := schemas.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// onlyStand is a rule set that handles FLOP-STND and nothing else, with scripts by their
// version; the manifest picks the first.
func onlyStand(t testing.TB, versions ...string) fstest.MapFS {
	t.Helper()
	var unsupported []string
	for _, k := range catalogueOf(t).Kinds {
		if k.Name != "FLOP-STND" {
			unsupported = append(unsupported, fmt.Sprintf("%q", k.Name))
		}
	}
	files := fstest.MapFS{"handlers.lua": {Data: []byte(`return { ["FLOP-STND"] = "flop-stnd@1", unsupported = {` + strings.Join(unsupported, ", ") + "} }")}}
	for i, source := range versions {
		files[fmt.Sprintf("rules/flop-stnd@%d.lua", i+1)] = &fstest.MapFile{Data: []byte(source)}
	}
	return files
}

// standScript sets the stand that an expression gives.
func standScript(expression string) string {
	return `return {
  kind = "FLOP-STND",
  writes = { "STND" },
  decide = function(view, msg)
    local flid, stand = msg.records[1].flid, msg.records[1].STND
    if stand == "7" then
      stand = ` + expression + `
    end
    return { changes = { { flid = flid, op = "update", set = { STND = stand } } } }
  end,
}
`
}

// files makes a golden directory.
func files(t testing.TB, with map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range with {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// standMessage is a message that gives flight 1 a stand.
func standMessage(seqn int, stand string) string {
	return fmt.Sprintf("<MSG>\n  <META><SNDR>A</SNDR><SEQN>%d</SEQN><TYPE>FLOP</TYPE><STYP>STND</STYP></META>\n  <FLOP><FLID>1</FLID><STND>%s</STND></FLOP>\n</MSG>\n", seqn, stand)
}

var standCase = `A stand is set.

-- state --
- flight: 1
-- 01-first.xml --
` + standMessage(1, "6") + `-- 02-second.xml --
` + standMessage(2, "7") + `-- expect --
01-first.xml: SUCCEEDED
  msg  1 v2 update
    STND: "6"
  schd 1 v2
02-second.xml: SUCCEEDED
  msg  1 v3 update
    STND: "6" -> "7"
  schd 1 v3

afterwards:
- flight: 1
  version: 3
  STND: 7
`
