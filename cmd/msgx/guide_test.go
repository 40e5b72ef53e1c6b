package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// guide is the guide for rule authors, and guides all that name our commands to people.
const guide = "rules/README.md"

var guides = []string{"README.md", guide, "golden/README.md", "schemas/README.md", "tools/monitoring/README.md", "tools/deploy/README.md"}

// block is a fenced block of a Markdown file: its language, what else its first line says, and its text.
type block struct{ language, info, text string }

var (
	fence  = regexp.MustCompile("(?ms)^```([a-z]*) ?([^\n]*)\n(.*?)^```$")
	inline = regexp.MustCompile("`(?:bin/)?msgx ([^`]+)`")
	// ours begins with one of our commands, as a line of a shell, of an output or of a table of commands.
	ours = regexp.MustCompile(`^\s*(?:\$ )?(?:stack run -- )?(?:bin/)?msgx (.+)$`)
	// explained is what stands beside a command.
	explained = regexp.MustCompile(`\s+#.*$|\s{3,}[^\s-].*$`)
	words     = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
	// counted is what grows with the corpus and the rule set.
	counted = regexp.MustCompile(`\d+( golden cases| passed| cases| files| messages are)`)
)

func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func blocks(text string) []block {
	var out []block
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		out = append(out, block{m[1], m[2], m[3]})
	}
	return out
}

// split takes a command line apart as a shell does, as far as the guides need it.
func split(line string) []string {
	args := words.FindAllString(line, -1)
	for i, a := range args {
		if len(a) > 1 && (a[0] == '\'' || a[0] == '"') {
			args[i] = a[1 : len(a)-1]
		}
	}
	return args
}

// TestTheGuidesNameCommandsThatExist holds each command line of the guides to the commands, their flags and
// how many arguments they take.
func TestTheGuidesNameCommandsThatExist(t *testing.T) {
	for _, name := range guides {
		text, found := document(t, name), 0
		check := func(line string, whole bool) {
			found++
			cmd, args, err := rootCommand().Find(split(line))
			if err == nil {
				cmd.InitDefaultHelpFlag()
				err = cmd.ParseFlags(args)
			}
			if err == nil && cmd.HasSubCommands() && cmd.Flags().NArg() > 0 {
				t.Errorf("%s: msgx %s: found %q, expected a command of %s", name, line, cmd.Flags().Arg(0), cmd.CommandPath())
			}
			if err == nil && whole {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: msgx %s: %v", name, line, err)
			}
		}
		fenced := false
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			if m := ours.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil && (fenced || strings.HasPrefix(line, "    ")) {
				check(explained.ReplaceAllString(m[1], ""), true)
			}
		}
		for _, m := range inline.FindAllStringSubmatch(text, -1) {
			check(m[1], false)
		}
		if found == 0 && name != "schemas/README.md" {
			t.Errorf("%s: found no command of ours", name)
		}
	}
}

// TestTheGuideIsTrue walks the first change of the guide as it is told: writes its files, runs its commands,
// and holds what they print to what it shows. A block that needs servers says so and is left out.
func TestTheGuideIsTrue(t *testing.T) {
	text := document(t, guide)
	t.Chdir(t.TempDir())
	ran := 0
	for _, b := range blocks(text) {
		switch {
		case strings.HasPrefix(b.info, "file="):
			if err := os.WriteFile(strings.TrimPrefix(b.info, "file="), []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
		case b.language == "console" && b.info == "":
			for _, step := range strings.Split("\n"+b.text, "\n$ ")[1:] {
				command, shown, _ := strings.Cut(step, "\n")
				follow(t, command, shown)
				ran++
			}
		}
	}
	if ran < 10 {
		t.Errorf("%s: found %d commands to run, expected the walk", guide, ran)
	}
}

// follow runs one command of the guide and compares.
func follow(t *testing.T, command, shown string) {
	t.Helper()
	args := split(command)
	switch {
	case args[0] == "msgx":
		got := run(args[1:]...)
		if !looksLike(shown, got.out) || got.err != "" || got.code == exitUsage {
			t.Errorf("%s: exit %d, %s\n--- printed\n%s\n--- in %s\n%s", command, got.code, got.err, got.out, guide, shown)
		}
	case args[0] == "export" && len(args) == 2:
		name, value, _ := strings.Cut(args[1], "=")
		t.Setenv(name, value)
	case args[0] == "cp" && len(args) == 4:
		if err := os.CopyFS(args[3], os.DirFS(args[2])); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("%s: found command %q, expected msgx, export or cp -r", guide, command)
	}
}

// looksLike tells whether an output is what a guide shows of it: a line of … stands for any lines, … within
// a line for anything.
func looksLike(shown, got string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for line := range strings.Lines(strings.TrimSpace(shown) + "\n") {
		line = strings.TrimRight(line, " \n")
		if line == "…" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		quoted := counted.ReplaceAllString(regexp.QuoteMeta(line), `\d+$1`)
		pattern.WriteString(strings.ReplaceAll(quoted, "…", ".*") + ` *\n`)
	}
	return regexp.MustCompile(pattern.String() + `\z`).MatchString(strings.TrimSpace(got) + "\n")
}
