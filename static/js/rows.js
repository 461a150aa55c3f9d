// Rows of the Live page do not slide away under a mouse: while it points at one and has moved of late, those that come,
// go and move wait, and with them what is said of them. The text of all others goes on.
const STILL_MS = 2000; // a mouse that has not moved for so long is about no click
const LOOK_MS = 200;

const waiting = []; // what to do, in its order
const rows = new Set(); // the rows that it is about
let movedAt = -Infinity;
let looking = 0;

document.addEventListener("pointermove", (event) => {
  if (event.pointerType === "mouse") movedAt = performance.now();
});

// Whether `place` is called for this fragment later. A row's own parts wait where the row does.
export function waits(element, place) {
  if (element.id === "wall") forget();
  const isMove = /^(delete|after)/.test(element.getAttribute("hx-swap-oob"));
  const row = /^r-[0-9a-f]{32}/.exec(element.id || element.firstElementChild?.id)?.[0];
  if (!row || !(rows.has(row) || (isMove && (waiting.length || isPointing())))) return false;
  waiting.push(() => place(element));
  rows.add(row);
  looking ||= setInterval(look, LOOK_MS);
  return true;
}

function isPointing() {
  return performance.now() - movedAt < STILL_MS && document.querySelector("#wall :is(.stream-row, .asks-row):hover") !== null;
}

function look() {
  if (isPointing()) return;
  const due = [...waiting];
  forget();
  for (const one of due) one();
  document.dispatchEvent(new Event("streamviz:updated"));
}

function forget() {
  waiting.length = 0;
  rows.clear();
  clearInterval(looking);
  looking = 0;
}
