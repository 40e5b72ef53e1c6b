package diagnostic

import "strings"

// PageOf cuts the page of a code out of the text of Pages: from its heading to the next
// heading. It reports false when there is none.
func PageOf(pages string, code Code) (string, bool) {
	var page []string
	fenced, found := false, false
	for line := range strings.Lines(pages) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if !fenced && strings.HasPrefix(line, "#") {
			if found {
				break
			}
			found = line == "### "+string(code)
		}
		if found {
			page = append(page, line)
		}
	}
	return strings.TrimSpace(strings.Join(page, "\n")), found
}
