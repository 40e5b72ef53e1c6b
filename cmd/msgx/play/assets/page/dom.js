// Elements, texts and requests. Whatever comes from a script, a message or a state is set as
// text, never as markup.

const words = JSON.parse(document.getElementById("words").textContent);

// word gives a text of the page; {0}, {1} … are filled in.
export function word(key, ...values) {
  if (!(key in words)) throw new Error("words.json has no " + key);
  return words[key].replace(/\{(\d)\}/g, (_, n) => String(values[Number(n)]));
}

export const byId = (id) => document.getElementById(id);

// el makes an element: attributes, then children, which are elements or texts.
export function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== ""));
  return made;
}

export function fill(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter((c) => c !== undefined && c !== null && c !== ""));
}

// difference shows a difference in print: - is expected, + is what came.
export function difference(text) {
  const kinds = { "+": "plus", "-": "minus" };
  return el("pre", { class: "difference" }, text.split("\n").map((line) => el("span", { class: kinds[line[0]] }, line + "\n")));
}

// Refused is an answer that says no; text says what to do.
export class Refused extends Error {
  constructor(status, answer) {
    super(answer.error || String(status));
    this.status = status;
    this.digest = answer.digest;
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch("api/" + path, options);
  } catch (wrong) {
    if (wrong.name === "AbortError") throw wrong;
    throw new Refused(0, { error: word("away") });
  }
  const text = await response.text();
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new Refused(response.status, { error: text });
  }
  if (!response.ok) throw new Refused(response.status, answer);
  return answer;
}

export const get = (path, name) => ask(path + (name === undefined ? "" : "?name=" + encodeURIComponent(name)), {});

export const post = (path, question, signal) =>
  ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question), signal });
