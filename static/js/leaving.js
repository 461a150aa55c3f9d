// Signing out leaves nothing on a screen: neither in another tab, nor where Back shows a page that the browser kept.
// The sign-in page, which signed-in users never see, tells all pages of this browser.
import { keep, kept } from "./storage.js";

const SIGNED_OUT = "streamviz.signed-out"; // in this browser's storage: when that was, in ms since the epoch

export function start() {
  // A browser that stores nothing is told nothing: its pages stay until they request something.
  if (document.querySelector("[data-signed-out]")) return keep(SIGNED_OUT, Date.now());
  const known = kept(SIGNED_OUT);
  const look = () => kept(SIGNED_OUT) !== known && openAgain();
  window.addEventListener("storage", look);
  window.addEventListener("pageshow", look);
}

// By its URL: to reload the response to a form, the form would have to be sent again.
export function openAgain() {
  const url = new URL(location.href);
  url.hash = "";
  location.replace(url);
}
