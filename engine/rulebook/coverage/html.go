package coverage

import (
	_ "embed" // the page
	"fmt"
	"html/template"
	"io"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{"count": count, "times": times}).Parse(pageText))

// row is a line of the source on the page.
type row struct {
	Number  int
	Text    string
	Class   string // covered, partly, missed; "" of a line that cannot run
	Count   int
	Ran     bool // has a count
	Cases   []string
	Reports []outcomeRow
}

// outcomeRow is one outcome of a place of the line.
type outcomeRow struct {
	Text, Way string
	Count     int
	Cases     []string
}

// HTML prints the report as one page that needs nothing from elsewhere.
func (r *Report) HTML(w io.Writer) error {
	if err := page.Execute(w, r); err != nil {
		return fmt.Errorf("coverage: page: %w", err)
	}
	return nil
}

// Rows are the lines of the file, for the page.
func (f File) Rows() []row {
	rows := make([]row, len(f.source))
	for i, text := range f.source {
		rows[i] = row{Number: i + 1, Text: text}
	}
	for _, l := range f.Hits {
		r := &rows[l.Number-1]
		r.Ran, r.Count, r.Cases, r.Class = true, l.Count, l.Cases, "covered"
		if l.Count == 0 {
			r.Class = "missed"
		}
	}
	for _, p := range f.Points {
		r := &rows[p.Line-1]
		for _, way := range p.ways() {
			r.Reports = append(r.Reports, outcomeRow{Text: p.Text, Way: way.name, Count: way.count, Cases: way.cases})
			switch {
			case way.count == 0 && r.Class != "missed":
				r.Class = "partly"
			case r.Class == "":
				r.Class = "covered"
			}
		}
	}
	return rows
}

// Whole tells whether nothing is missing, for the page.
func (f File) Whole() bool { return len(f.Missing) == 0 }
