package stacktest

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"msgx/tools/stack/shared"
)

// Browser starts a Chromium without windows and returns a context with one empty tab, to be
// driven with chromedp. Everything that is done with it within the time has to be done; the
// browser ends with the test. It needs none of the servers.
func Browser(t testing.TB, within time.Duration) context.Context {
	t.Helper()
	installing, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	stack, err := shared.Open()
	if err != nil {
		t.Fatalf("development stack: %v", err)
	}
	stack.Say = t.Logf
	browser, err := stack.Browser(installing)
	if err != nil {
		t.Fatalf("Chromium: %v\nthis test needs a browser; see tools/stack/README.md", err)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browser.Path), chromedp.Env(browser.Environment...),
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(time.Minute),
		// Its sandbox works neither as root nor in many a container; tests open pages of our own only.
		chromedp.NoSandbox)
	bound, cancelBound := context.WithTimeout(context.Background(), within)
	t.Cleanup(cancelBound)
	allocator, cancelAllocator := chromedp.NewExecAllocator(bound, options...)
	t.Cleanup(cancelAllocator)
	tab, cancelTab := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		_ = chromedp.Cancel(tab) // asks the browser to end, and waits for it
		cancelTab()
	})
	if err := chromedp.Do(tab); err != nil {
		t.Fatalf("Chromium %s: %v", browser.Path, err)
	}
	return tab
}
