package play

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"msgx/engine/nearest"
	"msgx/engine/rulebook"
)

// folder is the rule set that is edited.
type folder struct {
	files fs.FS
	dir   string     // "" for the rule set in the binary
	lock  sync.Mutex // one save at a time
}

// editable is what a path in the rule set looks like; nothing else is read or written.
var editable = regexp.MustCompile(`^(handlers\.lua|rules/[a-z0-9]+(-[a-z0-9]+)*@[1-9][0-9]{0,4}\.lua|rules/lib/[A-Za-z0-9_-]+\.lua)$`)

// known refuses what is no path of a rule set.
func known(name string) error {
	if !editable.MatchString(name) {
		return refuse(http.StatusBadRequest, "found file %q, expected handlers.lua, a script such as rules/flop-gtdt@1.lua, or a library such as rules/lib/merge.lua", name)
	}
	return nil
}

func missing(name string) error {
	return refuse(http.StatusNotFound, "the rule set has no %s", name)
}

// list gives the files of the rule set: the manifest, the scripts, the libraries.
func (f *folder) list() ([]string, error) {
	out := []string{rulebook.Manifest}
	for _, pattern := range []string{"rules/*.lua", "rules/lib/*.lua"} {
		found, err := fs.Glob(f.files, pattern)
		if err != nil {
			return nil, fmt.Errorf("list rule set: %w", err)
		}
		out = append(out, slices.DeleteFunc(found, func(name string) bool { return !editable.MatchString(name) })...)
	}
	return out, nil
}

// read gives a file and the digest of its text.
func (f *folder) read(name string) (text []byte, digest string, err error) {
	if err := known(name); err != nil {
		return nil, "", err
	}
	text, err = fs.ReadFile(f.files, name)
	if errors.Is(err, fs.ErrNotExist) {
		files, listErr := f.list()
		return nil, "", errors.Join(refuse(http.StatusNotFound, "the rule set has no %s%s", name, nearest.Hint(name, files)), listErr)
	}
	if err != nil {
		return nil, "", fmt.Errorf("read rule set: %w", err)
	}
	return text, digestOf(text), nil
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// writable says why nothing can be saved, nil when it can.
func (f *folder) writable() error {
	if f.dir != "" {
		return nil
	}
	return refuse(http.StatusForbidden, "this rule set is the one inside the binary, and cannot be saved; "+
		"start msgx rules play with --dir and a rule set directory")
}

// save puts a text in the place of a file whose text has the digest base, and gives the
// new digest. The file has at every moment either text whole, and keeps its mode.
func (f *folder) save(name, text, base string) (digest string, err error) {
	if err := errors.Join(known(name), f.writable()); err != nil {
		return "", err
	}
	f.lock.Lock()
	defer f.lock.Unlock()
	root, err := os.OpenRoot(f.dir)
	if err != nil {
		return "", fmt.Errorf("save %s: %w", name, err)
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", refuse(http.StatusConflict, "%s is no longer there; put it back, or save as a new version", name)
	case err != nil:
		return "", fmt.Errorf("save %s: %w", name, err)
	case !info.Mode().IsRegular():
		return "", refuse(http.StatusConflict, "%s is %s, expected a file; edit what it leads to", name, info.Mode().Type())
	}
	if err := unchanged(root, name, base); err != nil {
		return "", err
	}
	if err := replace(root, name, text, info.Mode().Perm()); err != nil {
		return "", fmt.Errorf("save %s: %w", name, err)
	}
	return digestOf([]byte(text)), nil
}

// unchanged refuses when somebody else has written the file since it was read.
func unchanged(root *os.Root, name, base string) error {
	now, err := root.ReadFile(name)
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	if digest := digestOf(now); digest != base {
		return &refusal{Status: http.StatusConflict, Text: fmt.Sprintf("%s has changed on disk since it was opened here. "+
			"Nothing is saved. Read it again, which drops your text, or save over it, which drops what is on disk", name), Digest: digest}
	}
	return nil
}

// replace writes beside the file, under a name that the loader of rule sets passes over,
// and renames.
func replace(root *os.Root, name, text string, mode fs.FileMode) (err error) {
	beside := path.Join(path.Dir(name), "."+path.Base(name)+".saving")
	if err := root.Remove(beside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := root.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = out.WriteString(text)
	err = errors.Join(err, out.Chmod(mode), out.Sync(), out.Close()) // the mode once more: a umask may have cut it
	if err == nil {
		err = root.Rename(beside, name)
	}
	if err != nil {
		err = errors.Join(err, root.Remove(beside))
	}
	return err
}

// place is the rule set for people.
func (f *folder) place() string {
	if f.dir == "" {
		return "in the binary"
	}
	return strings.TrimSuffix(f.dir, "/")
}
