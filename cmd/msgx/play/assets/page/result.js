// What the rules made of the input.

import { byId, difference, el, fill, word } from "./dom.js";
import { goTo } from "./editors.js";

// The sections that are open, kept from run to run.
const opened = new Set(["notes", "warnings", "unknown", "dropped", "changes", "references", "requests", "events"]);

const most = 200; // of a list that are shown: a schedule has thousands of flights

// section is a part that opens and closes; what is in it is made when it is first open.
function section(key, title, make) {
  const made = el("details", { class: "section", open: opened.has(key) }, el("summary", {}, title));
  const complete = () => {
    if (made.open && made.childElementCount === 1) made.append(...[make()].flat(Infinity).filter((c) => c !== ""));
  };
  complete();
  made.addEventListener("toggle", () => {
    if (made.open) opened.add(key);
    else opened.delete(key);
    complete();
  });
  return made;
}

// some shows the first of a list, and says how many more there are.
function some(list, show) {
  return [list.slice(0, most).map(show), list.length > most ? el("p", { class: "hint" }, word("more", list.length - most)) : ""];
}

// rows is a table of the first of a list.
function rows(list, show) {
  const [shown, more] = some(list, show);
  return [el("table", {}, el("tbody", {}, shown)), more];
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
    section("after", word("afterwards"), () => el("pre", {}, result.after || word("nothing-afterwards"))),
    el("p", { class: "hint" }, word("ruleset", result.ruleset.slice(0, 12), result.zone)));
  pane.scrollTop = top;
}

function expectation(result) {
  if (result.expected === null) return "";
  if (result.expected) return el("p", { id: "expectation" }, word("expected"));
  const made = section("expectation", el("span", { class: "warn" }, word("not-expected")), () => [
    el("p", { class: "hint" }, word("difference")),
    difference(result.difference),
  ]);
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
  return section(key, count === undefined ? word(key) : word(key, count), () => {
    const [shown, more] = some(list, (text) => el("li", {}, text));
    return [el("ul", {}, shown), more];
  });
}

function changes(m) {
  if (m.flights.length === 0) {
    return m.state === "SUCCEEDED" && m.references.length === 0 ? el("p", { class: "hint" }, word("no-changes")) : "";
  }
  return section("changes", word("changes"), () => some(m.flights, (f) => [
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
  return m.references.length === 0 ? "" : section("references", word("references"), () => rows(m.references, (r) =>
    el("tr", {}, el("th", { scope: "row" }, r.type + " " + r.key), el("td", {}, r.op), el("td", {}, r.value))));
}

function requests(m) {
  return texts("requests", m.requests.map((r) => r.name + " " + JSON.stringify(r.fields)));
}

function events(m) {
  return m.events.length === 0 ? "" : section("events", word("events"), () => some(m.events, event));
}

function event(e) {
  const made = el("details", { class: "event" },
    el("summary", {}, el("b", {}, e.target), " ", word("flight", e.flid), ", ", word("event-version", e.version),
      e.key === e.flid ? "" : ", " + word("event-key", e.key), e.payload === null ? ", " + word("tombstone") : ""));
  if (e.payload !== null) {
    made.addEventListener("toggle", () => made.append(el("pre", {}, JSON.stringify(e.payload, null, 2))), { once: true });
  }
  return made;
}

function way(b) {
  const loop = b.kind === "for" || b.kind === "while";
  if (b.taken) return "✓ " + word(loop ? "round" : "held");
  return "✗ " + word(loop ? "no-round" : "did-not-hold");
}

function branches(trace, file) {
  if (trace.branches.length === 0) return "";
  const row = (b) => {
    const name = b.file.replace(/^.*\//, "").replace(/\.lua$/, "") + ":" + b.line;
    const place = b.file === file ? el("button", { type: "button", class: "link", onclick: () => goTo(b.line) }, name) : name;
    return el("tr", {},
      el("td", { class: "place" }, place),
      el("td", {}, el("code", {}, b.text.startsWith(b.kind) ? b.text : b.kind + " " + b.text), b.operands.map((o) => el("div", { class: "operand" }, o))),
      el("td", { class: "way" }, way(b)));
  };
  // The trace has left out some itself.
  return section("branches", word("branches", trace.branches.length + trace.cut), () => [
    el("table", { class: "branches" }, el("tbody", {}, trace.branches.slice(0, most).map(row))),
    trace.branches.length + trace.cut > most ? el("p", { class: "hint" }, word("more", trace.branches.length + trace.cut - Math.min(most, trace.branches.length))) : "",
  ]);
}

function reads(trace) {
  return trace.reads.length === 0 ? "" : section("reads", word("looked-at", trace.reads.length), () => rows(trace.reads, (r) =>
    el("tr", {}, el("th", { scope: "row" }, r.name), el("td", {}, r.value))));
}
