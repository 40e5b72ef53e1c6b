package play

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
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

// TestAnAuthorAtWork picks a case, edits, sees what changes, and saves with the keyboard.
func TestAnAuthorAtWork(t *testing.T) {
	b := browse(t, start(t), "")
	b.picks("case", "flop-gtdt")
	b.expect("#result", "As the case expects", "SUCCEEDED 01-replaces.xml", "version 4 → 5", "GATE \"G2\"", "KAFKA:schd", "of 210,000 instructions")
	b.expect("#about", "FLOP-GTDT replaces the gate allocations")
	b.expect("#script-editor", "×3")
	if got := value[string](b, `document.getElementById("file").value`); got != gatesFile {
		t.Errorf("found %s open, expected the script of the case", got)
	}

	b.types("script-editor", "return merge.flop", `if msg.kind == "FLOP-GTDT" then return { skip = "closed" } end `)
	b.expect("#result", "Not as the case expects", "SKIPPED 01-replaces.xml", "closed")
	b.expect("#file-state", "Not saved")
	b.click("#result details.section:last-of-type > summary") // the last is "Afterwards"
	if value[bool](b, `document.querySelectorAll(".mark.ran").length === 0`) {
		t.Error("no line is marked as run")
	}

	b.types("script-editor", "if msg.kind", "local idle = 1 ")
	b.expect("#problems", "MX501", "line 9", "idle", "^^^^")
	if !value[bool](b, `document.querySelector(".CodeMirror .wrong").textContent === "idle"`) {
		t.Error("the finding is not underlined where it is")
	}

	b.save()
	b.until(`document.getElementById("file-state").textContent.startsWith("Saved")`)
	if text := b.onDisk(gatesFile); !strings.Contains(text, `local idle = 1 if msg.kind == "FLOP-GTDT" then return { skip = "closed" } end return merge.flop`) {
		t.Errorf("found on disk\n%s", text)
	}
}

// TestALastGoodResultStays while the script is broken, and an endless loop ends.
func TestALastGoodResultStays(t *testing.T) {
	b := browse(t, start(t), "file=rules/flop-gtdt@1.lua&case=flop-gtdt")
	b.types("script-editor", "return merge.flop", "if ")
	b.expect("#result-state", "Stale")
	b.expect("#result", "SUCCEEDED 01-replaces.xml")
	b.expect("#problems", "MX001", "line 9")
	b.types("script-editor", "if return", "while true do end ")
	b.do("take it back", chromedp.Evaluate[chromedp.Void](`document.querySelector("#script-editor .CodeMirror").CodeMirror.replaceRange("", {line: 8, ch: 22}, {line: 8, ch: 25}); undefined`))
	b.settled()
	b.expect("#result", "FAILED RULE_ERROR", "instruction budget used up", "210,000 of 210,000")
	b.expect("#problems", "MX601", "line 9")
	b.expect("#result-state", "of the text as it stands")
}

// TestHostileTextsDoNotRun: markup in messages, states, scripts, errors and names is shown as text.
func TestHostileTextsDoNotRun(t *testing.T) {
	p := start(t)
	const markup = `<img src=x onerror=window.hit=1><script>window.hit=1</script>`
	if err := os.WriteFile(filepath.Join(p.golden, "cases", `<img src=x onerror=window.hit=1>.txtar`), []byte("A "+markup+" case.\n-- 01-a.xml --\n<MSG/>\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browse(t, p, "file=rules/flop-gtdt@1.lua&case=flop-gtdt")
	b.puts("state-editor", "- flight: 1000345\n  REMC: '"+markup+"'\n  "+markup+": 1\n")
	b.expect("#input-faults", "<img")
	b.puts("state-editor", "- flight: 1000345\n  REMC: '"+markup+"'\n")
	b.click("#result > details > summary")
	b.expect("#result", markup)
	b.puts("script-editor", `return { kind = "FLOP-GTDT", writes = { "GTDT", [==[`+markup+`]==] }, decide = function(view, msg) return { skip = "`+markup+`" } end }`)
	b.expect("#problems", "<img")
	b.puts("script-editor", `return { kind = "FLOP-GTDT", writes = { "GTDT" }, decide = function(view, msg) return { skip = "`+markup+`" } end }`)
	b.expect("#result", "<script>")
	b.puts("message-editor", "<"+markup)
	b.picks("case", `<img src=x onerror=window.hit=1>`)
	b.expect("#about", markup)
	if value[bool](b, `"hit" in window`) || value[int](b, `document.images.length`) != 0 {
		t.Error("a text became part of the page")
	}
	// And should one ever, the policy of the page stops it.
	b.do("inject", chromedp.Evaluate[chromedp.Void](`(() => {
		const s = document.createElement("script"); s.textContent = "window.hit=1"; document.body.append(s);
		const d = document.createElement("div"); d.innerHTML = '<p onclick="window.hit=1">x</p>'; document.body.append(d); d.firstChild.click();
	})(); undefined`))
	if value[bool](b, `"hit" in window`) {
		t.Error("an injected script ran")
	}
}

// TestWhatChangedOnDiskIsNotLost: the page asks, and does as it is told.
func TestWhatChangedOnDiskIsNotLost(t *testing.T) {
	b := browse(t, start(t), "file=rules/flop-gtdt@1.lua&case=flop-gtdt")
	const name = gatesFile
	theirs := b.onDisk(name) + "-- theirs\n"
	change := func() {
		if err := os.WriteFile(filepath.Join(b.dir, name), []byte(theirs), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change()
	b.types("script-editor", "return {", "-- mine\n")
	b.save()
	b.until(`document.getElementById("conflict-dialog").open`)
	b.expect("#conflict-dialog", "has changed on disk", "Save over it")
	b.click("#conflict-dialog .back")
	if got := b.onDisk(name); got != theirs {
		t.Errorf("found on disk\n%s\nexpected it untouched", got)
	}
	b.save()
	b.until(`document.getElementById("conflict-dialog").open`)
	b.click("#conflict-dialog .do")
	b.until(`document.getElementById("file-state").textContent.startsWith("Saved")`)
	if got := b.onDisk(name); !strings.Contains(got, "-- mine") || strings.Contains(got, "-- theirs") {
		t.Errorf("found on disk\n%s\nexpected the text of the page", got)
	}
	change()
	b.types("script-editor", "-- mine", "-- more\n")
	b.save()
	b.until(`document.getElementById("conflict-dialog").open`)
	b.click("#conflict-read")
	b.until(`document.querySelector("#script-editor .CodeMirror").CodeMirror.getValue().includes("-- theirs")`)
	b.expect("#file-state", "As on disk")
}

// TestVersionsCasesAndTheCorpus: what is behind the buttons.
func TestVersionsCasesAndTheCorpus(t *testing.T) {
	b := browse(t, start(t), "file=rules/flop-gtdt@1.lua&case=flop-gtdt")
	b.types("script-editor", "merge.replace", `merge.by_key("GTNO") or `)
	b.click("#run-corpus")
	b.until(`document.getElementById("corpus-verdict") !== null`)
	b.expect("#corpus", "cases not as expected", "lines 3 of 3")

	b.click("#save-version")
	b.click("#version-dialog .do")
	b.until(`document.getElementById("file").value === "rules/flop-gtdt@2.lua"`)
	b.settled()
	b.expect("#file-state", "As on disk", "this version stands in")
	if got := b.onDisk("rules/flop-gtdt@2.lua"); !strings.Contains(got, "by_key") || strings.Contains(b.onDisk(gatesFile), "by_key") {
		t.Errorf("found version 2\n%s\nexpected the text there and only there", got)
	}

	b.click("#save-case")
	b.do("name it", chromedp.SendKeys(chromedp.CSS("#case-name"), "gates-by-number"))
	b.click("#case-dialog .do")
	b.until(`document.querySelector("#case-dialog .error").textContent.includes("no comment")`)
	b.do("say what it shows", chromedp.SendKeys(chromedp.CSS("#case-comment"), "Gates are told apart by number."))
	b.click("#case-preview")
	b.until(`document.getElementById("case-text").textContent.includes("-- expect --")`)
	b.click("#case-dialog .do")
	b.until(`document.getElementById("case").value === "gates-by-number"`)
	if _, err := os.Stat(filepath.Join(b.golden, "cases/gates-by-number.txtar")); err != nil {
		t.Error(err)
	}
	b.settled()
	b.expect("#result", "As the case expects")
}

// TestTheKeyboardReachesEverything: Tab leaves the editors, and what has the focus shows it.
func TestTheKeyboardReachesEverything(t *testing.T) {
	b := browse(t, start(t, readOnly), "file=rules/flop-gtdt@1.lua&case=flop-gtdt")
	reached := map[string]bool{}
	for range 60 {
		b.do("Tab", chromedp.KeyEvent("\t"))
		reached[value[string](b, `(document.activeElement.closest("[id]") || document.body).id`)] = true
	}
	for _, id := range []string{"case", "save-case", "message", "add-message", "message-editor", "state-editor", "file", "script-editor", "problems", "run-corpus", "result"} {
		if !reached[id] {
			t.Errorf("Tab does not come to %s, only to %v", id, reached)
		}
	}
	b.expect(".place", "read-only")
	b.expect("#file-state", "--dir")
	b.save()
	b.until(`document.getElementById("activity").textContent.includes("--dir")`)
}

// TestThePageFitsTheWindow: no width makes it scroll sideways.
func TestThePageFitsTheWindow(t *testing.T) {
	b := browse(t, start(t), "file=rules/flop-gtdt@1.lua&case=flop-gtdt")
	for _, width := range []int64{1440, 1280, 1000, 390} {
		b.do("resize", chromedp.EmulateViewport(width, 800))
		if wide := value[int64](b, `document.documentElement.scrollWidth`); wide > width {
			t.Errorf("the page is %d wide in a window of %d", wide, width)
		}
	}
}
