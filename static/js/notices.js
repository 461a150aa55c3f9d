// What the server says about an action that did not work, as text.
export function start() {
  document.addEventListener("htmx:responseError", (event) => say(event.detail.xhr.responseText));
  document.addEventListener("htmx:sendError", () => say("The server cannot be reached."));
}

function say(text) {
  const notice = document.createElement("p");
  notice.className = "notice notice-deny";
  notice.textContent = text.slice(0, 300);
  document.getElementById("notices")?.replaceChildren(notice);
  setTimeout(() => notice.remove(), 8000);
}
