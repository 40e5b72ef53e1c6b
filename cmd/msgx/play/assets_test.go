package play

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// vendored are the files of codemirror@5.65.21 as npm has them.
var vendored = map[string]string{
	"active-line.js":   "3afbcf78835c9bdc342e3992c53d9b74286722613bb1a8adc9d140edc8737ee8",
	"codemirror.js":    "e98aac5ffa07bae58acd4ff07c4293059f8921c0ae0eba506929d8c6f41c9288",
	"codemirror.css":   "eb494ea972d2661ef86f7f6ac656dd6786d721e49c9c1b46e1eb967e4b6f9bf3",
	"comment.js":       "a65c038258c6541658a0e9f24c56c78255e0e20d4cf06aa9ad83342069a589be",
	"lua.js":           "5c702747f50d5d4158ab8c096b33a7e0092529d5682a728a20624b01dfd86e2a",
	"matchbrackets.js": "9d23a177f1e4d07e3acc37c210ffbe4c1c2eb4d55bbe54c16d3e7ad3d04d0401",
	"searchcursor.js":  "2c0b8cd8fe7ca5ca2253f4aacc914b390bff5b3cac3475df66c43a9ea8c8ccbe",
	"xml.js":           "dc7e44d410399326f802e2924573cbf6f942a79f647fd0b97f0b607973bc9a09",
	"yaml.js":          "7de73109e5bfb6951d53764f5210f00f7859b57525811fab6b6f843980a7726e",
	"LICENSE":          "168a4becc968f5001e2ee2e0291b6e4daabafc1894a11ade1e11d56e96096e07",
}

func TestTheEditorIsWhatWasVendored(t *testing.T) {
	files, err := fs.ReadDir(embedded, "assets/codemirror")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if f.Name() == "README.md" {
			continue
		}
		data, err := fs.ReadFile(embedded, path.Join("assets/codemirror", f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if got := hex.EncodeToString(sum[:]); got != vendored[f.Name()] {
			t.Errorf("%s: found SHA-256 %s, expected %q; see assets/codemirror/README.md", f.Name(), got, vendored[f.Name()])
		}
	}
	if want := len(vendored) + 1; len(files) != want {
		t.Errorf("found %d files, expected %d", len(files), want)
	}
	for _, name := range libraries {
		if vendored[name+".js"] == "" {
			t.Errorf("the page loads %s.js, which is not vendored", name)
		}
	}
}

// used finds the keys that the page asks for.
var used = regexp.MustCompile(`\b(?:word\(|word |texts\()"([a-z-]+)"`)

// chosen finds keys in front of and behind the colon of a choice.
var chosen = regexp.MustCompile(`\? "([a-z-]+)" : "([a-z-]+)"`)

// TestEveryTextIsInOnePlace: what the page asks for is in words.json, and nothing lies there unused.
func TestEveryTextIsInOnePlace(t *testing.T) {
	asked := map[string]bool{}
	files, err := fs.Glob(embedded, "assets/page/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, ".json") {
			continue
		}
		data, err := fs.ReadFile(embedded, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range used.FindAllStringSubmatch(string(data), -1) {
			asked[m[1]] = true
			if _, ok := words[m[1]]; !ok {
				t.Errorf("%s: words.json has no %q", name, m[1])
			}
		}
		for _, m := range chosen.FindAllStringSubmatch(string(data), -1) {
			asked[m[1]], asked[m[2]] = true, true
		}
	}
	for key, text := range words {
		if !asked[key] {
			t.Errorf("words.json: nothing asks for %q", key)
		}
		if strings.TrimSpace(text) == "" {
			t.Errorf("words.json: %q is empty", key)
		}
	}
}

// TestNothingIsSetAsMarkup: what comes from scripts, messages and states stays text.
func TestNothingIsSetAsMarkup(t *testing.T) {
	files, err := fs.Glob(embedded, "assets/page/*.js")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(files, "assets/page/main.js") {
		t.Fatalf("found %v, expected main.js among them", files)
	}
	forbidden := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://`)
	for _, name := range files {
		data, err := fs.ReadFile(embedded, name)
		if err != nil {
			t.Fatal(err)
		}
		if found := forbidden.FindString(string(data)); found != "" {
			t.Errorf("%s has %s", name, found)
		}
	}
}
