// Buttons that copy, and those that show a tool call's raw arguments.
const TOLD_MS = 3000;

let telling = 0;

export function start() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-copy], [data-copy-from], [data-raw]");
    if (!button) return;
    event.preventDefault();
    if (button.dataset.raw) showRaw(button);
    else copy(button);
  });
  document.addEventListener("toggle", (event) => event.target.matches("details:is(.confirm, .note-edit)[open]") && ask(event.target), true);
}

// Those who opened it with the keyboard continue at the question.
function ask(details) {
  details.querySelector("button, textarea, input:not([type=hidden])")?.focus();
}

export function showRaw(button) {
  const raw = document.getElementById(`${button.dataset.raw}-text`);
  raw.hidden = !raw.hidden;
  matchRaw();
}

// A card's head may be replaced while its raw text is open.
export function matchRaw() {
  for (const button of document.querySelectorAll("[data-raw]")) {
    const raw = document.getElementById(`${button.dataset.raw}-text`);
    button.setAttribute("aria-expanded", String(!raw.hidden));
    const tree = document.getElementById(`${button.dataset.raw}-tree`);
    if (tree) tree.hidden = !raw.hidden;
  }
}

async function copy(button) {
  const text = button.dataset.copy ?? document.getElementById(button.dataset.copyFrom).textContent;
  const isCopied = await (isSecureContext ? write(text) : writeWithoutHttps(text));
  tell(button, isCopied ? "Copied" : "Could not copy");
}

// Below the button, or as near to it as the window allows. It is also read out.
function tell(button, text) {
  const told = document.getElementById("told");
  const { right, bottom } = button.getBoundingClientRect();
  told.replaceChildren(text);
  told.style.left = `${Math.max(0, right - told.offsetWidth)}px`;
  told.style.top = `${Math.min(bottom, window.innerHeight - told.offsetHeight)}px`;
  clearTimeout(telling);
  telling = setTimeout(() => told.replaceChildren(), TOLD_MS);
}

function write(text) {
  return navigator.clipboard.writeText(text).then(() => true, () => false);
}

// Pages that were sent over plain http have no `navigator.clipboard`. What is copied need not be selected: the event
// takes any text.
function writeWithoutHttps(text) {
  const put = (event) => {
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", put);
  const isCopied = document.execCommand("copy");
  document.removeEventListener("copy", put);
  return isCopied;
}
