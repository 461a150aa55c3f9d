// For the admin, which only loads classic scripts.
import("./leaving.js").then(({ start }) => start());

{
  // What Unfold gives to the mouse alone: with this, keyboards and screen readers have it too.
  const MENUS = "[x-on\\:click]:not(a[href], button, input, #changelist-filter-close)";
  const ICONS = ".material-symbols-outlined"; // a font draws them, from names that are nothing to read out
  const NAMES = { dock_to_right: "Navigation", close: "Close", more_horiz: "More", more_vert: "More" };

  const press = (event) => {
    if (event.key === "Escape") document.getElementById("changelist-filter-close")?.click();
    if (!["Enter", " "].includes(event.key) || !event.target.matches(MENUS)) return;
    event.preventDefault();
    event.target.click();
  };

  window.addEventListener("pageshow", () => {
    document.getElementById("main")?.setAttribute("role", "main");
    for (const help of document.querySelectorAll("span.help-tooltip[aria-label]")) help.role = "img";
    for (const menu of document.querySelectorAll(MENUS)) {
      menu.role = "button";
      menu.tabIndex = 0;
      menu.ariaLabel = NAMES[menu.textContent.trim()] ?? menu.ariaLabel;
      for (const icon of menu.querySelectorAll(ICONS)) icon.ariaHidden = "true";
    }
  });
  document.addEventListener("keydown", press);
}
