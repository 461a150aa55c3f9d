// For the admin, which only loads classic scripts.
import("./leaving.js").then(({ start }) => start());
