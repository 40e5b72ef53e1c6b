// Command msgx turns a shared airport message mailbox into an authoritative
// flight state. Run `msgx help` for its commands; README.md at the root of the
// repository says how to begin.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// Exit codes: 0 done, 1 the command did its work and what it found is not
// well, or it failed on the way, 2 it was called or configured wrongly.
const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError marks an error that the caller of the command can mend.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// errInterrupted is what is told of a command that a signal ended before it was done.
var errInterrupted = errors.New("interrupted")

// errNotWell ends a command with exit code 1 after it has printed what it found.
var errNotWell = errors.New("not well")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errNotWell):
		return exitFailed
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errInterrupted
	}
	fmt.Fprintf(stderr, "msgx: %s\n", plain(err))
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

// plain is an error's text with the continuation lines of a driver joined:
// every fault is one line.
func plain(err error) string { return strings.ReplaceAll(err.Error(), "\n\t", " ") }

func rootCommand() *cobra.Command {
	g := &globals{}
	root := &cobra.Command{
		Use:   "msgx",
		Short: "Turn a shared airport message mailbox into an authoritative flight state",
		Long: `msgx reads XML messages from a mailbox table in a shared MySQL strictly in order,
decides with versioned Lua rules what each does to a flight, commits the result in one
PostgreSQL transaction, delivers it to Kafka and writes the processed mark back.

To see what messages would do, without any server:  msgx try FILE...
To see everything at work on this machine:          make demo

Exit codes: 0 done; 1 failed, or what was looked at is not well; 2 called or configured wrongly.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noSuchCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w\nrun `%s --help` for its flags", err, cmd.CommandPath())
	})
	root.PersistentFlags().StringVarP(&g.file, "config", "c", os.Getenv("MSGX_CONFIG"), "configuration file, YAML (or MSGX_CONFIG)")
	root.PersistentFlags().StringArrayVar(&g.set, "set", nil, "set one parameter, such as --set log.level=debug; may be repeated")
	root.AddCommand(serveCommand(g), migrateCommand(g), checkCommand(g), stagesCommand(g), topicsCommand(g), outboxCommand(g), resyncCommand(g), tailCommand(g), tryCommand(g),
		flightCommand(g), messageCommand(g), auditCommand(g), rulesCommand(g), goldenCommand(g),
		headCommand(g), deadCommand(g), skipCommand(g), backfillCommand(g), mailboxCommand(g),
		demoCommand(g), parametersCommand(), versionCommand())
	asUsage(root)
	return root
}

// noSuchCommand refuses arguments of a command that only has commands below it.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return errors.New(text)
}

// asUsage makes a wrong number of arguments a usage error, for c and below.
func asUsage(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usagef("%w\nusage: %s", err, cmd.UseLine())
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		asUsage(sub)
	}
}
