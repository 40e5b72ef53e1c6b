// What the rules made of the input.

import { byId, el, fill, word } from "./dom.js";
import { goTo } from "./editors.js";

const opened = new Set(["changes", "events"]); // sections that are open, kept from run to run

function section(key, title, ...children) {
  const made = el("details", { class: "section", open: opened.has(key) }, el("summary", {}, title), ...children);
  made.addEventListener("toggle", () => (made.open ? opened.add(key) : opened.delete(key)));
  return made;
}

const glyphs = { SUCCEEDED: "✓", SKIPPED: "–", DEAD: "■", FAILED: "■" };

// show puts a result in the place of the last. Where it was scrolled to stays.
export function show(file, result) {
  const pane = byId("result");
  const top = pane.scrollTop;
  const ran = result.lines.some((l) => l.count > 0);
  fill(pane,
    expectation(result),
    ran || file === "handlers.lua" ? "" : el("p", { class: "hint" }, "◇ " + word("did-not-run")),
    result.messages.map((m) => told(m, file)),
    section("after", word("afterwards"), el("pre", {}, result.after || word("nothing-afterwards"))),
    el("p", { class: "hint" }, word("ruleset", result.ruleset.slice(0, 12), result.zone)));
  pane.scrollTop = top;
}

function expectation(result) {
  if (result.expected === null) return "";
  if (result.expected) return el("p", { id: "expectation" }, word("expected"));
  const made = section("expectation", el("span", { class: "warn" }, word("not-expected")), el("p", { class: "hint" }, word("difference")),
    el("pre", { class: "difference" }, result.difference.split("\n").map((line) =>
      el("span", { class: line[0] === "+" ? "plus" : line[0] === "-" ? "minus" : "" }, line + "\n"))));
  made.id = "expectation";
  return made;
}

function told(m, file) {
  const bad = m.state === "DEAD" || m.state === "FAILED";
  return el("article", { class: "told" },
    el("h3", {}, el("span", { class: bad ? "bad" : "" }, (glyphs[m.state] || "") + " " + m.state + (m.class ? " " + m.class : "")), " ", el("span", { class: "name" }, m.name)),
    m.reason ? el("p", { class: bad ? "reason bad-tint" : "reason" }, m.reason) : "",
    el("p", { class: "hint numbers" }, [m.kind, m.script || word("no-script"), m.trace ? cost(m.trace) : ""].filter(Boolean).join(" · ")),
    texts("notes", m.notes.map((n) => (n.flid ? word("note-flight", n.flid, n.reason) : n.reason))),
    texts("warnings", m.warnings),
    texts("unknown", m.unknown.map((u) => u.path + " (" + u.count + ")")),
    texts("dropped", m.dropped.map((u) => u.path + " (" + u.count + ")")),
    changes(m), references(m), requests(m), events(m),
    m.trace ? [branches(m.trace, file), reads(m.trace), texts("wrote", m.trace.writes, m.trace.writes.length)] : "");
}

function cost(trace) {
  const number = (n) => n.toLocaleString("en");
  const percent = trace.budget ? (100 * trace.instructions) / trace.budget : 0;
  return word("instructions", number(trace.instructions), number(trace.budget), percent < 10 ? percent.toFixed(1) : Math.round(percent));
}

function texts(key, list, count) {
  if (list.length === 0) return "";
  return section(key, count === undefined ? word(key) : word(key, count), el("ul", {}, list.map((text) => el("li", {}, text))));
}

function changes(m) {
  if (m.flights.length === 0) {
    return m.state === "SUCCEEDED" && m.references.length === 0 ? el("p", { class: "hint" }, word("no-changes")) : "";
  }
  return section("changes", word("changes"), m.flights.map((f) => [
    el("p", { class: "flight" }, el("b", {}, word("flight", f.flid)), " ", f.op, ", ",
      f.before ? word("version-step", f.before, f.after) : word("new-flight", f.after)),
    el("table", {}, el("tbody", {}, f.changes.map(change))),
  ]));
}

function change(c) {
  if (c.entries) {
    return el("tr", {}, el("th", { scope: "row" }, c.path), el("td", { colspan: 2 }, el("ol", { class: "entries" }, c.entries.map(entry))));
  }
  return el("tr", {}, el("th", { scope: "row" }, c.path), el("td", { class: "was" }, c.before || word("none")), el("td", {}, "→ ", el("b", {}, c.after || word("none"))));
}

const signs = { "+": "plus", "-": "minus", " ": "same" };

function entry(e) {
  return el("li", { class: signs[e.sign] },
    el("span", { class: "sign" }, e.sign === "-" ? "−" : e.sign),
    el("span", {}, e.fields.map((f) => [" ", el("span", { class: f.differs ? "differs" : "" }, f.tag ? f.tag + " " : "", f.value)])));
}

function references(m) {
  return m.references.length === 0 ? "" : section("changes", word("references"),
    el("table", {}, el("tbody", {}, m.references.map((r) =>
      el("tr", {}, el("th", { scope: "row" }, r.type + " " + r.key), el("td", {}, r.op), el("td", {}, r.value))))));
}

function requests(m) {
  return texts("requests", m.requests.map((r) => r.name + " " + JSON.stringify(r.fields)));
}

function events(m) {
  return m.events.length === 0 ? "" : section("events", word("events"), m.events.map((e) => el("details", { class: "event" },
    el("summary", {}, el("b", {}, e.target), " ", word("flight", e.flid), ", ", word("event-version", e.version), e.key === e.flid ? "" : ", " + word("event-key", e.key),
      e.payload === null ? ", " + word("tombstone") : ""),
    e.payload === null ? "" : el("pre", {}, JSON.stringify(e.payload, null, 2)))));
}

function way(b) {
  const loop = b.kind === "for" || b.kind === "while";
  if (b.taken) return "✓ " + word(loop ? "round" : "held");
  return "✗ " + word(loop ? "no-round" : "did-not-hold");
}

function branches(trace, file) {
  if (trace.branches.length === 0) return "";
  return section("branches", word("branches", trace.branches.length),
    el("table", { class: "branches" }, el("tbody", {}, trace.branches.map((b) => {
      const name = b.file.replace(/^.*\//, "").replace(/\.lua$/, "") + ":" + b.line;
      const place = b.file === file ? el("button", { type: "button", class: "link", onclick: () => goTo(b.line) }, name) : name;
      return el("tr", {},
        el("td", { class: "place" }, place),
        el("td", {}, el("code", {}, b.text.startsWith(b.kind) ? b.text : b.kind + " " + b.text), b.operands.map((o) => el("div", { class: "operand" }, o))),
        el("td", { class: "way" }, way(b)));
    }))),
    trace.cut > 0 ? el("p", { class: "hint" }, word("branches-cut", trace.cut)) : "");
}

function reads(trace) {
  return trace.reads.length === 0 ? "" : section("reads", word("looked-at", trace.reads.length),
    el("table", {}, el("tbody", {}, trace.reads.map((r) => el("tr", {}, el("th", { scope: "row" }, r.name), el("td", {}, r.value))))));
}
