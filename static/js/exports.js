// The browser downloads a long list itself; meanwhile the page shows how far it is.
export function start() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-progress]");
    if (!link) return;
    const id = newId();
    const address = new URL(link.href);
    address.searchParams.set("progress", id);
    link.href = address;
    link.closest("details").open = false;
    window.htmx.ajax("GET", `${link.dataset.progress}${id}/`, { target: "#export-progress", swap: "outerHTML" });
  });
}

// A random UUID, also in an insecure context, which has no crypto.randomUUID.
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}
