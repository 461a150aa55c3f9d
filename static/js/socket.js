// The websockets of a page: its own, and that of the stream in the peek. htmx's extension connects them.
import { Connection } from "./connection.js";
import { matchRaw } from "./buttons.js";
import { focusAgain, placeOfFocus } from "./focus.js";
import { swap } from "./swap.js";

const NEVER_MS = 2 ** 31 - 1;

const connections = new Map(); // by the element that has the connection
let newest = null;
let focused = null;
let isPaused = false;

export function start() {
  htmx.createWebSocket = (url) => (newest = new WebSocket(url));
  htmx.config.wsReconnectDelay = () => NEVER_MS; // only our own code connects again
  document.addEventListener("htmx:wsConnecting", (event) => (connectionOf(event.target).socket = newest));
  document.addEventListener("htmx:wsOpen", opened);
  document.addEventListener("htmx:wsClose", closed);
  document.addEventListener("htmx:wsBeforeMessage", take);
  document.addEventListener("htmx:beforeSwap", () => (focused = placeOfFocus()));
  document.addEventListener("htmx:afterSwap", () => focusAgain(focused));
  document.addEventListener("htmx:beforeCleanupElement", (event) => leave(event.target));
  document.getElementById("pause")?.addEventListener("click", pause);
  window.addEventListener("online", () => connections.forEach((connection) => connection.connectAgain()));
  setInterval(() => connections.forEach((connection) => connection.watch()), 1000);
}

// Whether a socket tells the page all that happens.
export function isTold() {
  return [...connections.values()].some((connection) => connection.isCurrent);
}

function connectionOf(element) {
  if (!connections.has(element)) connections.set(element, new Connection(element));
  return connections.get(element);
}

function opened(event) {
  const connection = connectionOf(event.target);
  connection.opened(event.detail.socketWrapper);
  if (isPaused) connection.paused = true;
}

function closed(event) {
  const { code, target } = event.detail.event;
  connections.get(event.target)?.closed(event.detail.socketWrapper, target, code);
}

function leave(element) {
  connections.get(element)?.leave();
  connections.delete(element);
}

function take(event) {
  event.preventDefault(); // we put it into the page ourselves
  const connection = connectionOf(event.target);
  const { message, socketWrapper } = event.detail;
  if (connection.take(socketWrapper, message)) {
    focused = placeOfFocus();
    swap(message.slice(message.indexOf("\n") + 1));
    settle();
  }
  if (connection.isOver && event.target.id === "socket") document.getElementById("pause")?.remove();
  if (connection.isOver) for (const id of ["follow", "cancel"]) document.getElementById(id)?.remove();
}

function pause() {
  isPaused = !isPaused;
  const button = document.getElementById("pause");
  button.setAttribute("aria-pressed", String(isPaused));
  button.querySelector("span").textContent = isPaused ? "Resume" : "Pause";
  button.querySelector("use").setAttribute("href", isPaused ? "#i-play" : "#i-pause");
  if (isPaused) document.documentElement.dataset.paused = "1";
  else delete document.documentElement.dataset.paused;
  for (const connection of connections.values()) connection.paused = isPaused;
}

// What had the focus may have been replaced.
function settle() {
  focusAgain(focused);
  matchRaw();
  document.dispatchEvent(new Event("streamviz:updated"));
}
