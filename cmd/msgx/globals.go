package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"msgx/cmd/msgx/config"
)

// globals are the flags of every command.
type globals struct {
	file string
	set  []string
}

// config loads the configuration; its faults are usage errors.
func (g *globals) config() (*config.Config, error) {
	c, err := config.Load(config.Sources{File: g.file, Env: os.Environ(), Set: g.set})
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// logger builds the log that the configuration asks for.
func logger(c *config.Config, w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Log.Level)) // one of four checked words
	options := &slog.HandlerOptions{Level: level}
	if c.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}

func usageFaults(faults []error) error {
	return usageError{fmt.Errorf("configuration: %w", errors.Join(faults...))}
}
