// What the server says about an action that did not work, as text.
import { reason } from "./parts.js";

export function start() {
  document.addEventListener("htmx:responseError", (event) => tell(event, reasonOf(event.detail.xhr)));
  document.addEventListener("htmx:sendError", (event) => tell(event, "The server cannot be reached."));
}

// What asks by itself, again and again, is `data-quiet`: nobody waits for it.
function tell(event, text) {
  if (!event.detail.elt.matches("[data-quiet]")) say(text, event.detail.elt);
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
