// Map: the memories drawn by likeness. What lies close says something alike.

import { get } from "/assets/api.js";
import { drawn, h } from "/assets/dom.js";
import { card } from "/assets/records.js";

const TONES = ["#8a4b2a", "#2f5d8a", "#2c6e49", "#8a5a00", "#6b4a8a", "#8a2f5d", "#4a6b6b", "#555"];

export async function show(main) {
  const { points, mode } = await get("/map");
  const kinds = [...new Set(points.map((point) => point.kind))].sort();
  const tone = (kind) => TONES[kinds.indexOf(kind) % TONES.length];
  const reading = h("ul", { class: "cards", "aria-live": "polite", "aria-label": "The memory under the pointer" });
  const read = async (point) => reading.replaceChildren(card(await get(`/records/${encodeURIComponent(point.id)}`)));
  const dots = points.map((point) => drawn("circle", {
    cx: 20 + 960 * point.x, cy: 20 + 560 * point.y, r: 6, fill: tone(point.kind), "fill-opacity": 0.75, tabindex: 0, role: "button",
    "aria-label": `${point.kind}: ${point.text}`,
    onclick: () => read(point), onfocus: () => read(point),
    onkeydown: (event) => { if (event.key === "Enter") read(point); },
  }, drawn("title", {}, point.text)));
  const legend = h("p", { class: "legend" }, kinds.map((kind) => {
    const dot = h("span", { class: "dot" });
    dot.style.background = tone(kind);
    return h("span", {}, dot, kind);
  }));
  main.replaceChildren(h("h1", {}, "Map"), h("p", { class: "why" }, `${points.length} memories by likeness (${mode}). Point at one, or step through them with Tab.`),
    legend, drawn("svg", { class: "map", viewBox: "0 0 1000 600", role: "group", "aria-label": "Map of the memories" }, dots), reading);
}
