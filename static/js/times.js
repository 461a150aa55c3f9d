// Times that pass: the server writes them as text, with the time that they count from (ms since the epoch).
const LOCALE = "en-GB"; // the language of all pages
const TIME = { hour: "2-digit", minute: "2-digit", hour12: false };
const FORMATS = {
  day: new Intl.DateTimeFormat(LOCALE, { day: "2-digit", month: "short" }),
  month: new Intl.DateTimeFormat(LOCALE, { month: "short", year: "numeric" }),
  time: new Intl.DateTimeFormat(LOCALE, TIME),
  moment: new Intl.DateTimeFormat(LOCALE, { ...TIME, day: "2-digit", month: "short", second: "2-digit" }),
  ms: new Intl.DateTimeFormat(LOCALE, { ...TIME, second: "2-digit", fractionalSecondDigits: 3 }),
  second: new Intl.DateTimeFormat(LOCALE, { ...TIME, second: "2-digit" }),
};
const WHOLE = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "long" });

let offset = 0; // how far the server's clock is ahead of ours, in ms

export function setServerTime(milliseconds) {
  offset = milliseconds - Date.now();
}

export function start() {
  localize(document);
  document.addEventListener("htmx:afterSwap", () => localize(document));
  if (document.querySelector("[data-since], [data-ago], #socket")) setInterval(refresh, 200);
  document.addEventListener("pointerover", tell, { passive: true });
}

// The absolute time of whatever the pointer comes to rest on.
function tell(event) {
  const element = event.target.closest?.("[data-since], [data-ago]");
  if (!element || element.dataset.told) return;
  element.dataset.told = "yes";
  element.title = whole(new Date(Number(element.dataset.since ?? element.dataset.ago)));
}

// What the server says in UTC is shown in the viewer's time zone: `data-at` is the time (ms since the epoch), and
// `data-shows` what to show of it: a `day`, a `month`, the `time`, that with its `second` or its `ms`, or a `moment`
// (day and time). `data-begins` is the time that a title begins with.
export function localize(within) {
  for (const element of within.querySelectorAll("[data-at]")) {
    const at = new Date(Number(element.dataset.at));
    write(element, short(FORMATS[element.dataset.shows], at));
    if (element.hasAttribute("title")) element.title = whole(at);
  }
  for (const element of within.querySelectorAll("[data-begins]")) {
    const text = element.textContent;
    write(element, short(FORMATS.moment, new Date(Number(element.dataset.begins))) + text.slice(text.indexOf(": ")));
  }
}

function short(format, at) {
  return format.format(at).replace(",", "");
}

function whole(at) {
  return WHOLE.format(at).replace(",", "");
}

function refresh() {
  if (document.hidden || document.documentElement.dataset.paused) return;
  const now = Date.now() + offset;
  // Without a server, nobody knows whether what was running still is.
  const isLost = document.getElementById("pill")?.classList.contains("is-lost");
  for (const element of isLost ? [] : document.querySelectorAll("[data-since]")) {
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

// The same words as the server's, in streamviz/live/presentation/durations.py.
export function age(milliseconds) {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const minutes = Math.floor(whole / 60);
  return minutes < 60 ? `${minutes} m ${whole % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} m`;
}

// The time left, as minutes and seconds.
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
