// A link back to a list leads to it as this tab last had it: with its filter, its order and its page.
import { keep, kept } from "./storage.js";

export function start() {
  const left = document.referrer && new URL(document.referrer);
  for (const link of document.querySelectorAll("[data-list]")) {
    const name = `streamviz.list ${link.pathname}`;
    if (left && left.origin + left.pathname === link.origin + link.pathname) keep(name, left.search, "sessionStorage");
    link.search = kept(name, "sessionStorage") ?? "";
  }
}
