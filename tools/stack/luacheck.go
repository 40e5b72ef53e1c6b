package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"msgx/tools/stack/shared"
)

// luacheck runs luacheck with the given arguments and gives its status.
func luacheck(ctx context.Context, stack *shared.Stack, args []string) (int, error) {
	program, err := stack.Luacheck(ctx)
	if err != nil {
		return 1, err
	}
	argv := append(program.Argv, args...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), program.Environment...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	var failed *exec.ExitError
	if err := cmd.Run(); errors.As(err, &failed) {
		return failed.ExitCode(), nil
	} else if err != nil {
		return 1, fmt.Errorf("luacheck: %w", err)
	}
	return 0, nil
}
