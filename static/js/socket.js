// The websocket of a live page. htmx's extension connects it and swaps what comes; this module sees to it that
// nothing is shown twice or left out.
//
// A message is a line `<number> <kind> <server's time in ms> <dropped>` and then fragments. Kinds:
//   snapshot  everything as it is after message `number`
//   delta     what changed since message `number - 1`
//   behind    we were too slow: `dropped` updates of text were left out, and a snapshot will follow
//   alive     nothing happened
//   end       the stream is over
import { setServerTime } from "./times.js";
import { matchRaw } from "./buttons.js";

const SILENCE_MS = 15000; // the server says something every 5 s
const LONGEST_WAIT_MS = 5000;
const NEVER_MS = 2 ** 31 - 1;
const CONFIRM_MS = 200;
const REFUSALS = { 4401: "signed out", 4403: "not allowed", 4404: "not on record" };

let wrapper = null;
let socket = null; // the newest; what older ones still say does not count
let tries = 0;
let retry = 0;
let expected = null; // the number of the next delta; null until there is a snapshot
let isPaused = false;
let unseen = 0;
let isOver = false;
let heardAt = 0;
let confirming = 0;
let openDetails = [];
let focused = "";

export function start() {
  if (!document.getElementById("socket")) return;
  htmx.createWebSocket = (url) => (socket = new WebSocket(url));
  htmx.config.wsReconnectDelay = () => NEVER_MS; // we connect again, and only we
  document.addEventListener("htmx:wsOpen", opened);
  document.addEventListener("htmx:wsClose", closed);
  document.addEventListener("htmx:wsBeforeMessage", before);
  document.addEventListener("htmx:wsAfterMessage", after);
  document.getElementById("pause")?.addEventListener("click", pause);
  window.addEventListener("online", connectAgain);
  setInterval(watch, 1000);
}

function opened(event) {
  wrapper = event.detail.socketWrapper;
  heardAt = Date.now();
  expected = null;
  tries = 0;
  say("catching up", "is-behind");
}

function closed(event) {
  const { code, target } = event.detail.event;
  if (isOver || target !== socket) return;
  wrapper = event.detail.socketWrapper;
  expected = null;
  if (REFUSALS[code]) {
    isOver = true;
    say(REFUSALS[code], "is-lost");
    return;
  }
  say("disconnected, retrying", "is-lost");
  clearTimeout(retry);
  const longest = Math.min(LONGEST_WAIT_MS, 500 * 2 ** tries++);
  retry = setTimeout(connectAgain, longest * (0.5 + Math.random() / 2));
}

function connectAgain() {
  clearTimeout(retry);
  if (isOver || !wrapper) return;
  heardAt = Date.now();
  socket.close();
  wrapper.reconnect();
}

// A connection can be dead without anybody having closed it: after sleep, or when a network changed.
function watch() {
  if (wrapper && !isOver && heardAt && Date.now() - heardAt > SILENCE_MS) {
    say("disconnected, retrying", "is-lost");
    connectAgain();
  }
}

function before(event) {
  const message = event.detail.message;
  wrapper = event.detail.socketWrapper;
  const [number, kind, now, dropped] = message.slice(0, message.indexOf("\n")).split(" ");
  heardAt = Date.now();
  setServerTime(Number(now));
  if (!take(kind, Number(number), Number(dropped))) event.preventDefault();
  else remember(kind);
}

// Whether the message's fragments are to be shown.
function take(kind, number, dropped) {
  switch (kind) {
    case "snapshot":
      expected = number + 1;
      confirm(number);
      if (isPaused) return false;
      settle(dropped);
      return true;
    case "delta":
      if (expected === null) return false;
      if (number !== expected) return again();
      expected += 1;
      confirm(number);
      if (isPaused) countUnseen();
      return !isPaused;
    case "behind":
      expected = number + 1;
      if (!isPaused) say(`${dropped} ${dropped === 1 ? "update" : "updates"} dropped`, "is-behind");
      return false;
    case "alive":
      if (expected !== null && number !== expected - 1) again();
      return false;
    case "end":
      isOver = true;
      say("finished", "is-over");
      document.getElementById("pause")?.remove();
      document.getElementById("follow")?.remove();
  }
  return false;
}

function again() {
  expected = null;
  say("catching up", "is-behind");
  wrapper.sendImmediately(JSON.stringify({ again: true }));
  return false;
}

// The server sends no faster than we say that we have taken in what came.
function confirm(number) {
  if (confirming) return;
  confirming = setTimeout(() => {
    confirming = 0;
    if (expected === null || wrapper === null || isOver) return;
    wrapper.send(JSON.stringify({ seen: expected - 1 }), null);
  }, CONFIRM_MS);
}

function settle(dropped) {
  if (!dropped) return say("live");
  say(`${dropped} updates dropped, caught up`, "is-behind");
  setTimeout(() => !isPaused && !isOver && expected !== null && say("live"), 3000);
}

function pause() {
  isPaused = !isPaused;
  unseen = 0;
  const button = document.getElementById("pause");
  button.setAttribute("aria-pressed", String(isPaused));
  button.querySelector("span").textContent = isPaused ? "Resume" : "Pause";
  button.querySelector("use").setAttribute("href", isPaused ? "#i-play" : "#i-pause");
  if (isPaused) document.documentElement.dataset.paused = "1";
  else delete document.documentElement.dataset.paused;
  if (isPaused) say("paused", "is-behind");
  else if (expected !== null) again();
}

function countUnseen() {
  unseen += 1;
  say(`paused, ${unseen} new`, "is-behind");
}

// A snapshot replaces what people have opened and where they are: both are put back.
function remember(kind) {
  focused = document.activeElement?.id || document.activeElement?.closest?.("[id]")?.id || "";
  openDetails = kind === "snapshot" ? [...document.querySelectorAll("details[open][id]")].map((d) => d.id) : [];
}

function after() {
  for (const id of openDetails) document.getElementById(id)?.setAttribute("open", "");
  openDetails = [];
  if (focused && document.activeElement === document.body) {
    const element = document.getElementById(focused);
    (element?.matches("a, button") ? element : element?.querySelector(".row-link, .block-item"))?.focus();
  }
  matchRaw();
  document.dispatchEvent(new Event("streamviz:updated"));
}

function say(text, state = "") {
  const pill = document.getElementById("pill");
  if (!pill || pill.textContent === text) return;
  pill.textContent = text;
  pill.className = `pill ${state}`;
}
