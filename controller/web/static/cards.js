"use strict";
// The card picker: the text is what is sent, the deck is another way to write it, the controller says what it is.
(() => {
  const HAND = 7;
  const ASK_AFTER_MS = 150;
  const PATIENCE_MS = 4000;

  function start(picker) {
    const text = picker.querySelector("input[name=cards]");
    const said = picker.querySelector(".picker-said");
    const deck = picker.querySelector(".picker-deck");
    const clear = picker.querySelector(".picker-clear");
    const rows = [...picker.querySelectorAll(".picker-suit")].map((row) => [...row.querySelectorAll("[data-card]")]);
    const buttons = rows.flat();
    let asking = null;
    let later = 0;

    const written = () => text.value.split(/\s+/).filter((card) => card !== "");

    function say(words, kind) {
      said.textContent = words;
      said.dataset.kind = kind;
    }

    async function ask(cards) {
      asking = new AbortController();
      const mine = asking;
      const patience = setTimeout(() => mine.abort(), PATIENCE_MS);
      const query = new URLSearchParams({ paytable: picker.dataset.paytable, cards });
      try {
        const answer = await fetch("/api/v1/classify?" + query, { signal: mine.signal });
        const told = await answer.json();
        if (mine !== asking) return;
        if (answer.ok) say(told.words[0].toUpperCase() + told.words.slice(1), told.outcome === null ? "none" : "row");
        else say(told.error + ": " + told.remedy, "wrong");
      } catch {
        if (mine === asking) say("No answer from the controller: read the cards against the posted paytable.", "wrong");
      } finally {
        clearTimeout(patience);
      }
    }

    function changed() {
      const cards = written();
      for (const button of buttons) button.setAttribute("aria-pressed", String(cards.includes(button.dataset.card)));
      clearTimeout(later);
      const before = asking;
      asking = null;
      before?.abort();
      if (cards.length < HAND) say(cards.length + " of " + HAND + " cards", "count");
      else later = setTimeout(ask, ASK_AFTER_MS, cards.join(" "));
    }

    function choose(button) {
      const cards = written();
      const place = cards.indexOf(button.dataset.card);
      if (place < 0 && cards.length >= HAND) {
        say("Seven cards are chosen: take one back first.", "wrong");
        return;
      }
      if (place < 0) cards.push(button.dataset.card);
      else cards.splice(place, 1);
      text.value = cards.join(" ");
      changed();
    }

    function enter(button) {
      for (const other of buttons) other.tabIndex = other === button ? 0 : -1;
    }

    function move(event) {
      const row = rows.findIndex((cards) => cards.includes(event.target));
      if (row < 0) return;
      const place = rows[row].indexOf(event.target);
      const clamp = (number, most) => Math.max(0, Math.min(number, most));
      const steps = {
        ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -HAND * 2], End: [0, HAND * 2],
      };
      const step = steps[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const next = rows[clamp(row + step[0], rows.length - 1)];
      const button = next[clamp(place + step[1], next.length - 1)];
      enter(button);
      button.focus();
    }

    deck.addEventListener("click", (event) => {
      const button = event.target.closest("[data-card]");
      if (button === null) return;
      enter(button);
      choose(button);
    });
    deck.addEventListener("keydown", move);
    text.addEventListener("input", changed);
    clear.addEventListener("click", () => {
      text.value = "";
      changed();
      text.focus();
    });
    deck.hidden = false;
    clear.hidden = false;
    enter(buttons[0]);
    changed();
  }

  document.querySelectorAll("[data-picker]").forEach(start);
})();
