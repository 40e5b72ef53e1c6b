package ruleset

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

const (
	manifest = "handlers.lua"
	folder   = "rules"
	maxFiles = 2_000
	maxBytes = 32 << 20
)

// Read takes what a rule set directory holds: handlers.lua and all that is in rules, but for
// names that begin with a dot. It is bounded, so that a wrong directory does no harm.
func Read(fsys fs.FS) (map[string][]byte, error) {
	files := map[string][]byte{}
	size := 0
	take := func(name string) error {
		f, err := fsys.Open(name)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // it was only read
		data, err := io.ReadAll(io.LimitReader(f, int64(maxBytes-size+1)))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if size += len(data); size > maxBytes || len(files) == maxFiles {
			return fmt.Errorf("more than %d files or %d bytes, expected a rule set", maxFiles, maxBytes)
		}
		files[name] = data
		return nil
	}
	if err := take(manifest); err != nil {
		return nil, fmt.Errorf("read the rule set: %w", err)
	}
	err := fs.WalkDir(fsys, folder, func(name string, d fs.DirEntry, err error) error {
		switch {
		case name == folder && errors.Is(err, fs.ErrNotExist):
			return fs.SkipAll // loading will say what is missing
		case err != nil:
			return err
		case strings.HasPrefix(d.Name(), ".") && d.IsDir():
			return fs.SkipDir
		case strings.HasPrefix(d.Name(), "."), d.IsDir():
			return nil
		}
		return take(name)
	})
	if err != nil {
		return nil, fmt.Errorf("read the rule set: %w", err)
	}
	return files, nil
}

// Content is the digest of what Read took: SHA-256 over names and bytes, in lower-case hex.
func Content(files map[string][]byte) string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(sum, "%d %s %d\n", len(name), name, len(files[name]))
		sum.Write(files[name])
	}
	return hex.EncodeToString(sum.Sum(nil))
}
