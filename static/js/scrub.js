// A finished stream's page as it was at any moment: dragged, stepped or played. The server renders the moments; one is
// requested when the last has come.
import { say } from "./notices.js";
import { part } from "./parts.js";
import { stay } from "./swap.js";

const IDLE_MS = 300; // longer gaps between chunks are skipped if idle time is compressed
const MOST_STEPS = 8; // that wait: a key held down must not have effects long after it is released
const STEPS = { ",": "previous", ".": "next", "[": "earlier", "]": "later", Home: "first", End: "last" };

let scrubber, range;
let seq = null; // the chunk that is shown, null at the end
let following = null; // when the next one came (ms)
let tape = "upstream";
let asking = false;
let wanted = []; // what to request next: a place replaces all before it, a step comes after them
let playing = null; // where the playhead is while it moves by itself (ms)
let speed = 1;

export function start() {
  scrubber = document.getElementById("scrubber");
  range = document.getElementById("scrub");
  if (!scrubber || !range) return;
  tape = new URLSearchParams(location.search).get("tape") === "client" ? "client" : "upstream";
  for (const name of ["play", "speeds", "idle", "copy-moment"]) document.getElementById(name).hidden = false;
  take();
  range.addEventListener("input", () => (pause(), ask(`time=${range.value}`)));
  range.addEventListener("keydown", arrow);
  document.addEventListener("click", clicked);
  document.addEventListener("keydown", pressed);
  document.addEventListener("selectionchange", selected);
}

// Words that are selected in a block link to the chunks that they came in.
function selected() {
  const link = document.getElementById("to-chunks");
  const selection = document.getSelection();
  const text = selection.rangeCount && selection.anchorNode?.parentElement?.closest(".block-text, .block-raw");
  link.hidden = !text || selection.isCollapsed || Boolean(text.querySelector(".cut"));
  if (link.hidden) return;
  const before = document.createRange();
  before.setStart(text, 0);
  before.setEnd(selection.getRangeAt(0).startContainer, selection.getRangeAt(0).startOffset);
  const start = [...before.toString()].length;
  const end = start + [...selection.toString()].length;
  link.href = `${link.pathname}?block=${text.id.match(/\d+/)[0]}&start=${start}&end=${end}`;
}

const panes = () => document.getElementById("panes");

function arrow(event) {
  const step = { ArrowLeft: "previous", ArrowRight: "next", Home: "first", End: "last" }[event.key];
  if (!step) return;
  event.preventDefault();
  go(step);
}

function clicked(event) {
  const link = event.target.closest?.("[data-step], a[data-seq], [data-tape], [data-speed], #play");
  if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (link.id === "play") playing === null ? play() : pause();
  else if (link.dataset.speed) setSpeed(link);
  else if (link.dataset.step) go(link.dataset.step);
  else if (link.dataset.seq) (pause(), ask(`at=${link.dataset.seq}`));
  else if (link.dataset.tape) ((tape = link.dataset.tape), ask(`at=${here()}`));
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, textarea, select, dialog")) return;
  if (event.key === " ") {
    if (event.target.closest?.("a, button, summary")) return;
    playing === null ? play() : pause();
  } else if (STEPS[event.key]) go(STEPS[event.key]);
  else return;
  event.preventDefault();
}

const here = () => seq ?? document.getElementById("transport").dataset.chunks;

function go(step) {
  pause();
  if (step === "first") ask("at=0");
  else if (step === "last") ask(`at=${document.getElementById("transport").dataset.chunks}`);
  else {
    wanted = [...wanted, () => `at=${here()}&step=${step}`].slice(-MOST_STEPS);
    answer();
  }
}

function ask(place) {
  wanted = [() => place];
  answer();
}

// One request at a time; a step starts where the one before it led.
async function answer() {
  if (asking) return;
  asking = true;
  while (wanted.length) {
    const url = `${scrubber.dataset.path}?${wanted.shift()()}&tape=${tape}`;
    // Not by htmx, which drops a request that comes while the last one settles.
    const found = await part(url, say);
    if (found === null) {
      pause();
      break;
    }
    show(found);
    take();
  }
  wanted = [];
  asking = false;
}

function show(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  stay(panes(), template.content);
  panes().replaceWith(template.content);
}

// What is shown now, as the server says.
function take() {
  const shown = panes().dataset;
  const chunks = document.getElementById("transport").dataset.chunks;
  seq = shown.seq ? Number(shown.seq) : null;
  following = shown.next ? Number(shown.next) : null;
  if (seq === null) return note(location.href);
  const url = new URL(location.href);
  url.search = "";
  url.searchParams.set("at", following === null && Number(shown.ms) >= Number(range.max) ? chunks : seq);
  if (tape === "client") url.searchParams.set("tape", tape);
  history.replaceState(null, "", url);
  note(url.href);
  document.getElementById("played-time").textContent = shown.seconds;
  document.getElementById("played-chunk").textContent = `chunk ${seq}`;
  for (const link of document.querySelectorAll("[data-tape]")) {
    if (link.dataset.tape === tape) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
  for (const lane of document.querySelectorAll(".lane-name[data-first-seq]")) point(lane);
  range.setAttribute("aria-valuetext", shown.seconds);
  if (playing === null) place(Number(shown.share), Number(shown.ms));
}

// A lane leads to its block or, until that is shown, to the moment when it began.
function point(lane) {
  const isShown = document.querySelector(lane.hash) !== null;
  lane.setAttribute("href", isShown ? lane.hash : `?at=${lane.dataset.firstSeq}${lane.hash}`);
}

function note(url) {
  document.getElementById("copy-moment").dataset.copy = url;
}

// The playhead, and a veil over all that had not come yet.
function place(share, ms) {
  for (const head of document.querySelectorAll(".lane .playhead")) {
    head.setAttribute("x1", `${share}%`);
    head.setAttribute("x2", `${share}%`);
  }
  for (const veil of document.querySelectorAll(".not-yet-from")) veil.setAttribute("x", `${share}%`);
  if (document.activeElement !== range || playing !== null) range.value = ms;
}

function setSpeed(button) {
  speed = Number(button.dataset.speed);
  for (const each of button.parentElement.children) each.setAttribute("aria-pressed", String(each === button));
}

function play() {
  const isAtEnd = seq === null || Number(range.value) >= Number(range.max);
  playing = isAtEnd ? 0 : Number(range.value);
  if (isAtEnd) ask("at=0");
  showPlay("Pause", "#i-pause", true);
  let last = performance.now();
  const frame = (now) => {
    if (playing === null) return;
    playing += (now - last) * speed;
    last = now;
    advance();
    if (playing !== null) requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

function advance() {
  const end = Number(range.max);
  const isCompressed = document.querySelector("#idle input").checked;
  const next = following ?? end;
  if (!asking && isCompressed && next - playing > IDLE_MS) playing = next - IDLE_MS;
  place((Math.min(playing, end) / end) * 100, playing);
  if (playing >= end) {
    pause();
    ask(`at=${document.getElementById("transport").dataset.chunks}`);
  } else if (!asking && following !== null && playing >= following) ask(`time=${Math.floor(playing)}`);
}

function pause() {
  if (playing === null) return;
  playing = null;
  showPlay("Play", "#i-play", false);
}

function showPlay(word, icon, isPressed) {
  const button = document.getElementById("play");
  button.setAttribute("aria-pressed", String(isPressed));
  button.querySelector("span").textContent = word;
  button.querySelector("use").setAttribute("href", icon);
}
