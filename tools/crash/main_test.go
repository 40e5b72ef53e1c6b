package crash

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// programs is where programs are built.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "crash-"); err != nil {
		panic(err)
	}
	// Both ends of a way through toxiproxy wait for each other for ever where a connection ends in a toxic with bytes under way.
	const proxy = "github.com/Shopify/toxiproxy/v2"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(proxy+".(*ToxicLink).read"), goleak.IgnoreAnyFunction(proxy+"/toxics.(*ToxicStub).Run"), goleak.Cleanup(func(code int) {
		_ = os.RemoveAll(programs)
		os.Exit(code)
	}))
}

// killable is the program that can be killed at its fail points, built once.
var killable = sync.OnceValues(func() (string, error) { return compile("killable", "-tags", "failpoints") })

// compile builds msgx. An error has what the compiler says.
func compile(name string, flags ...string) (string, error) {
	path := filepath.Join(programs, name)
	out, err := exec.Command("go", append(append([]string{"build", "-o", path}, flags...), "msgx/cmd/msgx")...).CombinedOutput()
	if err != nil {
		return "", &buildError{err, out}
	}
	return path, nil
}

type buildError struct {
	err error
	out []byte
}

func (e *buildError) Error() string { return "build: " + e.err.Error() + "\n" + string(e.out) }

// build is the program that can be killed at its fail points. overlay replaces source files, as "go build
// -overlay" does; "" for none.
func build(t *testing.T, overlay string) string {
	t.Helper()
	var path string
	var err error
	if overlay == "" {
		path, err = killable()
	} else {
		path, err = compile("mutant", "-tags", "failpoints", "-overlay", overlay)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestShippedProgramIsNotKillable: what is built without the tag does not look at the variable, and one that is built
// with it takes no point that does not exist.
func TestShippedProgramIsNotKillable(t *testing.T) {
	shipped, err := compile("shipped")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		program, point string
		status         int
	}{
		{shipped, "nonsense", 0},
		{shipped, "claim-lease/before:1", 0},
		{build(t, ""), "nonsense", 2},
		{build(t, ""), "claim-lease/between:1", 2},
		{build(t, ""), "claim-lease/before:0", 2},
		{build(t, ""), "claim-lease/before:1", 0}, // a point that the command does not come to
	} {
		cmd := exec.CommandContext(t.Context(), tt.program, "version")
		cmd.Env = append(os.Environ(), "FAILPOINT="+tt.point)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != tt.status {
			t.Errorf("%s with FAILPOINT=%s: got status %d, want %d\n%s", filepath.Base(tt.program), tt.point, got, tt.status, out)
		}
	}
}
