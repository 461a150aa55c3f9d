// Blocks leave a stream's page as newer ones come. What somebody is at stays until they have left it: what they read,
// have focused or selected, or have opened.
export const OPENED = "details[open][id], .block-raw[id]:not([hidden])";
const OF_BLOCK = /^[biv]\d+$/; // a block's card, its line in the list, a verdict on it

const leaving = new Set();

// Whether the element goes with `takeAway`, as what is a block's does.
export function leaves(element) {
  if (!OF_BLOCK.test(element.id)) return false;
  leaving.add(element);
  endHold(element);
  return true;
}

// A page is told nothing more of what leaves it: a hold would seem to go on for ever.
function endHold(element) {
  element.classList.remove("is-held");
  for (const told of element.querySelectorAll(".card-gutter, .verdict-held")) told.remove();
}

// All are looked at before the first goes: after each change a look costs a layout. What was replaced with all around it
// is the page's no longer.
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
