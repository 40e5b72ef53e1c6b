package structure

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// pkg is what `go list` says of a package.
type pkg struct {
	ImportPath string
	Name       string
	Doc        string
	Standard   bool
	Imports    []string
	GoFiles    []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Name,Doc,Imports,GoFiles", "msgx/...")
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// vocabulary packages are what stages and adapters speak; they import the
// standard library and each other only.
var vocabulary = []string{"ruleset", "flight", "message", "decision", "event", "watermark", "catalogue", "fault", "clock", "outage", "evidence", "failpoint"}

// adapters speak to a server each, stages do the work; both import vocabulary
// and never each other.
var (
	stages   = []string{"inbox", "pump", "outbox", "backfill", "lease", "verdict", "api", "rollout", "shadow", "replay", "entry", "backlog"}
	adapters = []string{"mailbox", "store", "outbox/kafka"}
	pure     = []string{"codec", "rulebook", "rulebook/diagnostic", "rulebook/declaration", "rulebook/syntax", "rulebook/lint", "audit", "consume", "purge"}
)

func engine(names ...[]string) map[string]bool {
	set := map[string]bool{}
	for _, list := range names {
		for _, n := range list {
			set["msgx/engine/"+n] = true
		}
	}
	return set
}

func TestImportsFollowTheRules(t *testing.T) {
	words := engine(vocabulary)
	// The adapters' own data, not another stage.
	allowedExtra := map[string]map[string]bool{
		"msgx/engine/store":        {"msgx/migrations": true},
		"msgx/engine/outbox/kafka": {"msgx/engine/outbox": true},
		// A plan is a rehearsal over the flights as they are.
		"msgx/engine/replay":   {"msgx/engine/rehearse": true},
		"msgx/engine/rulebook": {"msgx/engine/rulebook/syntax": true, "msgx/engine/rulebook/diagnostic": true, "msgx/engine/rulebook/declaration": true},
		// The host and the linter read declarations alike and number what is wrong alike; the
		// linter asks the host's loader, never the other way round.
		"msgx/engine/rulebook/declaration": {"msgx/engine/rulebook/diagnostic": true},
		"msgx/engine/rulebook/lint": {"msgx/engine/rulebook": true, "msgx/engine/rulebook/syntax": true,
			"msgx/engine/rulebook/diagnostic": true, "msgx/engine/rulebook/declaration": true},
		// A rebuild is a rehearsal of what was decided.
		"msgx/engine/audit": {"msgx/engine/rehearse": true},
	}
	for _, p := range list(t) {
		name := strings.TrimPrefix(p.ImportPath, "msgx/engine/")
		for _, imp := range p.Imports {
			ours := strings.HasPrefix(imp, "msgx/")
			third := strings.Contains(strings.SplitN(imp, "/", 2)[0], ".")
			switch {
			case words[p.ImportPath] && third:
				t.Errorf("%s imports %s: vocabulary is pure, standard library only, so that everything may depend on it", p.ImportPath, imp)
			case words[p.ImportPath] && ours && !words[imp]:
				t.Errorf("%s imports %s: vocabulary imports vocabulary only, or arrows point both ways", p.ImportPath, imp)
			case engine(stages, adapters, pure)[p.ImportPath] && ours && !words[imp] && !allowedExtra[p.ImportPath][imp]:
				t.Errorf("%s imports %s: stages and adapters import vocabulary only and declare the interfaces they need; cmd wires", p.ImportPath, imp)
			case imp == "github.com/go-sql-driver/mysql" && name != "mailbox" && !strings.HasPrefix(p.ImportPath, "msgx/tools/"):
				t.Errorf("%s imports the MySQL driver: all MySQL is in engine/mailbox, and nothing else speaks to it", p.ImportPath)
			case strings.HasPrefix(imp, "github.com/jackc/pgx") && name != "store" && !strings.HasPrefix(p.ImportPath, "msgx/tools/"):
				t.Errorf("%s imports pgx: all PostgreSQL is in engine/store, so that SQL is visible in one place", p.ImportPath)
			case strings.HasPrefix(imp, "github.com/segmentio/kafka-go") && name != "outbox/kafka" && !strings.HasPrefix(p.ImportPath, "msgx/tools/"):
				t.Errorf("%s imports kafka-go: the broker is spoken to in engine/outbox/kafka only", p.ImportPath)
			case strings.HasPrefix(p.ImportPath, "msgx/engine/") && (strings.HasPrefix(imp, "msgx/cmd/") || strings.HasPrefix(imp, "msgx/tools/")):
				t.Errorf("%s imports %s: only cmd and tools stand above the engine", p.ImportPath, imp)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range list(t) {
		if len(p.GoFiles) == 0 {
			continue
		}
		if len(p.Doc) < 20 {
			t.Errorf("%s has no package comment", p.ImportPath)
		}
		switch p.Name {
		case "util", "utils", "common", "helpers", "manager":
			t.Errorf("%s: the name says nothing; name it after what it holds", p.ImportPath)
		}
	}
}
