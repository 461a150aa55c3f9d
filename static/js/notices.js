// What the server says about an action that did not work, as text.
export function start() {
  document.addEventListener("htmx:responseError", (event) => say(reason(event.detail.xhr)));
  document.addEventListener("htmx:sendError", () => say("The server cannot be reached."));
}

// A whole page, for people who typed an address, is nothing for a line.
function reason(answer) {
  const isText = answer.getResponseHeader("Content-Type")?.startsWith("text/plain");
  return isText ? answer.responseText : `That did not work: the server answered ${answer.status}.`;
}

function say(text) {
  const notice = document.createElement("p");
  notice.className = "notice notice-deny";
  notice.textContent = text.slice(0, 300);
  document.getElementById("notices")?.replaceChildren(notice);
  setTimeout(() => notice.remove(), 8000);
}
