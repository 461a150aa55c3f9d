// A row opens a peek beside the list, and the URL says which. If there is no room, the row's link is just a link.
const ROOM = window.matchMedia("(min-width: 62.5em)");

const ID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

let shown = "";

export function start() {
  if (!document.getElementById("peek")) return;
  document.addEventListener("click", clicked);
  document.addEventListener("streamviz:updated", mark);
  for (const kind of ["htmx:responseError", "htmx:sendError"]) document.addEventListener(kind, failed);
  const wanted = new URLSearchParams(location.search).get("peek");
  // Anybody may have written the link that led here: nothing but a stream's id may go into a URL.
  if (ID.test(wanted) && ROOM.matches) open(wanted);
}

function clicked(event) {
  if (event.target.closest?.("#peek-close")) {
    event.preventDefault();
    close();
    return;
  }
  const link = event.target.closest?.("#wall .row-link");
  if (!link || !ROOM.matches || event.button || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const id = link.pathname.split("/").at(-2);
  if (id === shown) return; // the second time it opens the page
  event.preventDefault();
  open(id);
}

function open(id) {
  shown = id;
  const peek = document.getElementById("peek");
  peek.hidden = false;
  peek.scrollTop = 0;
  htmx.ajax("GET", `${document.body.dataset.base}streams/${id}/peek/`, { target: "#peek", swap: "innerHTML" });
  note();
}

// A notice says why it does not come; an empty peek would only take room beside it.
function failed({ detail }) {
  if (shown && detail.target?.id === "peek" && detail.pathInfo.requestPath.includes(`/${shown}/`)) close();
}

// Whether there was one to close.
export function close() {
  if (!shown) return false;
  const row = currentRow();
  shown = "";
  const peek = document.getElementById("peek");
  peek.hidden = true;
  htmx.swap(peek, "", { swapStyle: "innerHTML" });
  note();
  row?.querySelector(".row-link").focus();
  return true;
}

function note() {
  const url = new URL(location.href);
  if (shown) url.searchParams.set("peek", shown);
  else url.searchParams.delete("peek");
  history.replaceState(null, "", url);
  mark();
}

function currentRow() {
  return shown ? document.getElementById(`r-${shown.replaceAll("-", "")}`) : null;
}

function mark() {
  const row = currentRow();
  for (const other of document.querySelectorAll("#wall [aria-current]")) {
    if (other !== row) other.removeAttribute("aria-current");
  }
  row?.setAttribute("aria-current", "true");
}
