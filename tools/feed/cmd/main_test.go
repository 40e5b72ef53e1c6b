package main

import (
	"os"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	dir := t.TempDir() + "/day"
	cases := []struct {
		args      string
		out, fail string // what the output and the error contain
	}{
		{"--help", "--rolled-back", ""},
		{"--flights 10 --operations 50 --bad -1 --form bytes --out " + dir, "SUCCEEDED", ""},
		{"--date tomorrow", "", "expected YYYY-MM-DD"},
		{"--flights 3", "", "expected 10 to 50000"},
		{"--colour blue", "", "unknown flag"},
		{"extra", "", "expected flags only"},
		{"--flights 10 --operations 20 --mailbox root@tcp(127.0.0.1:1)/none", "", "mailbox writer"},
	}
	for _, c := range cases {
		var out strings.Builder
		err := run(t.Context(), strings.Fields(c.args), &out)
		if !strings.Contains(out.String(), c.out) {
			t.Errorf("%s: got output %q, want one with %q", c.args, out.String(), c.out)
		}
		if (err != nil) != (c.fail != "") || (err != nil && !strings.Contains(err.Error(), c.fail)) {
			t.Errorf("%s: got error %v, want %q", c.args, err, c.fail)
		}
	}
	if _, err := os.Stat(dir + "/expected.tsv"); err != nil {
		t.Error(err)
	}
}
