// Parts of pages that are asked for by our own scripts, as htmx asks for others.
import { openAgain } from "./leaving.js";

// A part, as text; null where it does not come, and `tell` is told why. Who is signed out is led to sign in.
export async function part(url, tell = () => {}) {
  const answer = await fetch(url, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (answer?.ok) return answer.text();
  if (answer?.headers.has("HX-Refresh")) openAgain();
  else if (answer) tell(reason(answer.headers.get("Content-Type"), await answer.text(), answer.status));
  else tell("The server cannot be reached.");
  return null;
}

// Why, in a line: a whole page, for people who typed an address, is none.
export function reason(type, text, status) {
  return type?.startsWith("text/plain") ? text : `That did not work: the server answered ${status}.`;
}
