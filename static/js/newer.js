// A page that was left open while streamviz was updated has the old scripts and styles: it offers to reload.
import { openAgain } from "./leaving.js";

const first = {}; // the first version that each teller told

// The server tells pages and single streams, its screens tell the wall: in a clone they may start at different commits.
export function look({ version, teller }) {
  first[teller] ??= version;
  if (version === first[teller] || document.getElementById("newer")) return;
  document.getElementById("notices")?.before(notice());
}

function notice() {
  const element = document.createElement("p");
  element.id = "newer";
  element.className = "notice";
  element.role = "status";
  element.textContent = "streamviz was updated since this page was opened. ";
  const button = document.createElement("button");
  button.className = "button";
  button.type = "button";
  button.textContent = "Reload";
  button.addEventListener("click", openAgain);
  element.append(button);
  return element;
}
