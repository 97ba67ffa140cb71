"use strict";
// Keeps a page in step with the daemon, newest wins, and says so when it cannot (DI-04).
(() => {
  const SILENT_MS = 3000; // heartbeats come each second
  const REOPEN_MS = 1500;
  const root = document.documentElement;
  const shown = new Map();
  let stream = null;
  let opened = 0;
  let heard = { wall: Date.now(), tick: performance.now() };
  let clock = "";

  function silence() {
    // The tick stands still while a computer sleeps, the wall clock can be set: the longer silence counts.
    return Math.max(Date.now() - heard.wall, performance.now() - heard.tick);
  }

  function replace(name, html) {
    const part = document.getElementById("part-" + name);
    if (part === null || shown.get(name) === html) return;
    shown.set(name, html);
    const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
    const unfolded = [...part.querySelectorAll("details[open]")].map((details) => details.id);
    const scrolled = [...part.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    part.innerHTML = html; // escaped by the server's templates
    for (const id of unfolded) document.getElementById(id)?.setAttribute("open", "");
    part.querySelectorAll(".scroll").forEach((box, place) => { box.scrollLeft = scrolled[place] ?? 0; });
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }

  function take(message) {
    const event = JSON.parse(message.data);
    if (event.edition !== root.dataset.edition) {
      location.reload();
      return;
    }
    for (const [name, html] of Object.entries(event.fragments)) replace(name, html);
    heard = { wall: Date.now(), tick: performance.now() };
    clock = event.clock;
    const time = document.getElementById("clock");
    if (time) time.textContent = clock;
    if (root.dataset.live !== "live") {
      root.dataset.live = "live";
      document.getElementById("stale").textContent = "";
    }
  }

  function open() {
    stream?.close();
    opened = performance.now();
    stream = new EventSource(root.dataset.stream);
    stream.onmessage = take;
  }

  function watch() {
    if (silence() <= SILENT_MS) return;
    if (root.dataset.live !== "stale") {
      root.dataset.live = "stale";
      document.getElementById("stale").textContent =
        "No news from the controller" + (clock ? " since " + clock : "") + ". Amounts may have changed.";
    }
    if (performance.now() - opened > REOPEN_MS) open();
  }

  open();
  setInterval(watch, 250);
  document.addEventListener("visibilitychange", watch);
})();
