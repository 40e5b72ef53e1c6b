package play

import (
	"io/fs"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestEveryTextIsReadable: each colour of text on each ground it stands on, light and dark, has a
// contrast of 4.5 at least.
func TestEveryTextIsReadable(t *testing.T) {
	css, err := fs.ReadFile(embedded, "assets/page/page.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, found := strings.Cut(string(css), "@media (prefers-color-scheme: dark)")
	dark, _, ends := strings.Cut(dark, "* {")
	if !found || !ends {
		t.Fatal("page.css has no dark colours")
	}
	grounds := map[string][]string{
		"text": {"page", "surface", "raised", "selected"}, "muted": {"page", "surface", "raised", "selected"}, "faint": {"page", "surface", "raised"},
		"stop": {"surface", "raised", "stop-tint"}, "warn": {"surface", "raised"}, "stale": {"surface", "raised"}, "act": {"raised", "surface"},
	}
	for theme, text := range map[string]string{"light": light, "dark": dark} {
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9A-F]{6});`).FindAllStringSubmatch(text, -1) {
			colours[m[1]] = luminance(t, m[2])
		}
		for ink, on := range grounds {
			for _, ground := range on {
				a, b := colours[ink]+0.05, colours[ground]+0.05
				if contrast := math.Max(a, b) / math.Min(a, b); contrast < 4.5 {
					t.Errorf("%s: %s on %s has a contrast of %.2f, expected at least 4.5", theme, ink, ground, contrast)
				}
			}
		}
	}
}

// luminance is the relative luminance of WCAG.
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	rgb, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	channel := func(c uint64) float64 {
		v := float64(c&0xff) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(rgb>>16) + 0.7152*channel(rgb>>8) + 0.0722*channel(rgb)
}
