// Dragging across a drawing selects a time span. A drawing is any svg with `data-from`, `data-to` (ms since the epoch)
// and `data-href`, in which `{from}` and `{to}` stand for the times as URLs have them. With `data-step` (ms), whole
// steps are selected. The element gets an event `streamviz:brushed` first; a listener that prevents its default shows
// the span itself.
const CHARTS = "svg[data-from][data-to][data-href]";
const LEAST = 4; // pixels: less is a click
const SVG = "http://www.w3.org/2000/svg";

let drag = null;

export function start() {
  document.addEventListener("pointerdown", begin);
  document.addEventListener("pointermove", move);
  document.addEventListener("pointerup", end);
  document.addEventListener("pointercancel", clear);
  document.addEventListener("keydown", (event) => event.key === "Escape" && clear());
  // A bar is a link: it must be neither dragged away, nor followed when the button is only released there.
  document.addEventListener("dragstart", (event) => event.target.closest?.(CHARTS) && event.preventDefault());
}

function begin(event) {
  const chart = event.target.closest?.(CHARTS);
  if (!chart || event.button || !event.isPrimary) return;
  chart.querySelector(".brush")?.remove();
  drag = { chart, at: share(chart, event), x: event.clientX, mark: null };
}

function move(event) {
  if (!drag || !event.isPrimary) return;
  if (!drag.mark && Math.abs(event.clientX - drag.x) < LEAST) return;
  drag.mark ??= mark(drag.chart);
  place(drag.mark, chosen(event));
  event.preventDefault();
}

function end(event) {
  if (!drag || !event.isPrimary) return;
  const { chart, mark } = drag;
  const [from, to] = chosen(event);
  drag = null;
  if (!mark) return;
  window.addEventListener("click", refuse, { capture: true });
  setTimeout(() => window.removeEventListener("click", refuse, { capture: true })); // the click comes before that
  const span = { from: time(chart, from), to: time(chart, to) };
  const told = new CustomEvent("streamviz:brushed", { bubbles: true, cancelable: true, detail: { ...span, mark } });
  if (chart.dispatchEvent(told)) location.assign(address(chart.dataset.href, span));
}

function refuse(click) {
  click.preventDefault();
  click.stopPropagation();
}

function clear() {
  drag?.mark?.remove();
  drag = null;
}

// Where on the axis the pointer is, from 0 to 1.
function share(chart, event) {
  const box = chart.getBoundingClientRect();
  return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
}

// From where to where, in whole steps if there are steps.
function chosen(event) {
  const { from, to, step } = drag.chart.dataset;
  const [first, last] = [drag.at, share(drag.chart, event)].sort((a, b) => a - b);
  if (!step) return [first, last];
  const steps = (to - from) / step;
  return [Math.floor(first * steps) / steps, Math.min(1, Math.ceil(last * steps) / steps)];
}

function mark(chart) {
  const group = document.createElementNS(SVG, "g");
  group.setAttribute("class", "brush");
  for (const [name, css] of [["rect", "chart-brush"], ["line", "brush-edge"], ["line", "brush-edge"]]) {
    const part = document.createElementNS(SVG, name);
    part.setAttribute("class", css);
    group.append(part);
  }
  chart.append(group);
  return group;
}

function place(group, [from, to]) {
  const [ground, ...edges] = group.children;
  set(ground, { x: percent(from), y: 0, width: percent(to - from), height: "100%" });
  edges.forEach((edge, n) => set(edge, { x1: percent([from, to][n]), x2: percent([from, to][n]), y1: 0, y2: "100%" }));
}

function set(element, values) {
  for (const [name, value] of Object.entries(values)) element.setAttribute(name, value);
}

function percent(part) {
  return `${(part * 100).toFixed(3)}%`;
}

function time(chart, part) {
  const from = Number(chart.dataset.from);
  return new Date(Math.round(from + part * (Number(chart.dataset.to) - from)));
}

export function address(pattern, { from, to }) {
  const text = (at) => encodeURIComponent(`${at.toISOString().slice(0, 19)}Z`);
  return pattern.replaceAll("{from}", text(from)).replaceAll("{to}", text(to));
}
