package main

import (
	"os"
	"regexp"
)

// corpusFlags checks --run and --dir of a command that reads golden cases.
func corpusFlags(pattern, dir string) error {
	if _, err := regexp.Compile(pattern); err != nil {
		return usagef("--run: %w", err)
	}
	if dir == "" {
		return nil
	}
	if _, err := os.ReadDir(dir); err != nil {
		return usagef("--dir: %w", err)
	}
	return nil
}
