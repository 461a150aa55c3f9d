// What the server says about an action that did not work, as text.
import { reason } from "./parts.js";

export function start() {
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (document.hidden && isQuiet(event)) event.preventDefault();
  });
  document.addEventListener("htmx:responseError", (event) => tell(event, reasonOf(event.detail.xhr)));
  document.addEventListener("htmx:sendError", (event) => tell(event, "The server cannot be reached."));
}

function tell(event, text) {
  if (!isQuiet(event)) say(text, event.detail.elt);
}

// An element with `data-quiet` polls: nobody waits for its requests, and in a hidden tab nobody sees the answers.
function isQuiet(event) {
  return event.detail.elt.matches("[data-quiet]");
}

function reasonOf(answer) {
  return reason(answer.getResponseHeader("Content-Type"), answer.responseText, answer.status);
}

// If something is waited for, its place says why it does not come.
export function say(text, asker) {
  const waiting = asker?.querySelector("[data-waiting]");
  if (waiting) {
    asker.removeAttribute("aria-busy");
    waiting.textContent = text.slice(0, 300);
    return;
  }
  const notice = document.createElement("p");
  notice.className = "notice notice-deny";
  notice.textContent = text.slice(0, 300);
  document.getElementById("notices")?.replaceChildren(notice);
  setTimeout(() => notice.remove(), 8000);
}
