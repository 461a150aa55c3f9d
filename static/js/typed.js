// What is typed into the search but not yet entered goes along with the links that change the rest of the filter.
const LINKS = ".filter-chip a, [data-with-typed] a";

export function start() {
  for (const kind of ["click", "auxclick"]) document.addEventListener(kind, followed);
}

function followed(event) {
  const link = event.target.closest?.(LINKS);
  const typed = document.querySelector("[data-search]")?.value.trim();
  if (!link || !(typed || "own" in link.dataset)) return;
  const query = new URLSearchParams((link.dataset.own ??= link.search)); // it may be followed into a new tab, and again
  if (typed) query.append("q", typed);
  link.search = query;
}
