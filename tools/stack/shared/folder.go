package shared

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"msgx/tools/stack/server"
	"msgx/tools/stack/software"
)

// All lists every server of the stack.
var All = []software.Kind{software.Postgres, software.MariaDB, software.Kafka}

// State is what stack.json holds.
type State struct {
	// Keep is set when somebody asked for the stack to stay up: then no Run ends it.
	Keep    bool                            `json:"keep"`
	Servers map[software.Kind]server.Record `json:"servers"`
}

// Stack is the shared stack in its folder.
type Stack struct {
	Dir string
	// Say reports what takes long. It may be nil.
	Say func(format string, args ...any)
}

// Open returns the present user's stack, making its folder.
func Open() (*Stack, error) {
	dir := os.Getenv("MSGX_STACK_DIR")
	if dir == "" {
		dir = filepath.Join(os.TempDir(), "msgx-stack-"+strconv.Itoa(os.Geteuid()))
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("stack folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("stack folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return nil, fmt.Errorf("stack folder: %w", err)
	}
	if owner := info.Sys().(*syscall.Stat_t).Uid; !info.IsDir() || int(owner) != os.Geteuid() {
		return nil, fmt.Errorf("stack folder %s: found %s of user %d, expected a folder of user %d; set MSGX_STACK_DIR to another",
			dir, info.Mode(), owner, os.Geteuid())
	}
	if os.Geteuid() == 0 {
		if err := server.Reachable(dir); err != nil {
			return nil, err
		}
	}
	return &Stack{Dir: dir}, nil
}

func (s *Stack) say(format string, args ...any) {
	if s.Say != nil {
		s.Say(format, args...)
	}
}

func (s *Stack) path(name string) string { return filepath.Join(s.Dir, name) }

// Read returns the recorded state; no record is an empty state.
func (s *Stack) Read() (State, error) {
	state := State{Servers: map[software.Kind]server.Record{}}
	raw, err := os.ReadFile(s.path("stack.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return state, nil
	}
	if err != nil {
		return state, fmt.Errorf("read stack: %w", err)
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		return state, fmt.Errorf("read stack: %s: %w", s.path("stack.json"), err)
	}
	return state, nil
}

func (s *Stack) write(state State) error {
	raw, err := json.MarshalIndent(state, "", "  ")
	if err != nil {
		return fmt.Errorf("write stack: %w", err)
	}
	// The lock is held, so the name needs no random part.
	next := s.path("stack.json.new")
	if err := os.WriteFile(next, append(raw, '\n'), 0o644); err != nil {
		return fmt.Errorf("write stack: %w", err)
	}
	if err := os.Rename(next, s.path("stack.json")); err != nil {
		return fmt.Errorf("write stack: %w", err)
	}
	return nil
}

// Environment returns the addresses as environment entries.
func (st State) Environment() []string {
	return []string{
		"MSGX_STACK_POSTGRES=" + st.Servers[software.Postgres].URL,
		"MSGX_STACK_MARIADB=" + st.Servers[software.MariaDB].URL,
		"MSGX_STACK_KAFKA=" + st.Servers[software.Kafka].URL,
	}
}
