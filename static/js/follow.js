// A stream's page, or a peek, follows its newest block until the person scrolls; the button makes it follow again.
let follows = true;
let moving = 0;
let reached = 0; // where following has scrolled to

const OUT_OF_SIGHT = 140; // pixels, some of them covered by what sticks to the top and bottom of a window
const IS_IN_ONE_COLUMN = window.matchMedia("(max-width: 67.5em)");

export function start() {
  if (!document.getElementById("socket")) return;
  for (const name of ["wheel", "touchmove"]) window.addEventListener(name, moved, { passive: true });
  document.addEventListener("scroll", scrolled, { capture: true, passive: true });
  window.addEventListener("keydown", (event) => {
    if (event.target.closest?.("input, textarea, select")) return;
    if (["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", " ", "j", "k"].includes(event.key)) stop();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest?.("#follow")) set(!follows);
    else if (event.target.closest?.("#wall .row-link")) follows = true;
    else if (event.target.closest?.(".block-item, .lane-name")) stop();
  });
  if (location.hash) follows = false;
  document.addEventListener("streamviz:updated", keepUp);
  keepUp();
}

// Panes beside the output scroll by themselves.
function moved(event) {
  if (!event.target.closest?.(".pane:not(.pane-middle)")) stop();
}

function stop() {
  if (follows) set(false);
}

// By any means, such as a scrollbar or a search in the page. Following itself only ever scrolls down.
function scrolled() {
  const newest = document.querySelector("#block-cards > :last-child");
  if (!follows || !newest) return;
  const peek = newest.closest(".peek");
  if ((peek?.scrollTop ?? window.scrollY) >= reached) return;
  const end = peek ? peek.getBoundingClientRect().bottom : window.innerHeight;
  if (newest.getBoundingClientRect().bottom > end + OUT_OF_SIGHT) stop();
}

function set(value) {
  follows = value;
  keepUp();
}

function keepUp() {
  const button = document.getElementById("follow");
  if (!button) return; // nothing here grows
  button.hidden = false;
  button.setAttribute("aria-pressed", String(follows));
  button.textContent = follows ? "following newest" : "follow newest";
  if (!follows || moving) return;
  // Once per frame is enough, and layout is computed only then.
  moving = requestAnimationFrame(() => {
    moving = 0;
    if (!follows) return; // somebody has scrolled in the meantime
    const newest = document.querySelector("#block-cards > :last-child");
    const peek = newest?.closest(".peek");
    // A peek scrolls within itself: the list beside it stays where it is. If a person is asked, the question stays.
    if (peek) peek.scrollTop = peek.querySelector(".decide") ? 0 : peek.scrollHeight;
    else show(questionBelow() ?? newest);
    reached = peek ? peek.scrollTop : window.scrollY;
  });
}

function show(element) {
  if (document.activeElement?.closest("#hold-list")) return; // somebody is answering
  element?.scrollIntoView({ block: element.offsetHeight < window.innerHeight - OUT_OF_SIGHT ? "nearest" : "end" });
}

// A question stays in view beside the output; if it is below the output, it has to be scrolled to.
function questionBelow() {
  const question = IS_IN_ONE_COLUMN.matches ? document.querySelector(".decide") : null;
  return question?.checkVisibility() ? question : null;
}
