// What the server says about an action that did not work, as text.
export function start() {
  document.addEventListener("htmx:responseError", (event) => say(reason(event.detail.xhr), event.detail.elt));
  document.addEventListener("htmx:sendError", (event) => say("The server cannot be reached.", event.detail.elt));
}

// A whole page, for people who typed an address, is nothing for a line.
function reason(answer) {
  const isText = answer.getResponseHeader("Content-Type")?.startsWith("text/plain");
  return isText ? answer.responseText : `That did not work: the server answered ${answer.status}.`;
}

// What was waited for says itself why it does not come.
function say(text, asker) {
  const waiting = asker.querySelector("[data-waiting]");
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
