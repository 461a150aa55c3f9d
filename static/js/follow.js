// A stream's page, or a peek, follows its newest block until the person scrolls; the button takes it up again.
let follows = true;
let moving = 0;
let reached = 0; // where following has scrolled to

const OUT_OF_SIGHT = 100; // pixels

export function start() {
  if (!document.getElementById("socket")) return;
  for (const name of ["wheel", "touchmove"]) window.addEventListener(name, stop, { passive: true });
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

function stop() {
  if (follows) set(false);
}

// By whatever means: a scrollbar, a search in the page. Following itself only ever scrolls down.
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
  button.textContent = follows ? "follows the newest block" : "follow the newest block";
  if (!follows || moving) return;
  // Once a frame is often enough, and layout is asked for only then.
  moving = requestAnimationFrame(() => {
    moving = 0;
    if (!follows) return; // somebody has scrolled in the meantime
    const newest = document.querySelector("#block-cards > :last-child");
    const peek = newest?.closest(".peek");
    // A peek moves within itself: the list beside it stays where it is. Where a person is asked, the question stays.
    if (peek) peek.scrollTop = peek.querySelector(".decide") ? 0 : peek.scrollHeight;
    else newest?.scrollIntoView({ block: newest.offsetHeight < window.innerHeight - OUT_OF_SIGHT ? "nearest" : "end" });
    // Beside a long output it stays by itself; below it, it has to be gone to.
    if (!peek) document.querySelector(".decide")?.scrollIntoView({ block: "nearest" });
    reached = peek ? peek.scrollTop : window.scrollY;
  });
}
