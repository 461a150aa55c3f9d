// What waits for a person: how many streams, in the tab's title, as a notification for whoever wants one, and by key.
import { part } from "./parts.js";
import { keep, kept } from "./storage.js";
import { swap } from "./swap.js";

const POLL_MS = 15000; // of pages that have no socket
const WANTED = "streamviz.notify"; // in this browser's storage

let told = 0;

export function start() {
  told = count();
  document.addEventListener("streamviz:updated", tell);
  document.addEventListener("htmx:afterSwap", ({ target }) => target.closest?.(".asks-row, #hold-list") && tell());
  if (!document.getElementById("socket") && document.getElementById("nav-asks")) setInterval(ask, POLL_MS);
  offer();
}

// The button of the selected row, or of the stream's page: never of another row.
export function button(key) {
  const row = document.activeElement?.closest(".asks-row") ?? document.querySelector(".asks-row[aria-current]");
  return (row ?? document.getElementById("hold-list"))?.querySelector(`[data-decide="${CSS.escape(key)}"]`);
}

// The row behind the one that is focused, or the first.
export function next() {
  const links = [...document.querySelectorAll(".asks-row .row-link")];
  const at = links.findIndex((link) => link.closest(".asks-row").contains(document.activeElement));
  const link = links[(at + 1) % links.length];
  link?.focus();
  link?.scrollIntoView({ block: "nearest" });
}

function count() {
  return Number(document.getElementById("nav-asks")?.dataset.asks ?? 0);
}

function tell() {
  const asking = count();
  const title = document.title.replace(/^\(\d+\) /, "");
  document.title = asking ? `(${asking}) ${title}` : title;
  if (asking > told && isWanted() && Notification.permission === "granted") notify(asking);
  told = asking;
}

function notify(asking) {
  const row = document.querySelector(".asks-row");
  const body = row ? `${row.querySelector(".row-link").textContent}: ${row.querySelector(".asks-call b").textContent}` : "";
  const shown = new Notification(asking === 1 ? "A stream needs you" : `${asking} streams need you`, {
    body,
    tag: "streamviz-asks", // one at a time
    icon: `${document.body.dataset.base}static/icon.svg`,
  });
  shown.onclick = () => {
    window.focus();
    shown.close();
    if (!document.getElementById("wall")) location.assign(document.body.dataset.base);
  };
}

async function ask() {
  const url = `${document.body.dataset.base}needs-you/`;
  const found = await part(url);
  if (found === null) return; // not there just now
  swap(found);
  tell();
}

function isWanted() {
  return kept(WANTED) === "yes";
}

function offer() {
  const toggle = document.getElementById("notify");
  if (!toggle || !("Notification" in window)) return;
  toggle.hidden = false;
  const show = () => toggle.setAttribute("aria-pressed", String(isWanted() && Notification.permission === "granted"));
  toggle.addEventListener("click", async () => {
    const isOn = toggle.getAttribute("aria-pressed") === "true";
    const isAllowed = !isOn && (await Notification.requestPermission()) === "granted";
    keep(WANTED, isAllowed ? "yes" : "no");
    show();
  });
  show();
}
