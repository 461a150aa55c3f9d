// What this browser stores for this streamviz: there may be another one below another path of the same origin.
const PATH = new URL("../..", import.meta.url).pathname;

// Null if nothing is stored.
export function kept(name) {
  try {
    return localStorage.getItem(`${name} ${PATH}`);
  } catch {
    return null; // a browser that stores nothing
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(`${name} ${PATH}`, value);
  } catch {
    // A browser that stores nothing.
  }
}
