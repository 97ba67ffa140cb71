"use strict";
// Says when a signed-in page, which asks for its news every few seconds, gets none (DI-04).
(() => {
  const SILENT_MS = 12_000;
  let heard = { wall: Date.now(), tick: performance.now(), clock: new Date() };

  document.addEventListener("htmx:after:request", (event) => {
    if (event.detail.ctx.response.status < 500) heard = { wall: Date.now(), tick: performance.now(), clock: new Date() };
  });

  setInterval(() => {
    // The tick stands still while a computer sleeps, the wall clock can be set: the longer silence counts.
    const silence = Math.max(Date.now() - heard.wall, performance.now() - heard.tick);
    const told = document.getElementById("unheard");
    if (told === null) return;
    told.textContent = silence > SILENT_MS
      ? "No news from the controller since " + heard.clock.toLocaleTimeString() + ". What stands here may have changed."
      : "";
  }, 1000);
})();
