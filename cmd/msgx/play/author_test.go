package play

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

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

	b.do("scroll", chromedp.EmulateViewport(1440, 520), chromedp.Evaluate[chromedp.Void](`document.getElementById("result").scrollTop = 40; undefined`))
	b.types("script-editor", "if msg.kind", "local idle = 1 ")
	if top := value[float64](b, `document.getElementById("result").scrollTop`); top != 40 {
		t.Errorf("the result jumped from 40 to %g while typing", top)
	}
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
	b.until(`document.querySelector("#result > details > pre") !== null`) // it is filled when it opens
	b.expect("#result", markup)
	b.puts("script-editor", `return { kind = "FLOP-GTDT", writes = { "GTDT", [==[`+markup+`]==] }, decide = function(view, msg) return { skip = "`+markup+`" } end }`)
	b.expect("#problems", "<img")
	b.puts("script-editor", `return { kind = "FLOP-GTDT", writes = { "GTDT" }, decide = function(view, msg) return { skip = "`+markup+`" } end }`)
	b.expect("#result", "<script>")
	b.puts("message-editor", "<"+markup)
	b.chooses("case", `<img src=x onerror=window.hit=1>`)
	b.click("#leave-dialog .do")
	b.until(`document.getElementById("about").textContent.includes("<img")`)
	b.settled()
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

// TestWhatIsNotSavedIsNotDropped without a question.
func TestWhatIsNotSavedIsNotDropped(t *testing.T) {
	b := browse(t, start(t), "file="+gatesFile+"&case=flop-gtdt")
	b.puts("state-editor", "- flight: 1000345\n")
	b.chooses("case", "fdel")
	b.expect("#leave-dialog", "save it as a case")
	b.click("#leave-dialog .back")
	b.until(`document.getElementById("case").value === "flop-gtdt"`)
	b.chooses("case", "fdel")
	b.click("#leave-dialog .do")
	b.until(`document.getElementById("file").value === "rules/fdel@1.lua"`)
	b.settled()
	b.types("script-editor", "return {", "-- mine\n")
	b.chooses("file", gatesFile)
	b.click("#leave-dialog .back")
	b.until(`document.getElementById("file").value === "rules/fdel@1.lua"`)
	b.expect("#script-editor", "-- mine")
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
