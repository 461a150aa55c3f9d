// A page that was left open while streamviz was updated has the scripts and styles of before: it offers to be loaded anew.
import { openAgain } from "./leaving.js";

let loaded; // the version that the page is of

export function look(version) {
  loaded ??= version;
  if (version === loaded || document.getElementById("newer")) return;
  document.getElementById("notices")?.before(notice());
}

function notice() {
  const element = document.createElement("p");
  element.id = "newer";
  element.className = "notice";
  element.role = "status";
  element.textContent = "streamviz was updated. This page is of the version before. ";
  const button = document.createElement("button");
  button.className = "button";
  button.type = "button";
  button.textContent = "Reload";
  button.addEventListener("click", openAgain);
  element.append(button);
  return element;
}
