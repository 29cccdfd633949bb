// Map: the memories drawn by likeness. What lies close says something alike.

import { get } from "/assets/api.js";
import { drawn, h, say, tone } from "/assets/dom.js";
import { card } from "/assets/records.js";

export async function show(main) {
  const { points, mode } = await get("/map");
  const kinds = [...new Set(points.map((point) => point.kind))].sort();
  const colour = (kind) => tone(kinds.indexOf(kind));
  const reading = h("ul", { class: "cards", "aria-live": "polite", "aria-label": "The memory under the pointer" });
  let asked = null;
  const glance = (point) => reading.replaceChildren(h("li", { class: "card" }, h("p", {}, point.text), h("div", { class: "meta" }, h("span", { class: "kind" }, point.kind))));
  const read = async (point) => {
    asked = point;
    const record = await get(`/records/${encodeURIComponent(point.id)}`).catch((error) => { say(error.message, true); });
    if (record && asked === point) reading.replaceChildren(card(record));
  };
  const dots = points.map((point) => drawn("circle", {
    cx: 20 + 960 * point.x, cy: 20 + 560 * point.y, r: 6, tabindex: 0, role: "button",
    "aria-label": `${point.kind}: ${point.text}`,
    onpointerenter: () => { asked = null; glance(point); }, onclick: () => read(point), onfocus: () => read(point),
    onkeydown: (event) => { if (event.key === "Enter") read(point); },
  }, drawn("title", {}, point.text)));
  dots.forEach((dot, at) => { dot.style.fill = colour(points[at].kind); });
  const legend = h("p", { class: "legend" }, kinds.map((kind) => {
    const dot = h("span", { class: "dot" });
    dot.style.background = colour(kind);
    return h("span", {}, dot, kind);
  }));
  main.replaceChildren(h("h1", {}, "Map"), h("p", { class: "why" }, `${points.length} memories by likeness (${mode}). Point at one, or step through them with Tab.`),
    legend, drawn("svg", { class: "map", viewBox: "0 0 1000 600", role: "group", "aria-label": "Map of the memories" }, dots), reading);
}
