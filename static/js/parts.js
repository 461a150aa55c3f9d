// Parts of pages that our own scripts request, the way htmx requests others.
import { openAgain } from "./leaving.js";

// A part, as text; null if it does not come, and then `tell` gets the reason. Who is signed out is led to sign in.
export async function part(url, tell = () => {}) {
  const answer = await fetch(url, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (answer?.ok) return answer.text();
  if (answer?.headers.has("HX-Refresh")) openAgain();
  else if (answer) tell(reason(answer.headers.get("Content-Type"), await answer.text(), answer.status));
  else tell("The server cannot be reached.");
  return null;
}

// The reason, in a line: a whole page, which is for people who typed a URL, is not one.
export function reason(type, text, status) {
  return type?.startsWith("text/plain") ? text : `That did not work: the server answered ${status}.`;
}
