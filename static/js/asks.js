// What waits for a person: how many streams, in the tab's title, as a notification for whoever wants one, and by key.
import { look } from "./newer.js";
import { part } from "./parts.js";
import { isTold } from "./socket.js";
import { keep, kept } from "./storage.js";
import { swap } from "./swap.js";

const POLL_MS = 15000; // where no socket tells: none is there, its stream is over, it is paused or lost
const WANTED = "streamviz.notify"; // in this browser's storage

let told = 0;
let toldNewest = 0; // when somebody was last asked, of what the page was told
let isKnown = true; // whether the server has said of late how many there are
let shown = null; // the notification, while it can be seen

export function start() {
  told = count();
  toldNewest = newest();
  look(navigation());
  document.addEventListener("streamviz:updated", tell);
  document.addEventListener("htmx:afterSwap", ({ target }) => target.closest?.(".asks-row, #hold-list") && tell());
  // It would outlive the page that knows when nobody waits any longer.
  window.addEventListener("pagehide", () => shown?.close());
  if (document.getElementById("nav-asks")) setInterval(() => isTold() || ask(), POLL_MS);
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
  const isMore = asking > told || newest() > toldNewest; // one question can have come in the place of another
  if (isMore && isWanted() && Notification.permission === "granted") notify(asking, true);
  else if (!asking) shown?.close();
  else if (asking < told && shown) notify(asking, false);
  told = asking;
  toldNewest = Math.max(toldNewest, newest()); // who tells may be behind another who did
  look(navigation());
}

function mark(asking) {
  if (!isKnown) return "(?) ";
  return asking ? `(${asking}) ` : "";
}

// What is shown already is replaced, and draws attention again where there is more.
function notify(asking, isMore) {
  const row = document.querySelector(".asks-row");
  const body = row ? `${row.querySelector(".row-link").textContent}: ${row.querySelector(".asks-call b").textContent}` : "";
  const notification = new Notification(asking === 1 ? "A stream needs you" : `${asking} streams need you`, {
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
  if (isTold()) return; // by a socket since, of later
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
