// The input: a case that was picked, or what somebody pasted.

import { byId, el, fill, get, word } from "./dom.js";
import * as editors from "./editors.js";

let parts = blank(); // as they go to the server
let shown = 0; // the message in the editor
let loading = false;
let touched = false; // since the case was opened
let openedCase = ""; // its name

function blank() {
  return { comment: "", state: "", messages: [{ name: "01-message.xml", text: "" }] };
}

// read gives the input as it stands. What a case expects is left out once it was edited.
export function read() {
  return touched ? { ...parts, expect: undefined } : parts;
}

export const edited = () => touched;
export const opened = () => openedCase;

// open puts a case, or a blank input for "", into the editors, and gives the scripts that
// decide it.
export async function open(name) {
  const found = name ? await get("case", name) : { input: blank(), files: [] };
  parts = found.input;
  if (parts.messages.length === 0) parts.messages = blank().messages;
  byId("case").value = name;
  openedCase = name;
  touched = false;
  show(0);
  load(editors.state, parts.state);
  load(editors.comment, parts.comment);
  byId("about").textContent = summary(parts.comment);
  return found.files;
}

function summary(comment) {
  return comment.split("\n").filter((line) => !line.trim().startsWith("!")).join(" ").trim();
}

function load(editor, text) {
  loading = true;
  editor.setValue(text);
  editor.clearHistory();
  loading = false;
}

function show(n) {
  shown = n;
  fill(byId("message"), parts.messages.map((m, i) => el("option", { value: i }, m.name)));
  byId("message").value = n;
  byId("remove-message").disabled = parts.messages.length < 2;
  load(editors.message, parts.messages[n].text);
}

function touch(changed) {
  touched = true;
  if (byId("case").value) byId("about").textContent = word("input-edited");
  changed();
}

// listen calls changed after each edit of the input.
export function listen(changed) {
  const on = (editor, take) => editor.on("change", () => {
    if (loading) return;
    take(editor.getValue());
    touch(changed);
  });
  on(editors.message, (text) => (parts.messages[shown].text = text));
  on(editors.state, (text) => (parts.state = text));
  on(editors.comment, (text) => (parts.comment = text));
  byId("message").addEventListener("change", (e) => show(Number(e.target.value)));
  byId("add-message").addEventListener("click", () => {
    const last = parts.messages[parts.messages.length - 1].name;
    const number = Math.max(parts.messages.length, Number.parseInt(last, 10) || 0) + 1;
    parts.messages.push({ name: String(number).padStart(2, "0") + "-message.xml", text: "" });
    show(parts.messages.length - 1);
    touch(changed);
  });
  byId("remove-message").addEventListener("click", () => {
    parts.messages.splice(shown, 1);
    show(Math.max(0, shown - 1));
    touch(changed);
  });
  byId("comment-details").addEventListener("toggle", () => editors.comment.refresh());
}

// faults shows what is wrong with the input.
export function faults(list) {
  fill(byId("input-faults"), list.map((f) => el("li", {}, "■ " + [f.part, f.line ? word("line", f.line) : ""].filter(Boolean).join(", ") + ": ", f.text)));
}
