// Streams that wait for a person: their number in the tab's title, a notification for those who want one, and keys.
import { look } from "./newer.js";
import { part } from "./parts.js";
import { isTold } from "./socket.js";
import { keep, kept } from "./storage.js";
import { swap } from "./swap.js";

const POLL_MS = 15000; // if no socket reports: there is none, its stream is over, or it is paused or lost
const WANTED = "streamviz.notify"; // in this browser's storage

let told = 0;
let toldNewest = 0; // when somebody was last asked, as far as the page was told
let isKnown = true; // whether the server has recently said how many there are
let shown = null; // the notification, while it can be seen

export function start() {
  told = count();
  toldNewest = newest();
  look(navigation());
  document.addEventListener("streamviz:updated", tell);
  document.addEventListener("htmx:afterSwap", ({ target }) => target.closest?.(".asks-row, #hold-list") && tell());
  // Otherwise it would outlive the page, which knows when nobody waits any longer.
  window.addEventListener("pagehide", () => shown?.close());
  if (document.getElementById("nav-asks")) setInterval(() => isTold() || ask(), POLL_MS);
  offer();
}

// The button of the selected row, or of the stream's page; never one of another row.
export function button(key) {
  const row = document.activeElement?.closest(".asks-row") ?? document.querySelector(".asks-row[aria-current]");
  return (row ?? document.getElementById("hold-list"))?.querySelector(`[data-decide="${CSS.escape(key)}"]`);
}

// Focus the row after the one that has the focus, or the first.
export function next() {
  const links = [...document.querySelectorAll(".asks-row .row-link")];
  const at = links.findIndex((link) => link.closest(".asks-row").contains(document.activeElement));
  const link = links[(at + 1) % links.length];
  link?.focus();
  link?.scrollIntoView({ block: "nearest" });
}

function navigation() {
  return document.getElementById("nav-asks")?.dataset ?? {};
}

function count() {
  return Number(navigation().asks ?? 0);
}

function newest() {
  return Number(navigation().newest ?? 0);
}

function tell() {
  const asking = count();
  isKnown ||= isTold();
  const title = document.title.replace(/^\((\d+|\?)\) /, "");
  document.title = mark(asking) + title;
  const isMore = asking > told || newest() > toldNewest; // one question may have taken another's place
  if (isMore || asking < told) readOut(isMore ? words(asking) : "");
  if (isMore && isWanted() && Notification.permission === "granted") notify(asking, true);
  else if (!asking) shown?.close();
  else if (asking < told && shown) notify(asking, false);
  told = asking;
  toldNewest = Math.max(toldNewest, newest()); // what one process tells may be behind what another told
  look(navigation());
}

function mark(asking) {
  if (!isKnown) return "(?) ";
  return asking ? `(${asking}) ` : "";
}

function words(asking) {
  return asking === 1 ? "A stream needs you" : `${asking} streams need you`;
}

// A new node is read out even if it says the same.
function readOut(text) {
  document.getElementById("asks-told")?.replaceChildren(text);
}

// Replaces the notification that is shown, and draws attention again if there is more.
function notify(asking, isMore) {
  const row = document.querySelector(".asks-row");
  const body = row ? `${row.querySelector(".row-link").textContent}: ${row.querySelector(".asks-call b").textContent}` : "";
  const notification = new Notification(words(asking), {
    body,
    tag: "streamviz-asks", // one at a time
    renotify: isMore,
    icon: `${document.body.dataset.base}static/icon.svg`,
  });
  notification.onclose = () => shown === notification && (shown = null);
  notification.onclick = () => {
    window.focus();
    notification.close();
    if (!document.getElementById("wall")) location.assign(document.body.dataset.base);
  };
  shown = notification;
}

async function ask() {
  const found = await part(`${document.body.dataset.base}needs-you/`);
  if (isTold()) return; // a socket has reported since, and later than this
  isKnown = found !== null;
  if (isKnown) swap(found);
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
