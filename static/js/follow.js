// A stream's page, or a peek, follows its newest block until the person scrolls; the button takes it up again.
let follows = true;
let moving = 0;

export function start() {
  if (!document.getElementById("socket")) return;
  for (const name of ["wheel", "touchmove"]) window.addEventListener(name, stop, { passive: true });
  window.addEventListener("keydown", (event) => {
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
    const newest = document.querySelector("#block-cards > :last-child");
    const peek = newest?.closest(".peek");
    // A peek moves within itself: the list beside it stays where it is. Where a person is asked, the question stays.
    if (peek) peek.scrollTop = peek.querySelector(".decide") ? 0 : peek.scrollHeight;
    else newest?.scrollIntoView({ block: "nearest" });
  });
}
