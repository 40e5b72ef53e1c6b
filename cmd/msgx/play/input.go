package play

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"msgx/golden"
)

// Input is what the rules run on: the parts of a case.
type Input struct {
	Comment  string     `json:"comment"` // with the settings, each on a line that begins with "!"
	State    string     `json:"state"`   // YAML, "" for nothing there before
	Messages []Document `json:"messages"`
	// Expect is what has to come of it, expect or expect-some; nil when nothing is said.
	Expect *Document `json:"expect,omitempty"`
}

// Document is a part of a case: its name, such as 01-sets.xml, and its text.
type Document struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// InputFault is something wrong with the input.
type InputFault struct {
	Part string `json:"part"` // comment, state, expect, the name of a message; "" when it is elsewhere
	Line int    `json:"line"` // in the part, from 1
	Text string `json:"text"`
}

const (
	commentPart = "comment"
	statePart   = "state"
	// trial is what an input is called that is no case.
	trial = "trial"
	// maxMessages bounds how long an evaluation can take, together with the budgets of each.
	maxMessages = 100
)

// archive puts the parts together to the text of a case.
func (in *Input) archive() *txtar.Archive {
	comment := in.Comment
	if !slices.ContainsFunc(strings.Split(comment, "\n"), said) {
		comment = "A trial.\n" + comment
	}
	a := &txtar.Archive{Comment: []byte(comment)}
	add := func(name, text string) {
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	if strings.TrimSpace(in.State) != "" {
		add(statePart, in.State)
	}
	for _, m := range in.Messages {
		add(m.Name, m.Text)
	}
	if in.Expect != nil {
		add(in.Expect.Name, in.Expect.Text)
	}
	return a
}

// said tells a line of the comment that is no setting.
func said(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && !strings.HasPrefix(line, "!")
}

// blank tells that no message has been written yet.
func (in *Input) blank() bool {
	return len(in.Messages) > 0 && !slices.ContainsFunc(in.Messages, func(m Document) bool { return strings.TrimSpace(m.Text) != "" })
}

// parse makes a case of the input. Faults are the input's; they are data, not an error.
func (s *Server) parse(in *Input) (*golden.Case, []InputFault, error) {
	if len(in.Messages) > maxMessages {
		return nil, nil, refuse(http.StatusBadRequest, "found %d messages, expected at most %d", len(in.Messages), maxMessages)
	}
	a := in.archive()
	text := txtar.Format(a)
	if fault := torn(a, text); fault != nil {
		return nil, []InputFault{*fault}, nil
	}
	c, err := golden.Parse(golden.Options{Catalogue: s.catalogue, Dir: s.golden}, trial, text)
	var faults golden.Faults
	if errors.As(err, &faults) {
		return nil, placed(a, faults, in), nil
	}
	return c, nil, err
}

// torn finds the part that a line like the head of a file would tear apart.
func torn(a *txtar.Archive, text []byte) *InputFault {
	const says = "a line looks like the head of a file, -- name --, which a case cannot hold"
	back := txtar.Parse(text)
	if len(back.Comment) != len(txtar.Format(&txtar.Archive{Comment: a.Comment})) {
		return &InputFault{commentPart, 1, says}
	}
	for i, f := range a.Files {
		if i >= len(back.Files) || back.Files[i].Name != f.Name {
			return &InputFault{f.Name, 1, fmt.Sprintf("found the name %q, expected one that can stand in a case", f.Name)}
		}
		if len(back.Files[i].Data) < len(f.Data) {
			return &InputFault{f.Name, 1, says}
		}
	}
	return nil
}

// placed finds the part of each fault, whose line is one of the whole text.
func placed(a *txtar.Archive, faults golden.Faults, in *Input) []InputFault {
	own := faultFile(faults)
	heads := make([]int, len(a.Files)) // the line of the head of each file
	line := 1 + strings.Count(string(txtar.Format(&txtar.Archive{Comment: a.Comment})), "\n")
	for i, f := range a.Files {
		heads[i] = line
		line += strings.Count(string(txtar.Format(&txtar.Archive{Files: []txtar.File{f}})), "\n")
	}
	added := strings.Count(string(a.Comment), "\n") - strings.Count(in.Comment, "\n") // the comment that we gave it
	var out []InputFault
	for _, f := range faults {
		if f.File != own {
			out = append(out, InputFault{Line: f.Line, Text: f.File + ": " + f.Text})
			continue
		}
		at := InputFault{Part: commentPart, Line: max(1, f.Line-added), Text: f.Text}
		for i, head := range heads {
			if f.Line >= head {
				at.Part, at.Line = a.Files[i].Name, max(1, f.Line-head)
			}
		}
		out = append(out, at)
	}
	return out
}

// faultFile is how faults name the case itself; others are of states that it shares.
func faultFile(faults golden.Faults) string {
	for _, f := range faults {
		if strings.HasSuffix(f.File, "/"+trial+".txtar") {
			return f.File
		}
	}
	return ""
}
