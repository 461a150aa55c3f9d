// What this browser keeps for this streamviz: another can be below another path of the same origin.
const PATH = new URL("../..", import.meta.url).pathname;

// Null where nothing is kept.
export function kept(name) {
  try {
    return localStorage.getItem(`${name} ${PATH}`);
  } catch {
    return null; // a browser that keeps nothing
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(`${name} ${PATH}`, value);
  } catch {
    // As if it had not been asked to.
  }
}
