package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"msgx"
)

// A message whose only effect is a request upstream does not change nothing.
func TestTryShowsRequests(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, msgx.Files); err != nil {
		t.Fatal(err)
	}
	script := `return {
  kind = "FLOP-STND",
  writes = { "STND" },
  decide = function(view, msg)
    return { outbound = { { request = "EROR", SEQN = msg.meta.seqn, CODE = "NO-STANDS" } } }
  end,
}
`
	if err := os.WriteFile(filepath.Join(dir, "rules", "flop-stnd@1.lua"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	file := write(t, "stand.xml", []byte(`<MSG><META><SNDR>A</SNDR><SEQN>17</SEQN><TYPE>FLOP</TYPE><STYP>STND</STYP></META><FLOP><FLID>1</FLID><STND>2</STND></FLOP></MSG>`))
	r := run("try", "--set", "rules.dir="+dir, file)
	if want := `     request EROR CODE="NO-STANDS" SEQN="17"` + "\n"; r.code != 0 || !strings.Contains(r.out, want) || strings.Contains(r.out, "changes nothing") {
		t.Errorf("exit %d, want %q in:\n%s%s", r.code, want, r.out, r.err)
	}
}
