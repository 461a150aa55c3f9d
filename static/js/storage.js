// What this browser stores for this streamviz: there may be another one below another path of the same origin.
const PATH = new URL("../..", import.meta.url).pathname;

// Null if nothing is stored. `sessionStorage` belongs to this tab alone.
export function kept(name, storage = "localStorage") {
  try {
    return window[storage].getItem(`${name} ${PATH}`);
  } catch {
    return null; // a browser that stores nothing
  }
}

export function keep(name, value, storage = "localStorage") {
  try {
    window[storage].setItem(`${name} ${PATH}`, value);
  } catch {
    // A browser that stores nothing.
  }
}
