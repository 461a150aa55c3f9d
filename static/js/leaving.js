// Who is signed out leaves nothing on a screen: neither in another tab, nor where Back shows a page as the browser kept
// it. The sign-in page, which nobody sees who is signed in, tells all pages of this browser.
const SIGNED_OUT = "streamviz.signed-out"; // in this browser's storage: when that was, in ms since the epoch

export function start() {
  if (document.querySelector("[data-signed-out]")) return tell();
  const known = last();
  const look = () => last() !== known && openAgain();
  window.addEventListener("storage", look);
  window.addEventListener("pageshow", look);
}

function tell() {
  try {
    localStorage.setItem(SIGNED_OUT, Date.now());
  } catch {
    // A browser that keeps nothing: its pages stay until they ask for something.
  }
}

function last() {
  try {
    return localStorage.getItem(SIGNED_OUT);
  } catch {
    return null;
  }
}

// By its address, as the answer to a form would be asked for by sending the form again.
function openAgain() {
  const url = new URL(location.href);
  url.hash = "";
  location.replace(url);
}
