// Puts what a message says into the page: fragments with `hx-swap-oob`, as htmx understands it. htmx tells listeners of
// every element on the way, which is more than a hundred rows that change ten times a second can afford.
export function swap(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  for (const element of [...template.content.children]) place(element);
}

function place(element) {
  const [how, where] = element.getAttribute("hx-swap-oob").split(":#");
  element.removeAttribute("hx-swap-oob");
  const target = document.getElementById(where ?? element.id);
  if (!target) return;
  switch (how) {
    case "true":
      target.replaceWith(element);
      if (element.querySelector("[hx-post]")) htmx.process(element);
      break;
    case "delete":
      target.remove();
      break;
    case "beforeend":
      append(target, element);
      break;
    case "afterbegin":
      target.prepend(...element.childNodes);
      break;
    case "afterend":
      target.after(...element.childNodes);
  }
}

// A piece of text goes into the text that is there: thousands of them are still one.
function append(target, element) {
  const [piece, ...others] = element.childNodes;
  const last = target.lastChild;
  if (piece && !others.length && piece.nodeType === Node.TEXT_NODE && last?.nodeType === Node.TEXT_NODE) {
    last.appendData(piece.data);
  } else {
    target.append(...element.childNodes);
  }
}
