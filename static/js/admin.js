// For the admin, which loads classic scripts alone.
import("./leaving.js").then(({ start }) => start());
