// The list of problems under the script: each with its line, and a caret where it is.

import { byId, el, fill, word } from "./dom.js";
import { goTo, script, showProblems } from "./editors.js";

// show lists what is wrong with the file: what reading it finds, why it does not load,
// and what it raised while it ran.
export function show(file, answer) {
  const raised = answer.result ? answer.result.raised : [];
  const problems = answer.lint.map((f) => ({ ...f, text: f.message }));
  for (const f of [...answer.faults, ...raised]) {
    const known = problems.some((p) => p.code === f.code && (p.line === f.line || f.line === 0));
    if (f.file === file && !known) problems.push(located(f));
  }
  problems.sort((a, b) => a.line - b.line || a.column - b.column);
  const others = answer.faults.filter((f) => f.file !== file);
  showProblems(problems);
  byId("problems-count").textContent = problems.length + others.length > 0 ? word("problem-count", problems.length + others.length) : "";
  fill(byId("problems"),
    problems.length + others.length === 0 ? el("p", { class: "none" }, word("no-problems")) : "",
    problems.map(problem),
    others.length > 0 ? el("p", { class: "bad" }, "■ " + word("elsewhere")) : "",
    others.map((f) => el("p", {}, el("code", {}, f.file ? f.file + (f.line ? ":" + f.line : "") : ""), " ", f.text)));
}

// located is a fault that knows its line only: it is about all that stands there.
function located(f) {
  const source = f.line > 0 ? script.getLine(f.line - 1) || "" : "";
  const text = source.trim();
  return { ...f, source, column: text ? source.indexOf(text) + 1 : 0, width: [...text].length };
}

function problem(p) {
  const text = el("span", {}, " ", p.text);
  const head = p.line > 0
    ? el("button", { type: "button", class: "link", onclick: () => goTo(p.line) }, word("line", p.line))
    : "";
  return el("div", { class: "problem" },
    el("p", {}, el("strong", { class: "bad" }, "■ " + p.code), " ", head, text),
    p.source && p.column ? el("pre", {}, p.source + "\n" + caret(p)) : "",
    p.fix ? el("p", { class: "hint" }, el("b", {}, word("fix") + ": "), p.fix) : "",
    p.cause ? el("p", { class: "hint" }, el("b", {}, word("cause") + ": "), p.cause) : "");
}

// caret points below the source; tabs stay, so that it stands where it should.
function caret(p) {
  const before = [...p.source].slice(0, p.column - 1).map((c) => (c === "\t" ? "\t" : " ")).join("");
  return before + "^".repeat(Math.max(1, p.width));
}
