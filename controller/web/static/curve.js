"use strict";
// Draws a meter's amount over time from the figures that came with the page. Numbers here are only drawn, never booked.
(() => {
  const HEIGHT = 280;
  const money = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
  const amount = (cents) => (cents === null || cents === undefined ? "" : money.format(cents / 100));
  let drawn = null;

  function colours(box) {
    const tokens = getComputedStyle(box);
    const of = (name) => tokens.getPropertyValue(name).trim();
    return { ink: of("--ink"), soft: of("--soft"), line: of("--line"), amount: of("--link") };
  }

  function options(box, told, paint) {
    const stepped = uPlot.paths.stepped({ align: 1 });
    const axis = { stroke: paint.soft, grid: { stroke: paint.line, width: 1 }, ticks: { stroke: paint.line, width: 1 } };
    const range = { label: "", stroke: "transparent", width: 0, points: { show: false }, paths: stepped };
    return {
      width: box.clientWidth,
      height: HEIGHT,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), told.zone),
      axes: [axis, { ...axis, size: 100, values: (_chart, splits) => splits.map(amount) }],
      series: [
        { label: "Time" },
        { ...range, label: "Highest", value: (_chart, cents) => amount(cents) },
        { ...range, label: "Lowest", value: (_chart, cents) => amount(cents) },
        { label: "Shown", stroke: paint.amount, width: 2, points: { show: false }, paths: stepped,
          value: (_chart, cents) => amount(cents) },
      ],
      bands: [{ series: [1, 2], fill: paint.amount + "33" }],
      legend: { markers: { show: false } },
    };
  }

  function draw() {
    const box = document.querySelector(".curve");
    drawn?.destroy();
    drawn = null;
    if (box === null || box.clientWidth === 0) return;
    const told = JSON.parse(box.dataset.curve);
    drawn = new uPlot(options(box, told, colours(box)), [told.at, told.high, told.low, told.close], box);
  }

  document.addEventListener("htmx:after:swap", draw);
  addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
})();
