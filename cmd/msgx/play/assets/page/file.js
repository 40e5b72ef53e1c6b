// The file in the editor: opened, saved, saved as a new version.

import { byId, get, post, Refused, word } from "./dom.js";
import { script } from "./editors.js";
import { ask, leave } from "./dialogs.js";

export const readOnly = document.body.dataset.readOnly === "true";

let current = { name: "", text: "", digest: "", standing: "used", instead: "" };
let ends = "\n"; // how the file ends its lines
let loading = false;

export const name = () => current.name;
export const source = () => script.getValue(ends);
export const dirty = () => current.name !== "" && source() !== current.text;

// open reads a file from disk. Whoever has unsaved text is asked first; false when the
// answer is to stay.
export async function open(wanted) {
  const stay = () => (byId("file").value = current.name);
  if (dirty() && (await leave(word("leave-file"))) === undefined) {
    stay();
    return false;
  }
  try {
    take(await get("file", wanted));
  } catch (wrong) {
    stay();
    throw wrong;
  }
  return true;
}

function take(file) {
  current = file;
  ends = file.text.includes("\r\n") ? "\r\n" : "\n";
  loading = true;
  script.setValue(file.text);
  script.clearHistory();
  loading = false;
  byId("file").value = file.name;
  show();
}

export function listen(changed) {
  script.on("change", () => {
    if (loading) return;
    show();
    changed();
  });
}

// take in how the file stands in the rule set, as the last run has it.
export function stands(standing, instead) {
  current.standing = standing;
  current.instead = instead;
  show();
}

function show(saved) {
  const parts = [];
  if (readOnly) parts.push(word("read-only-why"));
  else parts.push(dirty() ? word("unsaved") : word(saved ? "saved" : "unchanged"));
  if (current.standing === "stands-in") parts.push("◇ " + word("stands-in", current.instead));
  if (current.standing === "idle") parts.push("◇ " + word("idle"));
  byId("file-state").textContent = parts.join(" ");
  byId("save-version").disabled = readOnly || !current.name.includes("@");
  document.title = (dirty() ? "● " : "") + current.name + " – " + word("title");
}

// save writes the text to its file. When the file is another on disk than the one that was
// opened, it asks.
export async function save() {
  const text = source();
  try {
    keep(text, await post("file", { file: current.name, source: text, base: current.digest }));
  } catch (wrong) {
    if (!(wrong instanceof Refused) || !wrong.digest) throw wrong;
    await conflict(text, wrong);
  }
}

function keep(text, saved) {
  current.text = text;
  current.digest = saved.digest;
  show(true);
}

async function conflict(text, wrong) {
  let digest = wrong.digest;
  const dialog = byId("conflict-dialog");
  const overwrite = async () => {
    try {
      keep(text, await post("file", { file: current.name, source: text, base: digest }));
    } catch (again) {
      if (again instanceof Refused && again.digest) digest = again.digest; // it has changed once more
      throw again;
    }
    return "written";
  };
  const answered = ask("conflict-dialog", overwrite);
  dialog.querySelector(".error").textContent = wrong.message;
  byId("conflict-read").onclick = async () => {
    const found = await get("file", current.name);
    dialog.close();
    script.setValue(found.text);
    take(found);
  };
  await answered;
}

// saveVersion files the text as a new version and opens it; it gives its name, undefined for Back.
export async function saveVersion() {
  const saved = await ask("version-dialog", () =>
    post("version", { file: current.name, source: source(), use: byId("version-use").checked }));
  if (!saved) return undefined;
  take(await get("file", saved.file));
  return saved.file;
}
