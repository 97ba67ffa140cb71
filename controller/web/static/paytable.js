"use strict";
// Keeps the paytable's amounts in step, and fills in its odds once they are computed; says so when it cannot (DI-04).
(() => {
  const EVERY_MS = 5000;
  const COMPUTING_MS = 700;
  const PATIENCE_MS = 4000;
  const root = document.documentElement;
  const main = document.getElementById("fresh");
  const stale = document.getElementById("stale");
  const clock = document.getElementById("clock");

  function replace(page) {
    const fresh = page.getElementById("fresh");
    const time = page.getElementById("clock");
    if (fresh === null || time === null) throw new Error("another page");
    clock.textContent = time.textContent;
    main.toggleAttribute("data-computing", fresh.hasAttribute("data-computing"));
    if (main.innerHTML === fresh.innerHTML) return;
    const scrolled = [...main.querySelectorAll(".scroll")].map((box) => box.scrollLeft);
    const focused = [...main.querySelectorAll(".scroll")].indexOf(document.activeElement);
    main.replaceChildren(...fresh.childNodes);
    main.querySelectorAll(".scroll").forEach((box, place) => {
      box.scrollLeft = scrolled[place] ?? 0;
      if (place === focused) box.focus({ preventScroll: true });
    });
  }

  async function look() {
    try {
      // What a page asks by itself keeps no session awake.
      const asked = { headers: { "HX-Request": "true" }, signal: AbortSignal.timeout(PATIENCE_MS) };
      const answer = await fetch(location.href, asked);
      if (!answer.ok) throw new Error(String(answer.status));
      replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
      root.dataset.live = "live";
      stale.textContent = "";
    } catch {
      if (root.dataset.live !== "stale") {
        root.dataset.live = "stale";
        stale.textContent = "No news from the controller since " + clock.textContent + ". Amounts may have changed.";
      }
    }
    setTimeout(look, main.hasAttribute("data-computing") ? COMPUTING_MS : EVERY_MS);
  }

  setTimeout(look, COMPUTING_MS);
})();
