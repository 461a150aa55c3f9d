// Rows of the Live page do not slide away under the mouse: while it points at one and has moved recently, rows that
// come, go or move wait, and their updates with them. The text of all others keeps changing.
const STILL_MS = 2000; // a mouse that has not moved for this long is not about to click
const LOOK_MS = 200;

const waiting = []; // what to do, in order
const rows = new Set(); // the rows that are affected
let movedAt = -Infinity;
let looking = 0;

document.addEventListener("pointermove", (event) => {
  if (event.pointerType === "mouse") movedAt = performance.now();
});

// Whether `place` is called later for this fragment. A row's own parts wait as long as the row does.
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
