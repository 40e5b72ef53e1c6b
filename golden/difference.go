package golden

import (
	"slices"
	"strings"
)

// around is how many equal lines are shown beside a difference.
const around = 3

// difference compares two texts line by line: the longest common run of lines
// stays, "-" stands before what only want has, "+" before what only got has.
func difference(want, got string) string {
	a, b := slices.Collect(strings.Lines(want)), slices.Collect(strings.Lines(got))
	common := commonLengths(a, b)
	var lines []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || (i < len(a) && common[i+1][j] >= common[i][j+1]):
			lines = append(lines, "- "+a[i])
			i++
		default:
			lines = append(lines, "+ "+b[j])
			j++
		}
	}
	return shorten(lines)
}

// commonLengths[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
func commonLengths(a, b []string) [][]int {
	common := make([][]int, len(a)+1)
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	return common
}

// shorten leaves out the equal lines that are far from any difference.
func shorten(lines []string) string {
	var out strings.Builder
	skipped := false
	for i, line := range lines {
		near := false
		for n := max(0, i-around); n <= min(len(lines)-1, i+around); n++ {
			near = near || !strings.HasPrefix(lines[n], "  ")
		}
		if !near {
			skipped = true
			continue
		}
		if skipped {
			out.WriteString("  …\n")
			skipped = false
		}
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	if skipped {
		out.WriteString("  …\n")
	}
	return out.String()
}
