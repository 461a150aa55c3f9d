// Puts a message's fragments into the page: elements with `hx-swap-oob`, with the meaning that htmx gives it. htmx
// notifies listeners for every element on the way, which is too much for a hundred rows that change ten times a second.
import { leaves, OPENED, takeAway } from "./blocks.js";
import { waits } from "./rows.js";
import { localize } from "./times.js";

const LONG = 4096; // characters

export function swap(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  for (const element of [...template.content.children]) if (!waits(element, place)) place(element);
  takeAway();
}

// Verdicts draw attention when they come.
function greet(element) {
  for (const one of [element, ...element.children]) {
    if (one.matches(".verdict-item, .row-verdicts")) one.classList.add("has-changed");
  }
}

function place(element) {
  const [how, where] = element.getAttribute("hx-swap-oob").split(":#");
  element.removeAttribute("hx-swap-oob");
  const target = document.getElementById(where ?? element.id);
  if (!target) return;
  greet(element);
  switch (how) {
    case "true":
      keepOpen(target, element);
      replace(target, element);
      process(element);
      localize(element);
      break;
    case "delete":
      if (!leaves(target)) target.remove();
      break;
    case "beforeend":
      append(target, element);
      break;
    case "afterbegin":
      process(element);
      target.prepend(...element.childNodes);
      break;
    case "afterend":
      process(element);
      target.after(...element.childNodes);
  }
}

// Buttons only work once htmx knows of them.
function process(element) {
  if (element.querySelector("[hx-post]")) htmx.process(element);
}

// Panes stay where somebody has scrolled them.
function replace(before, after) {
  const reached = [...before.querySelectorAll(".pane")].map((pane) => pane.scrollTop);
  stay(before, after);
  before.replaceWith(after);
  if (reached.length) after.querySelectorAll(".pane").forEach((pane, at) => (pane.scrollTop = reached[at]));
}

// What a page is sent only once stays as it is, in its place.
export function stay(before, after) {
  for (const kept of before.querySelectorAll("[data-stays]")) after.querySelector(`#${kept.id}`)?.replaceWith(kept);
}

// What somebody has opened in `before` is opened in `after`.
function keepOpen(before, after) {
  const opened = before.matches(OPENED) ? [before] : before.querySelectorAll(OPENED);
  for (const { id } of opened) {
    const same = after.id === id ? after : after.querySelector(`[id="${id}"]`);
    if (same?.matches("details")) same.open = true;
    else if (same) same.hidden = false;
  }
}

// A piece of text is appended to the text node that is there: thousands of pieces stay one node, until it is long.
function append(target, element) {
  const [piece, ...others] = element.childNodes;
  const last = target.lastChild?.lastChild ?? target.lastChild;
  if (!piece || others.length || piece.nodeType !== Node.TEXT_NODE || last?.nodeType !== Node.TEXT_NODE) {
    target.append(...element.childNodes);
  } else {
    last.appendData(piece.data);
    if (last.length > LONG) divide(target, last);
  }
}

// The browser lays out a whole paragraph again when its end grows. So complete lines stay where they are, as does what
// people have selected, and what follows them gets an element of its own: the cost of a piece does not grow with them.
function divide(target, text) {
  const end = text.data.lastIndexOf("\n") + 1;
  if (!end) return;
  const lines = document.createElement("div");
  lines.append(text.splitText(end));
  target.append(lines);
}
