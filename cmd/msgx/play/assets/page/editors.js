// The editors, and what stands in their margins.
/* global CodeMirror */

import { byId, el, word } from "./dom.js";

// Tab goes on to the next control, as everywhere; Ctrl-] indents.
const keys = { Tab: false, "Shift-Tab": false, "Ctrl-]": "indentMore", "Ctrl-[": "indentLess", "Cmd-]": "indentMore", "Cmd-[": "indentLess", "Ctrl-/": "toggleComment", "Cmd-/": "toggleComment" };

function editor(id, mode, label, more) {
  const cm = CodeMirror(byId(id), { mode, lineNumbers: true, indentUnit: 2, tabSize: 4, extraKeys: keys, matchBrackets: true, ...more });
  cm.getInputField().setAttribute("aria-label", label);
  cm.getWrapperElement().addEventListener("focusin", () => cm.getWrapperElement().classList.add("focused"));
  cm.getWrapperElement().addEventListener("focusout", () => cm.getWrapperElement().classList.remove("focused"));
  return cm;
}

export const script = editor("script-editor", "lua", word("script"), {
  gutters: ["problem", "CodeMirror-linenumbers", "ran", "covered"], styleActiveLine: true,
});
export const message = editor("message-editor", "xml", word("message"), {});
export const state = editor("state-editor", "yaml", word("state"), {});
export const comment = editor("comment-editor", null, word("comment"), { lineNumbers: false, lineWrapping: true });

export function goTo(line) {
  script.setCursor({ line: line - 1, ch: 0 });
  script.scrollIntoView({ line: line - 1, ch: 0 }, 80);
  script.focus();
}

function mark(gutter, line, kind, text, title) {
  if (line < 1 || line > script.lineCount()) return;
  script.setGutterMarker(line - 1, gutter, el("span", { class: "mark " + kind, role: "img", title, "aria-label": title }, text));
}

// showRan marks the lines that can run: how often, or that they did not.
export function showRan(lines) {
  script.operation(() => {
    script.clearGutter("ran");
    for (const l of lines) {
      if (l.count > 0) mark("ran", l.line, "ran", "×" + l.count, word("ran", l.count));
      else if (l.loaded) mark("ran", l.line, "loaded", "·", word("ran-loading"));
      else mark("ran", l.line, "not-ran", "–", word("ran-not"));
    }
  });
}

// staleRan says that the counts are of an earlier text.
export function staleRan(stale) {
  script.getWrapperElement().classList.toggle("stale", stale);
}

export function showCoverage(file) {
  script.operation(() => {
    script.clearGutter("covered");
    if (!file) return;
    const missing = new Map();
    for (const m of file.missing) missing.set(m.line, [...(missing.get(m.line) || []), m.what]);
    for (const hit of file.hits) {
      if (!missing.has(hit.line)) mark("covered", hit.line, "covered", "✓", word("covered-line", hit.count, hit.cases.length));
    }
    for (const [line, what] of missing) mark("covered", line, "missed", "▲", word("missed-line", what.join("; ")));
  });
}

let underlined = [];

// showProblems underlines what findings and faults are about. A column counts characters.
export function showProblems(problems) {
  script.operation(() => {
    script.clearGutter("problem");
    for (const u of underlined) u.clear();
    underlined = [];
    const byLine = new Map();
    for (const p of problems) {
      if (p.line < 1 || p.line > script.lineCount()) continue;
      byLine.set(p.line, [...(byLine.get(p.line) || []), p]);
      const text = script.getLine(p.line - 1);
      const from = p.column ? units(text, p.column - 1) : text.length - text.trimStart().length;
      const to = p.column ? Math.max(units(text, p.column - 1 + p.width), from + 1) : Math.max(text.length, from + 1);
      underlined.push(script.markText({ line: p.line - 1, ch: from }, { line: p.line - 1, ch: to }, { className: "wrong", title: p.text }));
    }
    for (const [line, list] of byLine) mark("problem", line, "wrong-mark", "■", list.map((p) => p.code + " " + p.text).join("\n"));
  });
}

// units is how many of JavaScript's units the first characters of a text take.
function units(text, characters) {
  return [...text].slice(0, characters).join("").length;
}
