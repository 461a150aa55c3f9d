// Blocks leave a stream's page as newer ones come, but not while somebody is reading one, has focused or selected
// something in it, or has opened it.
export const OPENED = "details[open][id], .block-raw[id]:not([hidden])";
const OF_BLOCK = /^[biv]\d+$/; // a block's card, its line in the list, a verdict on it

const leaving = new Set();

// Whether `takeAway` removes the element later, as it does for all elements of a block.
export function leaves(element) {
  if (!OF_BLOCK.test(element.id)) return false;
  leaving.add(element);
  endHold(element);
  return true;
}

// A page gets no more updates of what leaves it: a hold would seem to go on forever.
function endHold(element) {
  element.classList.remove("is-held");
  for (const told of element.querySelectorAll(".card-gutter, .verdict-held")) told.remove();
}

// All are checked before the first is removed: after each change, a check costs a layout. Those that were replaced with
// everything around them are no longer on the page.
export function takeAway() {
  const gone = [...leaving].filter((element) => !element.isConnected || !isAttended(element));
  for (const element of gone) {
    leaving.delete(element);
    element.remove();
  }
}

function isAttended(element) {
  const selection = document.getSelection();
  return (
    element.contains(document.activeElement) ||
    (!selection.isCollapsed && selection.containsNode(element, true)) ||
    element.matches(OPENED) ||
    element.querySelector(OPENED) !== null ||
    (element.matches(".block-card") && isInSight(element))
  );
}

function isInSight(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return top < window.innerHeight && bottom > 0 && top < bottom;
}
