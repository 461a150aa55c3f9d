// What every page runs. Pages work without it; it keeps them current and makes them quick to use.
import { start as startNotices } from "./notices.js";
import { start as startSocket } from "./socket.js";
import { start as startTimes } from "./times.js";
import { start as startKeys } from "./keys.js";
import { start as startButtons } from "./buttons.js";
import { start as startFollow } from "./follow.js";
import { start as startPeek } from "./peek.js";
import { start as startBrush } from "./brush.js";
import { start as startCrosshair } from "./crosshair.js";
import { start as startExports } from "./exports.js";
import { start as startAsks } from "./asks.js";
import { start as startScrub } from "./scrub.js";
import { start as startLeaving } from "./leaving.js";

startNotices();
startSocket();
startTimes();
startKeys();
startButtons();
startFollow();
startPeek();
startBrush();
startCrosshair();
startExports();
startAsks();
startScrub();
startLeaving();
