// Lines over days, or bars. The library and its sheet are fetched when a plot is first shown.

import { fetched } from "/assets/api.js";
import { html, useEffect, useRef, useState } from "/assets/vendor.js";
import { dayOf, number } from "/assets/words.js";

let sheet = null;
function styled() {
  sheet ??= new Promise((settle) => {
    const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: "/assets/vendor-chart.css", onload: settle, onerror: settle });
    document.head.append(link);
  });
  return sheet;
}

// A colour of the theme as a canvas takes it.
function colour(place, name) {
  const probe = place.appendChild(document.createElement("span"));
  probe.style.color = `var(--${name})`;
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

const DARK = matchMedia("(prefers-color-scheme: dark)");

const TICK = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" }), MONTH = new Intl.DateTimeFormat("en-GB", { month: "short", year: "numeric" });
// Steps of what is counted: there is no half of a memory.
const WHOLE = Array.from({ length: 10 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
const YEAR = 366 * 86400, HALF_A_DAY = 43200;
// Days on the axis; months where it is longer than a year.
const ticks = (chart, all) => all.map((at) => (chart.scales.x.max - chart.scales.x.min > YEAR ? MONTH : TICK).format(new Date(at * 1000)));

function options(place, { label, tone, height, bars, pointed }) {
  const ink = colour(place, "muted"), line = colour(place, "line"), accent = colour(place, tone);
  const axis = { stroke: ink, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1 }, font: "12px system-ui, sans-serif" };
  return {
    width: place.clientWidth, height, cursor: { points: { size: 7 }, drag: { x: false, y: false } }, legend: { show: false },
    scales: { ...(bars && { x: { range: (_, low, high) => [low - HALF_A_DAY, high + HALF_A_DAY] } }), y: { range: (_, low, high) => [0, Math.max(1, high * 1.08)] } },
    axes: [{ ...axis, space: 80, values: ticks }, { ...axis, size: 56, incrs: WHOLE, values: (_, all) => all.map(number) }],
    series: [{}, { label, stroke: accent, width: 2, points: { show: false }, ...(bars && { fill: accent, width: 0, paths: bars }) }],
    hooks: { setCursor: [(chart) => pointed(chart.cursor.idx)] },
  };
}

/* <${Plot} label="Memories" points=${[["2026-03-01", 12], …]} />; `each` draws a bar for each day, of what does not go on from day to day. */
export function Plot({ label, points, tone = "accent", height = 220, each = false }) {
  const place = useRef(), [error, fail] = useState(null), [at, point] = useState(null);
  useEffect(() => {
    let chart = null, left = false, library = null;
    const data = [points.map(([day]) => Date.parse(`${day}T12:00:00`) / 1000), points.map(([, value]) => value)];
    const draw = () => {
      if (left || !library || !place.current?.clientWidth) return;
      chart?.destroy();
      chart = new library.Chart(options(place.current, { label, tone, height, bars: each && library.Chart.paths.bars({ size: [0.6, 40] }), pointed: point }), data, place.current);
    };
    const sized = new ResizeObserver(() => { if (chart && place.current?.clientWidth) chart.setSize({ width: place.current.clientWidth, height }); });
    Promise.all([fetched("/assets/vendor-chart.js"), styled()]).then(([found]) => { library = found; draw(); if (!left) sized.observe(place.current); }, fail);
    addEventListener("theme", draw);
    DARK.addEventListener("change", draw);
    return () => { left = true; chart?.destroy(); sized.disconnect(); removeEventListener("theme", draw); DARK.removeEventListener("change", draw); };
  }, [points, label, tone, each]);
  const last = points.at(-1), shown = points[at] || last;
  const told = last ? `${label}: ${number(last[1])} on ${last[0]}, from ${number(points[0][1])} on ${points[0][0]}` : label;
  return html`<figure class="plot"><div role="img" aria-label=${told} ref=${place}></div>
    <figcaption>${error ? `The plot could not be fetched. ${told}.` : shown && html`<strong class="numbers">${number(shown[1])}</strong> ${dayOf(shown[0])}`}</figcaption></figure>`;
}
