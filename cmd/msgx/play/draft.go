package play

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"msgx/engine/rulebook"
	"msgx/engine/rulebook/declaration"
)

// draft is a rule set in which some files have another text.
type draft struct {
	fs.FS
	texts map[string]string
}

// Open opens a file with its text in the draft; what else is known of the file stays.
func (d draft) Open(name string) (fs.File, error) {
	f, err := d.FS.Open(name)
	text, changed := d.texts[name]
	if err != nil || !changed {
		return f, err
	}
	return draftFile{f, strings.NewReader(text)}, nil
}

// draftFile is an open file with another text.
type draftFile struct {
	fs.File
	text *strings.Reader
}

func (d draftFile) Read(p []byte) (int, error) { return d.text.Read(p) }

// Standing says how the edited file takes part in the rule set.
type Standing string

// A version that handlers.lua does not name is put in the place of the one that it
// names, in the draft only. Of a script that it names at no version nothing can be shown.
const (
	Used     Standing = "used"
	StandsIn Standing = "stands-in"
	Idle     Standing = "idle"
)

// drafted is the rule set with the text of the editor, and how its file takes part.
// instead is the script at the version that it stands in for.
func (f *folder) drafted(file, source string) (rules fs.FS, is Standing, instead string, err error) {
	if err := known(file); err != nil {
		return nil, "", "", err
	}
	if _, err := fs.Stat(f.files, file); err != nil {
		return nil, "", "", missing(file)
	}
	d := draft{f.files, map[string]string{file: source}}
	script := strings.TrimSuffix(path.Base(file), ".lua")
	if path.Dir(file) != declaration.ScriptFolder {
		return d, Used, "", nil // the manifest or a library
	}
	manifest, err := fs.ReadFile(f.files, rulebook.Manifest)
	if err != nil {
		return nil, "", "", fmt.Errorf("read %s: %w", rulebook.Manifest, err)
	}
	name, _ := declaration.Split(script)
	at := declaration.Mentions(manifest, name)
	for _, m := range at {
		if m.Script == script {
			return d, Used, "", nil
		}
	}
	if len(at) == 0 {
		return d, Idle, "", nil
	}
	d.texts[rulebook.Manifest] = string(declaration.Rename(manifest, at, script))
	return d, StandsIn, at[0].Script, nil
}
