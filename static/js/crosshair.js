// The same time in all drawings of a page: a vertical line in each of `.charts`, and what each one has then, from its
// bars' titles. The arrow keys move it while a drawing has the focus.
const SVG = "http://www.w3.org/2000/svg";

export function start() {
  const all = document.querySelector(".charts");
  const charts = [...(all?.querySelectorAll("svg.bars[data-from]") ?? [])];
  if (!charts.length) return;
  const { from, to, step } = charts[0].dataset;
  const steps = Math.round((to - from) / step);
  const show = (at) => charts.forEach((chart) => point(chart, at, steps));
  let now = null;
  const go = (at) => show((now = Math.min(steps - 1, Math.max(0, at))));
  all.addEventListener("pointermove", (event) => {
    const chart = event.target.closest?.("svg.bars");
    if (!chart) return;
    const box = chart.getBoundingClientRect();
    go(Math.floor(((event.clientX - box.left) / box.width) * steps));
  });
  all.addEventListener("pointerleave", () => charts.forEach(clear));
  charts.forEach((chart) => chart.closest(".chart").setAttribute("tabindex", "0"));
  all.addEventListener("keydown", (event) => {
    if (!event.target.matches?.(".chart")) return;
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by) {
      event.preventDefault();
      go(now === null ? steps - 1 : now + by);
    } else if (event.key === "Escape") {
      now = null;
      charts.forEach(clear);
    }
  });
}

function point(chart, at, steps) {
  const line = chart.querySelector(".crosshair") ?? chart.appendChild(document.createElementNS(SVG, "line"));
  const x = `${(((at + 0.5) * 100) / steps).toFixed(2)}%`;
  for (const [name, value] of [["class", "crosshair"], ["x1", x], ["x2", x], ["y1", 14], ["y2", 86]]) {
    line.setAttribute(name, value);
  }
  said(chart).textContent = words(chart, at, steps);
}

function clear(chart) {
  chart.querySelector(".crosshair")?.remove();
  said(chart).textContent = "";
}

function said(chart) {
  return chart.closest(".chart").querySelector(".chart-at");
}

// The title of the bar that is drawn there.
function words(chart, at, steps) {
  const middle = ((at + 0.5) * 100) / steps;
  const bar = [...chart.querySelectorAll(".bar-room")].find(({ x, width }) => {
    const [first, wide] = [x.baseVal, width.baseVal].map((each) => each.valueInSpecifiedUnits);
    return first <= middle && middle < first + wide;
  });
  return bar?.closest("a").querySelector("title").textContent ?? "–";
}
