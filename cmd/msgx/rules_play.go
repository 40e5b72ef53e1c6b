package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"msgx/cmd/msgx/config"
	"msgx/cmd/msgx/core"
	"msgx/cmd/msgx/play"
	"msgx/engine/rulebook"
)

// playing are the flags of rules play.
type playing struct {
	dir, golden, listen string
	unsafe, open        bool
}

func rulesPlayCommand(g *globals) *cobra.Command {
	var p playing
	cmd := &cobra.Command{
		Use:   "play",
		Short: "Edit rules in the browser, and see what they decide while you type",
		Long: `Serve a page on this machine for editing rules. It prints its address and runs until Ctrl-C.

Pick a golden case, or paste a message and a state. Edit a script: with every pause in typing
the page shows what becomes of each message, what changes of which flight, the events, which
lines ran and which way each branch went, the instructions used, and what lint finds. A button
runs the corpus with the text in the editor and shows what of the file it covers.

--dir is the rule set directory, msgx.rules.dir when left out. Ctrl-S saves the script there,
unless the file has changed on disk meanwhile; a script can be saved as a new version, too.
Without a directory the rule set in the binary is shown, and nothing can be saved. --golden
is the golden directory that a new case is filed in, msgx.rules.golden when left out; without either, cases
are those in the binary.

The rules run as in production: in the same sandbox, within the same budgets. Cases have the settings
that they state (see the README of golden); so has an input of your own.

The address holds a token that changes with every start: who has the address can edit the
rules. Other machines reach the page only when --listen and --unsafe-listen say so.`,
		Example: "  msgx rules play --dir . --golden golden --open\n  msgx rules play --listen 127.0.0.1:8090",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := g.config()
			if err != nil {
				return err
			}
			return p.run(cmd, c)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.dir, "dir", "", "rule set directory; msgx.rules.dir when left out")
	f.StringVar(&p.golden, "golden", "", "golden directory to read cases from and file new ones in; msgx.rules.golden when left out, or those in the binary")
	f.StringVar(&p.listen, "listen", "127.0.0.1:0", "address to listen on; port 0 takes a free one")
	f.BoolVar(&p.unsafe, "unsafe-listen", false, "allow an address that other machines reach")
	f.BoolVar(&p.open, "open", false, "open the page in the browser")
	return cmd
}

func (p *playing) run(cmd *cobra.Command, c *config.Config) error {
	if p.dir != "" {
		c.Rules.Dir = p.dir
	}
	if c.Rules.Dir != "" {
		full, err := filepath.Abs(c.Rules.Dir) // the page names it, and knows no working directory
		if err != nil {
			return usagef("--dir: %w", err)
		}
		c.Rules.Dir = full
	}
	if p.golden == "" {
		p.golden = c.Rules.Golden
	}
	if err := p.check(c.Rules.Dir); err != nil {
		return usageError{err}
	}
	cat, err := core.LoadCatalogue(c)
	if err != nil {
		return err
	}
	s, err := play.Listen(play.Options{
		Catalogue: cat, Rules: core.RulesFS(c), Dir: c.Rules.Dir, Golden: p.golden, Limits: core.Limits(c), Listen: p.listen,
		NewVersion: func(script string, from int, text []byte, use bool) (string, error) {
			return fileVersion(c.Rules.Dir, script, from, text, use)
		},
		Log: logger(c, cmd.ErrOrStderr()),
	})
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	saves := "read-only; --dir makes it a directory"
	if c.Rules.Dir != "" {
		saves = "saved there"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "rules:  %s (%s)\nopen:   %s\nCtrl-C ends it.\n", core.RulesFrom(c), saves, s.Address())
	if p.open {
		door, err := openBrowser(ctx, s.Address())
		if err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "--open: %v; open the address yourself\n", err)
		}
		defer os.RemoveAll(door) //nolint:errcheck // a folder of temporary files
	}
	return s.Run(ctx)
}

// check holds the flags to what there is.
func (p *playing) check(dir string) error {
	if dir != "" {
		if _, err := os.Stat(filepath.Join(dir, rulebook.Manifest)); err != nil {
			return fmt.Errorf("--dir: found no rule set in %s: %w", dir, err)
		}
	}
	if p.golden != "" {
		if _, err := fs.ReadDir(os.DirFS(p.golden), "cases"); err != nil {
			return fmt.Errorf("--golden: found no cases in %s: %w", p.golden, err)
		}
	}
	host, _, err := net.SplitHostPort(p.listen)
	if err != nil {
		return fmt.Errorf("--listen: found %q, expected host and port such as 127.0.0.1:8090: %w", p.listen, err)
	}
	if ip := net.ParseIP(host); !p.unsafe && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("--listen: %s may be reached from other machines, and whoever learns the address can edit the rules; "+
			"expected an address of this machine alone, such as 127.0.0.1:8090, or --unsafe-listen with it", p.listen)
	}
	return nil
}

// fileVersion files a text as the next version of a script.
func fileVersion(dir, script string, from int, text []byte, use bool) (string, error) {
	v, err := nextVersion(dir, rulebook.Script{Name: script, Version: from}, from)
	if err != nil {
		return "", err
	}
	v.source = text
	was, changed, err := v.manifest(use)
	if err != nil {
		return "", err
	}
	if err := v.write(was, changed); err != nil {
		return "", err
	}
	return filepath.ToSlash(v.file(v.to)), nil
}

// openBrowser asks the desktop to show the page. The address does not go onto a command line,
// where others on this machine could read the token, but into a file that only we can read
// and that leads there; its folder is to be removed in the end.
func openBrowser(ctx context.Context, address string) (folder string, err error) {
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return "", errors.New("there is no " + program)
	}
	folder, err = os.MkdirTemp("", "msgx-play-") // for us alone
	if err != nil {
		return "", err
	}
	door := filepath.Join(folder, "open.html")
	page := fmt.Sprintf("<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=%s\">\n", address)
	if err := os.WriteFile(door, []byte(page), 0o600); err != nil {
		return folder, err
	}
	started := exec.CommandContext(context.WithoutCancel(ctx), path, door) //nolint:gosec // our own file
	if err := started.Start(); err != nil {
		return folder, err
	}
	go func() { _ = started.Wait() }() // it ends when it has handed the file over
	return folder, nil
}
