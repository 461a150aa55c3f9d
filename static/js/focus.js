// Keeps the keyboard focus while the element that has it is replaced.
const KNOWN_BY = ["data-raw", "data-copy-from", "href"];

// Where the focus is: the ids around it, nearest first, and what the focused element is like.
export function placeOfFocus() {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const ids = [];
  for (let at = element; at; at = at.parentElement) if (at.id) ids.push(at.id);
  if (!ids.length) return null;
  const like = element.id ? "" : nameOf(element);
  const alike = like && `${nameOf(element.parentElement)} > ${like}`;
  const among = like ? [...document.getElementById(ids[0]).querySelectorAll(alike)] : [];
  return { ids, like, alike, index: among.indexOf(element) };
}

// Focus the same element again, or one like it, or what is left around it; never another question's button, which a key
// pressed at that moment would answer.
export function focusAgain(place) {
  if (!place || document.activeElement !== document.body) return;
  const around = place.ids.map((id) => document.getElementById(id)).find(Boolean);
  if (!around) return;
  focus(place.like && (around.querySelectorAll(place.alike)[place.index] ?? around.querySelector(place.like)));
  if (document.activeElement !== document.body) return;
  focus(around);
  if (document.activeElement !== document.body) return;
  around.tabIndex = -1;
  focus(around);
}

// Without scrolling: people may have scrolled on.
function focus(element) {
  if (element) element.focus({ preventScroll: true });
}

function nameOf(element) {
  const classes = [...element.classList].filter((name) => !/^(is|has)-/.test(name));
  const known = KNOWN_BY.filter((name) => element.hasAttribute(name));
  const attributes = known.map((name) => `[${name}="${CSS.escape(element.getAttribute(name))}"]`);
  return [element.localName, ...classes.map((name) => `.${CSS.escape(name)}`), ...attributes].join("");
}
