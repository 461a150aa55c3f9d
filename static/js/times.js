// Times that pass: the server writes them as text with the moment that they count from (ms since the epoch).
let offset = 0; // what the server's clock is ahead of ours, in ms

export function setServerTime(milliseconds) {
  offset = milliseconds - Date.now();
}

export function start() {
  if (document.querySelector("[data-since], [data-ago], #socket")) setInterval(refresh, 200);
  document.addEventListener("pointerover", tell, { passive: true });
}

// The absolute time, of whatever the pointer comes to rest on.
function tell(event) {
  const element = event.target.closest?.("[data-since], [data-ago]");
  if (!element || element.title) return;
  const at = new Date(Number(element.dataset.since ?? element.dataset.ago));
  element.title = `${at.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

function refresh() {
  if (document.hidden || document.documentElement.dataset.paused) return;
  const now = Date.now() + offset;
  for (const element of document.querySelectorAll("[data-since]")) {
    write(element, (element.dataset.before ?? "") + age(now - element.dataset.since));
  }
  for (const element of document.querySelectorAll("[data-ago]")) write(element, ago(now - element.dataset.ago));
  for (const element of document.querySelectorAll("[data-until]")) write(element, age(element.dataset.until - now));
  for (const element of document.querySelectorAll("[data-left]")) write(element, left(element.dataset.left - now));
  for (const element of document.querySelectorAll("[data-meter]")) element.value = (element.dataset.meter - now) / 1000;
}

function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// The same words as the server's, in streamviz/live/presentation/text.py.
export function age(milliseconds) {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} m ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
}

// What is left, as minutes and seconds.
function left(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function ago(milliseconds) {
  const seconds = milliseconds / 1000;
  for (const [length, unit] of [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]]) {
    if (seconds >= length) return `${Math.floor(seconds / length)} ${unit} ago`;
  }
  return "now";
}
