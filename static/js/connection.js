// One websocket of a page: which of its messages to show, so that nothing is shown twice or left out.
//
// A message is a line `<number> <kind> <server's time in ms> <dropped>`, followed by fragments. Kinds:
//   snapshot  everything as it is after message `number`
//   delta     what changed since message `number - 1`
//   behind    the page was too slow: `dropped` updates of text were left out, and a snapshot will follow
//   alive     nothing happened
//   end       the stream is over
import { setServerTime } from "./times.js";

const SILENCE_MS = 15000; // the server says something every 5 s
const LONGEST_WAIT_MS = 5000;
const CONFIRM_MS = 200;
const CAUGHT_UP_MS = 3000;
const REFUSALS = { 4401: "signed out", 4403: "not allowed", 4404: "not on record" };

export class Connection {
  socket = null; // the newest; older ones no longer count
  isOver = false;
  unseen = 0; // messages that came while the page was paused
  #wrapper = null;
  #tries = 0;
  #retry = 0;
  #expected = null; // the number of the next delta; null until there is a snapshot
  #heardAt = 0;
  #confirming = 0;
  #isPaused = false;
  #endedUnseen = false; // the stream ended while the page was paused

  constructor(element) {
    this.pill = document.getElementById(element.dataset.pill);
  }

  // Whether the page shows the current state.
  get isCurrent() {
    return this.#expected !== null && !this.isOver && !this.#isPaused;
  }

  opened(wrapper) {
    this.#wrapper = wrapper;
    this.#heardAt = Date.now();
    this.#expected = null;
    this.#say("catching up", "is-behind");
  }

  closed(wrapper, socket, code) {
    if (this.isOver || this.#endedUnseen || socket !== this.socket) return;
    this.#wrapper = wrapper;
    this.#expected = null;
    if (REFUSALS[code]) {
      this.isOver = true;
      this.#say(REFUSALS[code], "is-lost");
      return;
    }
    this.#say("disconnected, retrying", "is-lost");
    clearTimeout(this.#retry);
    const longest = Math.min(LONGEST_WAIT_MS, 500 * 2 ** this.#tries++);
    this.#retry = setTimeout(() => this.connectAgain(), longest * (0.5 + Math.random() / 2));
  }

  connectAgain() {
    clearTimeout(this.#retry);
    if (this.isOver || !this.#wrapper) return;
    this.#heardAt = Date.now();
    this.#endedUnseen = false;
    this.socket.close();
    this.#wrapper.reconnect();
  }

  // A connection can be dead without anybody having closed it: after sleep, or when the network has changed.
  watch() {
    if (!this.#wrapper || this.isOver || this.#endedUnseen || Date.now() - this.#heardAt <= SILENCE_MS) return;
    this.#say("disconnected, retrying", "is-lost");
    this.connectAgain();
  }

  // Whether to show the message's fragments.
  take(wrapper, message) {
    const [number, kind, now, dropped] = message.slice(0, message.indexOf("\n")).split(" ");
    this.#wrapper = wrapper;
    this.#heardAt = Date.now();
    setServerTime(Number(now));
    return this.#take(kind, Number(number), Number(dropped));
  }

  set paused(value) {
    this.#isPaused = value;
    this.unseen = 0;
    if (this.isOver) return;
    if (value) this.#say("paused", "is-behind");
    else if (this.#endedUnseen) this.connectAgain(); // for everything that was missed
    else if (this.#expected !== null) this.#again();
  }

  leave() {
    this.isOver = true;
    clearTimeout(this.#retry);
  }

  #take(kind, number, dropped) {
    switch (kind) {
      case "snapshot":
        this.#expected = number + 1;
        this.#tries = 0;
        this.#confirm();
        if (this.#isPaused) return false;
        this.#settle(dropped);
        return true;
      case "delta":
        if (this.#expected === null) return false;
        if (number !== this.#expected) return this.#again();
        this.#expected += 1;
        this.#confirm();
        if (this.#isPaused) this.#count();
        return !this.#isPaused;
      case "behind":
        this.#expected = number + 1;
        if (!this.#isPaused) this.#say(`${updates(dropped)} dropped`, "is-behind", "off");
        return false;
      case "alive":
        if (this.#expected !== null && number !== this.#expected - 1) this.#again();
        return false;
      case "end":
        this.#endedUnseen = this.#isPaused;
        this.isOver = !this.#isPaused;
        if (this.#isPaused) this.#say("paused; stream has finished", "is-behind");
        else this.#say("finished", "is-over");
    }
    return false;
  }

  #again() {
    this.#expected = null;
    this.#say("catching up", "is-behind");
    this.#wrapper.sendImmediately(JSON.stringify({ again: true }));
    return false;
  }

  // The server sends no faster than the page confirms what it has taken in.
  #confirm() {
    this.#confirming ||= setTimeout(() => {
      this.#confirming = 0;
      if (this.#expected === null || this.isOver) return;
      this.#wrapper.send(JSON.stringify({ seen: this.#expected - 1 }), null);
    }, CONFIRM_MS);
  }

  #settle(dropped) {
    if (!dropped) return this.#say("live");
    this.#say(`${updates(dropped)} dropped, caught up`, "is-behind");
    setTimeout(() => !this.#isPaused && !this.isOver && this.#expected !== null && this.#say("live"), CAUGHT_UP_MS);
  }

  #count() {
    this.unseen += 1;
    this.#say(`paused, ${this.unseen} new`, "is-behind", "off");
  }

  // Text that only counts up is not read out.
  #say(text, state = "", live = "polite") {
    if (!this.pill || this.pill.textContent === text) return;
    this.pill.ariaLive = live;
    this.pill.textContent = text;
    this.pill.className = `pill ${state}`;
  }
}

function updates(number) {
  return number === 1 ? "1 update" : `${number} updates`;
}
