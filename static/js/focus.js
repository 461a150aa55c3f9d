// Keeps the keyboard where it is while what it is at is replaced.
const KNOWN_BY = ["data-raw", "data-copy-from", "href"];

// Where the focus is: the ids around it, the nearest first, and what it is like in there.
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

// Focus the same again, or what is like it, or what is left around it: never another question's button, which a key
// that is pressed just now would answer.
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

// People may have scrolled on.
function focus(element) {
  if (element) element.focus({ preventScroll: true });
}

function nameOf(element) {
  const classes = [...element.classList].filter((name) => !/^(is|has)-/.test(name));
  const known = KNOWN_BY.filter((name) => element.hasAttribute(name));
  const attributes = known.map((name) => `[${name}="${CSS.escape(element.getAttribute(name))}"]`);
  return [element.localName, ...classes.map((name) => `.${CSS.escape(name)}`), ...attributes].join("");
}
