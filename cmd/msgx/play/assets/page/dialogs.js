// Questions before something is written or dropped.

import { byId, Refused } from "./dom.js";

// ask shows a dialog. act is called when its main button is pressed; what it throws is shown
// in the dialog, which then stays. It gives what act gave, undefined for Back.
export function ask(id, act) {
  const dialog = byId(id);
  const error = dialog.querySelector(".error");
  if (error) error.textContent = "";
  return new Promise((resolve) => {
    const listening = new AbortController();
    let outcome;
    const on = (target, event, fn) => target.addEventListener(event, fn, { signal: listening.signal });
    on(dialog.querySelector(".back"), "click", () => dialog.close());
    on(dialog.querySelector(".do"), "click", async () => {
      try {
        outcome = await act();
        dialog.close();
      } catch (wrong) {
        if (!(wrong instanceof Refused)) throw wrong;
        error.textContent = wrong.message;
      }
    });
    on(dialog, "close", () => {
      listening.abort();
      resolve(outcome);
    });
    dialog.showModal();
  });
}

// leave asks before something that is not saved is dropped; undefined means to stay.
export function leave(what) {
  byId("leave-what").textContent = what;
  return ask("leave-dialog", async () => true);
}

// say shows an error in an open dialog.
export function say(id, text) {
  byId(id).querySelector(".error").textContent = text;
}
