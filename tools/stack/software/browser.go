package software

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Browser is a Chromium that programs drive.
type Browser struct {
	Path        string
	Environment []string // what it needs beside the present one, as name=value
}

// browserPackages are Debian's: the browser without windows, the smaller of the two that
// there are, its data, and letters for it to draw.
var browserPackages = []string{"chromium-headless-shell", "chromium-common", "fonts-dejavu-core"}

// EnsureBrowser finds a Chromium, and installs one if there is none. Only one process at a
// time may call it for a folder.
func (f Finder) EnsureBrowser(ctx context.Context) (Browser, error) {
	if b, ok := f.findBrowser(); ok {
		return b, nil
	}
	if err := f.install(ctx, browserPackages...); err != nil {
		return Browser{}, fmt.Errorf("install Chromium: %w", err)
	}
	b, ok := f.findBrowser()
	if !ok {
		return Browser{}, fmt.Errorf("install Chromium: packages %v are there, but the program was not found", browserPackages)
	}
	return b, nil
}

func (f Finder) findBrowser() (Browser, bool) {
	for _, prefix := range f.prefixes() {
		for _, name := range []string{"chromium-headless-shell", "chromium"} {
			// Not usr/bin/chromium: that is a script that knows one place only.
			if path := filepath.Join("/", prefix, "usr/lib/chromium", name); executable(path) {
				return Browser{Path: path, Environment: Home{Prefix: prefix}.Environment()}, true
			}
		}
		if prefix != "" {
			continue
		}
		for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
			if path, err := exec.LookPath(name); err == nil {
				return Browser{Path: path}, true
			}
		}
	}
	return Browser{}, false
}
