// The corpus, run on demand with the text of the editor.

import { byId, difference, el, fill, post, word } from "./dom.js";
import { goTo, showCoverage } from "./editors.js";

let of = null; // the text that was run

// forget drops what was run: another file is open.
export function forget() {
  of = null;
  byId("corpus").hidden = true;
  showCoverage(null);
}

// compare says when the text is no longer the one that was run.
export function compare(source) {
  const note = byId("corpus").querySelector(".age");
  if (note) note.textContent = of === source ? "" : word("corpus-stale");
}

// run runs it; open opens a case.
export async function run(file, source, open) {
  const pane = byId("corpus");
  pane.hidden = false;
  fill(pane, el("p", { role: "status" }, word("running-corpus")));
  const answer = await post("corpus", { file, source });
  of = source;
  showCoverage(answer.coverage);
  if (answer.faults.length > 0) {
    fill(pane, el("p", { class: "bad" }, "■ " + word("cannot-load")), answer.faults.map((f) => el("p", {}, f.file ? f.file + ":" + f.line + ": " : "", f.text)));
    return;
  }
  const failing = answer.failing.length;
  fill(pane,
    el("p", {}, el("b", { id: "corpus-verdict", class: failing ? "warn" : "" },
      failing ? word("corpus-failed", failing, answer.cases) : word("corpus-passed", answer.cases)), " ", el("span", { class: "age" })),
    coverage(file, answer.coverage),
    answer.failing.map((c) => el("details", {},
      el("summary", {}, "▲ " + c.name),
      el("button", { type: "button", onclick: () => open(c.name) }, word("open-case")),
      difference(c.text))));
}

function coverage(file, c) {
  if (!c) return el("p", { class: "hint" }, word("coverage-none"));
  return [
    el("p", { class: "numbers" }, word("coverage", file, c.lines.covered, c.lines.total, c.outcomes.covered, c.outcomes.total)),
    c.missing.length === 0 ? el("p", {}, word("coverage-whole")) : el("ul", {}, c.missing.map((m) => el("li", {},
      el("button", { type: "button", class: "link", onclick: () => goTo(m.line) }, word("line", m.line)), " ", m.what))),
  ];
}
