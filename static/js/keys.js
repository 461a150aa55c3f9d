// The keyboard: g goes to what needs a person, g and a letter to a page, j and k move in a list, a and d decide,
// / searches, ? lists the keys.
import { button as decision, next as nextAsking } from "./asks.js";
import { close as closePeek } from "./peek.js";

const DECIDES = ["a", "d"];

let awaitsLetter = false;

export function start() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.repeat && DECIDES.includes(event.key)) return; // a key that is held down answers only one question
    if (isTyping(event.target) ? event.key === "Escape" && closeOpened() : handle(event.key)) event.preventDefault();
  });
}

function isTyping(target) {
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

function handle(key) {
  if (document.querySelector("dialog[open]")) return false; // the dialog closes itself on Escape
  if (awaitsLetter && key !== "g") {
    awaitsLetter = false; // a key that leads nowhere does what it does without g
    if (follow(document.querySelector(`[data-go="${CSS.escape(key)}"]`))) return true;
  }
  switch (key) {
    case "g":
      awaitsLetter = true;
      nextAsking();
      setTimeout(() => (awaitsLetter = false), 1500);
      return true;
    case "j":
      return move(1);
    case "k":
      return move(-1);
    case "/":
      return focus(document.querySelector("[data-search]"));
    case "?":
      document.getElementById("keys-help")?.showModal();
      return true;
    case "a":
    case "d":
      return follow(decision(key));
    case "p":
      return follow(document.getElementById("pause"));
    case "n":
      return follow(document.querySelector('[data-jump="next"]'));
    case "N":
      return follow(document.querySelector('[data-jump="previous"]'));
    case "Escape":
      return leave();
  }
  return false;
}

function follow(element) {
  element?.click();
  return Boolean(element);
}

function focus(element) {
  element?.focus();
  return Boolean(element);
}

function move(step) {
  const links = [...document.querySelectorAll(".main :is(.row-link, .turn-item), .stream > .stream-panes .block-item")];
  if (!links.length) return false;
  const focused = links.indexOf(document.activeElement);
  const at = focused < 0 ? links.findIndex((each) => each.matches(".turn-item[aria-current]")) : focused;
  const next = at < 0 ? (step > 0 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, at + step));
  links[next].focus();
  links[next].scrollIntoView({ block: "nearest" });
  return true;
}

// Whether there was something to close. A focus within it moves to what opened it.
function closeOpened() {
  const opened = document.querySelector("details:is(.mode-switch, .confirm, .menu)[open]");
  if (!opened) return false;
  if (opened.contains(document.activeElement)) opened.querySelector("summary").focus();
  opened.open = false;
  return true;
}

// Escape first closes what is open, then releases the focus, then goes up a level.
function leave() {
  if (closeOpened() || closePeek()) return true;
  if (document.activeElement !== document.body && document.activeElement?.matches("a, button, summary")) {
    document.activeElement.blur();
    return true;
  }
  return follow(document.querySelector("[data-up]"));
}
