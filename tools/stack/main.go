// Command stack runs the development stack: a private PostgreSQL, MariaDB and
// Apache Kafka on free loopback ports. See README.md beside this file.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"msgx/tools/stack/shared"
	"msgx/tools/stack/software"
)

const usage = `usage: go run ./tools/stack COMMAND

  up [SERVER...]   start what does not run; it stays up until down
  down [--force]   stop it and remove its data; --force even if somebody uses it
  status           say what runs; exit 1 unless everything does
  env              print the addresses as shell assignments
  run -- CMD...    start what does not run, run CMD with the addresses in its
                   environment, stop what was started; exit with CMD's status
  compiler         install a C compiler if there is none and we may
  luacheck ARGS... run luacheck, installing it if need be; exit with its status
  race             print -race if there is a C compiler, which go test needs for it

servers: postgres mariadb kafka (all of them by default)
folder:  MSGX_STACK_DIR, else msgx-stack-UID in the temporary folder
`

func main() {
	code, err := dispatch(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "stack:", err)
	}
	os.Exit(code)
}

func dispatch(args []string) (int, error) {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return 2, nil
	}
	if slices.Contains([]string{"help", "-h", "--help"}, args[0]) {
		fmt.Print(usage)
		return 0, nil
	}
	stack, err := shared.Open()
	if err != nil {
		return 1, err
	}
	stack.Say = func(format string, args ...any) { fmt.Fprintf(os.Stderr, "stack: "+format+"\n", args...) }
	command, rest := args[0], args[1:]
	if command == "run" {
		return runCommand(stack, rest)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	switch command {
	case "up":
		err = up(ctx, stack, rest)
	case "down":
		err = down(ctx, stack, rest)
	case "status":
		return status(stack)
	case "env":
		err = printEnv(stack)
	case "compiler":
		compiler(ctx, stack)
	case "luacheck":
		return luacheck(ctx, stack, rest)
	case "race":
		if software.HasCompiler() {
			fmt.Println("-race")
		}
	default:
		fmt.Fprint(os.Stderr, usage)
		return 2, fmt.Errorf("unknown command %q", command)
	}
	if err != nil {
		return 1, err
	}
	return 0, nil
}

func up(ctx context.Context, stack *shared.Stack, names []string) error {
	kinds, err := kindsOf(names)
	if err != nil {
		return err
	}
	release, err := stack.Use(ctx)
	if err != nil {
		return err
	}
	defer release()
	state, err := stack.Up(ctx, true, kinds...)
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		fmt.Printf("%-9s %s\n", kind, state.Servers[kind].URL)
	}
	return nil
}

func kindsOf(names []string) ([]software.Kind, error) {
	if len(names) == 0 {
		return shared.All, nil
	}
	var kinds []software.Kind
	for _, name := range names {
		if !slices.Contains(shared.All, software.Kind(name)) {
			return nil, fmt.Errorf("unknown server %q, expected one of %v", name, shared.All)
		}
		kinds = append(kinds, software.Kind(name))
	}
	return kinds, nil
}

func down(ctx context.Context, stack *shared.Stack, args []string) error {
	force := len(args) == 1 && args[0] == "--force"
	if len(args) > 0 && !force {
		return fmt.Errorf("down: found %q, expected nothing or --force", args)
	}
	err := stack.Down(ctx, force)
	if errors.Is(err, shared.ErrInUse) {
		return fmt.Errorf("%w; 'down --force' stops it all the same", err)
	}
	return err
}

func status(stack *shared.Stack) (int, error) {
	state, err := stack.Read()
	if err != nil {
		return 1, err
	}
	code := 0
	for _, kind := range shared.All {
		record := state.Servers[kind]
		if !record.Alive() {
			fmt.Printf("%-9s down\n", kind)
			code = 1
			continue
		}
		fmt.Printf("%-9s up    process %d    %s\n", kind, record.PID, record.URL)
	}
	return code, nil
}

func printEnv(stack *shared.Stack) error {
	state, err := stack.Read()
	if err != nil {
		return err
	}
	for _, entry := range state.Environment() {
		name, value, _ := strings.Cut(entry, "=")
		fmt.Printf("export %s='%s'\n", name, value)
	}
	return nil
}

// compiler does what it can: without a C compiler tests run all the same, only
// without the race detector.
func compiler(ctx context.Context, stack *shared.Stack) {
	if err := (software.Finder{Dir: stack.Dir, Say: stack.Say}).EnsureCompiler(ctx); err != nil {
		stack.Say("%v: tests run WITHOUT the race detector", err)
	}
}
