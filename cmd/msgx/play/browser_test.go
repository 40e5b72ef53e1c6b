package play

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"msgx/tools/stack/stacktest"
)

// step bounds one thing that is done in the browser.
const step = time.Minute

// tab is the page in a real browser.
type tab struct {
	*playground
	ctx context.Context
}

// browse opens the page with a fragment, such as "file=…&case=…", and waits until it has run.
func browse(t *testing.T, p *playground, fragment string) *tab {
	t.Helper()
	b := &tab{p, stacktest.Browser(t, 5*time.Minute)}
	b.do("open", chromedp.EmulateViewport(1440, 900), chromedp.Navigate(p.Address()+"#"+fragment))
	b.settled()
	return b
}

func (b *tab) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, step)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// value evaluates an expression in the page.
func value[T any](b *tab, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, step)
	defer cancel()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return got
}

// until waits for a condition of the page.
func (b *tab) until(condition string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, step)
	defer cancel()
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](condition, chromedp.WithPollingTimeout(step))); err != nil {
		b.t.Fatalf("waiting for %s: %v; the page says %q", condition, err, value[string](b, `document.body.innerText`))
	}
}

func (b *tab) settled() {
	b.t.Helper()
	b.until(`document.body.dataset.settled === "true"`)
}

func (b *tab) text(selector string) string {
	b.t.Helper()
	return value[string](b, fmt.Sprintf(`document.querySelector(%q).innerText`, selector))
}

// types puts the cursor of an editor in front of a text and types with the keyboard.
func (b *tab) types(editor, before, keys string) {
	b.t.Helper()
	b.do("place the cursor", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => {
		const cm = document.querySelector("#%s .CodeMirror").CodeMirror;
		const at = cm.getSearchCursor(%q);
		if (!at.findNext()) throw new Error("not there");
		cm.focus();
		cm.setCursor(at.from());
	})(); undefined`, editor, before)), chromedp.KeyEvent(keys))
	b.settled()
}

// puts exchanges the text of an editor, as a paste does.
func (b *tab) puts(editor, text string) {
	b.t.Helper()
	b.do("paste", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`document.querySelector("#%s .CodeMirror").CodeMirror.setValue(%q); undefined`, editor, text)))
	b.settled()
}

// picks chooses from a list, as its user does.
func (b *tab) picks(list, choice string) {
	b.t.Helper()
	b.do("pick", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => {
		const list = document.getElementById(%q);
		list.value = %q;
		document.body.dataset.settled = "false";
		list.dispatchEvent(new Event("change", {bubbles: true}));
	})(); undefined`, list, choice)))
	b.settled()
}

// chooses picks from a list, and is asked whether to drop what is not saved.
func (b *tab) chooses(list, choice string) {
	b.t.Helper()
	b.do("choose", chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => {
		const list = document.getElementById(%q);
		list.value = %q;
		list.dispatchEvent(new Event("change", {bubbles: true}));
	})(); undefined`, list, choice)))
	b.until(`document.getElementById("leave-dialog").open`)
}

func (b *tab) click(selector string) {
	b.t.Helper()
	b.do("click "+selector, chromedp.Click(chromedp.CSS(selector)))
}

func (b *tab) save() {
	b.t.Helper()
	b.do("Ctrl-S", chromedp.KeyEvent("s", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
}

func (b *tab) expect(selector string, parts ...string) {
	b.t.Helper()
	text := b.text(selector)
	for _, part := range parts {
		if !strings.Contains(text, part) {
			b.t.Errorf("%s: found %q, expected %q", selector, text, part)
		}
	}
}
