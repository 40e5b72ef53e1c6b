// The page: what the editors hold goes to the rules as it is typed.

import { byId, el, fill, get, post, Refused, word } from "./dom.js";
import * as editors from "./editors.js";
import * as input from "./input.js";
import * as file from "./file.js";
import * as problems from "./problems.js";
import * as result from "./result.js";
import * as corpus from "./corpus.js";
import { ask, leave, say } from "./dialogs.js";

const pause = 250; // milliseconds without a key before the rules run

let timer;
let running = new AbortController();

function activity(text) {
  byId("activity").textContent = text || "";
}

// guarded runs something for a control, and says what went wrong.
function guarded(what) {
  return async (...args) => {
    try {
      return await what(...args);
    } catch (wrong) {
      if (!(wrong instanceof Refused)) throw wrong;
      activity(word("failed", wrong.message));
      return undefined;
    }
  };
}

// soon runs the rules when nothing was typed for a while; what runs meanwhile is given up.
function soon() {
  clearTimeout(timer);
  running.abort();
  document.body.dataset.settled = "false";
  stale(word("stale-behind"));
  corpus.compare(file.source());
  timer = setTimeout(guarded(run), pause);
}

function stale(text) {
  const known = byId("result").querySelector("article") !== null;
  byId("result-state").textContent = known ? text : "";
  byId("result-state").className = "old";
  editors.staleRan(known);
}

async function run() {
  clearTimeout(timer);
  running.abort();
  const mine = new AbortController();
  running = mine;
  activity(word("running"));
  let answer;
  const name = file.name();
  try {
    answer = await post("evaluate", { file: name, source: file.source(), input: input.read() }, mine.signal);
  } catch (wrong) {
    if (wrong.name === "AbortError") return; // a newer run is under way
    throw wrong;
  }
  if (mine.signal.aborted || name !== file.name()) return;
  activity("");
  show(name, answer);
  document.body.dataset.settled = "true";
}

function show(name, answer) {
  file.stands(answer.standing, answer.instead);
  problems.show(name, answer);
  input.faults(answer.input_faults);
  if (!answer.result) {
    stale(word("stale"));
    if (!byId("result").querySelector("article")) fill(byId("result"), el("p", { class: "hint" }, word("nothing-yet")));
    return;
  }
  result.show(name, answer.result);
  editors.showRan(answer.result.lines);
  editors.staleRan(false);
  byId("result-state").textContent = word("current");
  byId("result-state").className = "";
}

// remember keeps file and case in the address, so that it can be opened again.
function remember() {
  const hash = new URLSearchParams({ file: file.name() });
  if (byId("case").value) hash.set("case", byId("case").value);
  history.replaceState(null, "", "#" + hash);
}

function clearResult() {
  fill(byId("result"));
  editors.showRan([]);
  corpus.forget();
}

// settle runs at once what has just been opened.
async function settle() {
  remember();
  document.body.dataset.settled = "false";
  stale("");
  await run();
}

// pickCase opens a case; whoever has written an input of their own is asked first.
async function pickCase(name) {
  if (input.edited() && (await leave(word("leave-input"))) === undefined) {
    byId("case").value = input.opened();
    return;
  }
  await openCase(name);
}

// openCase opens a case and, unless the file has unsaved text, the script that decides it.
async function openCase(name) {
  const files = await input.open(name);
  const open = file.name();
  if (files.length > 0 && !files.includes(open) && (open.includes("@") || open === "") && !file.dirty()) {
    await file.open(files[0]);
    corpus.forget();
  }
  await settle();
}

// openFile opens a file and, unless the input was edited, the case of the same name.
async function openFile(name) {
  if (!(await file.open(name))) return;
  clearResult();
  const like = name.replace(/^.*\//, "").replace(/(@\d+)?\.lua$/, "");
  if (!input.edited() && [...byId("case").options].some((o) => o.value === like)) await input.open(like);
  await settle();
}

async function lists() {
  const { files, cases } = await get("lists");
  const chosen = byId("case").value;
  fill(byId("file"), files.map((name) => el("option", { value: name }, name)));
  fill(byId("case"), el("option", { value: "" }, word("own-input")), cases.map((name) => el("option", { value: name }, name)));
  byId("file").value = file.name();
  byId("case").value = chosen;
}

async function save() {
  if (file.readOnly) {
    activity("■ " + word("read-only-why"));
    return;
  }
  await file.save();
  soon(); // the standing may be another, and so may what was read from disk
}

async function saveCase() {
  const question = () => ({ file: file.name(), source: file.source(), input: input.read(), name: byId("case-name").value, comment: byId("case-comment").value });
  byId("case-text").textContent = "";
  byId("case-preview").onclick = async () => {
    say("case-dialog", "");
    try {
      byId("case-text").textContent = (await post("compose", question())).text;
    } catch (wrong) {
      if (!(wrong instanceof Refused)) throw wrong;
      say("case-dialog", wrong.message);
    }
  };
  const saved = await ask("case-dialog", () => post("case", question()));
  if (!saved) return;
  activity(word("case-saved", saved.file));
  await lists();
  await input.open(byId("case-name").value);
  await settle();
}

async function start() {
  input.listen(soon);
  file.listen(soon);
  const on = (id, event, what) => byId(id).addEventListener(event, guarded(what));
  on("case", "change", (e) => pickCase(e.target.value));
  on("file", "change", (e) => openFile(e.target.value));
  on("save", "click", save);
  on("save-case", "click", saveCase);
  on("save-version", "click", async () => {
    if (!(await file.saveVersion())) return;
    await lists();
    await settle();
  });
  on("run-corpus", "click", () => corpus.run(file.name(), file.source(), guarded(pickCase)));
  window.addEventListener("keydown", (e) => {
    if ((e.ctrlKey || e.metaKey) && !e.altKey && e.key.toLowerCase() === "s") {
      e.preventDefault();
      guarded(save)();
    }
  });
  window.addEventListener("beforeunload", (e) => {
    if (file.dirty()) e.preventDefault();
  });
  const wanted = new URLSearchParams(location.hash.slice(1));
  const first = [...byId("file").options].map((o) => o.value).find((name) => name.includes("@"));
  if (wanted.get("case")) {
    if (wanted.get("file")) await file.open(wanted.get("file"));
    await openCase(wanted.get("case"));
  } else {
    await input.open("");
    await openFile(wanted.get("file") || first || "handlers.lua");
  }
}

guarded(start)();
