// Who is signed out leaves nothing on a screen: neither in another tab, nor where Back shows a page as the browser kept
// it. The sign-in page, which nobody sees who is signed in, tells all pages of this browser.
import { keep, kept } from "./storage.js";

const SIGNED_OUT = "streamviz.signed-out"; // in this browser's storage: when that was, in ms since the epoch

export function start() {
  // A browser that keeps nothing is told nothing: its pages stay until they ask for something.
  if (document.querySelector("[data-signed-out]")) return keep(SIGNED_OUT, Date.now());
  const known = kept(SIGNED_OUT);
  const look = () => kept(SIGNED_OUT) !== known && openAgain();
  window.addEventListener("storage", look);
  window.addEventListener("pageshow", look);
}

// By its address, as the answer to a form would be asked for by sending the form again.
export function openAgain() {
  const url = new URL(location.href);
  url.hash = "";
  location.replace(url);
}
