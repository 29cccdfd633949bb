// Search: what was found, why each was found, and what each signal gave.

import { get } from "/assets/api.js";
import { $, h, latest } from "/assets/dom.js";
import { card, refill } from "/assets/records.js";

export async function show(main, rest, query) {
  const words = query.get("words") || "";
  $("words").value = words;
  const list = h("ul", { class: "cards", "aria-label": "Found" });
  const how = h("p", { class: "why" });
  const inside = h("select", { "aria-label": "Where to look", onchange: fill }, ["memory", "history", "all"].map((each) => h("option", {}, each)));
  const draw = latest(() => get("/search", { text: words, within: inside.value, limit: 30 }), (told) => {
    how.textContent = verdict(told) + (told.degraded ? ` Not at its best: ${told.degraded}` : "");
    refill(list, [...told.hits, ...told.nearest].map((hit) => card(hit, { explain: explained(hit) })));
    if (!list.children.length) list.append(h("li", { class: "none" }, words ? "Nothing was found." : "Type what you look for."));
  });

  // A search that failed must not look like one that found nothing.
  function fill() { return draw().catch((error) => { how.textContent = error.message; }); }

  main.replaceChildren(h("h1", {}, words ? `Search: ${words}` : "Search"), h("div", { class: "row" }, h("label", {}, "Look in ", inside)), how, list);
  await fill();
  return { changed: fill };
}

const BY = { hybrid: "words and meaning", words: "words", vectors: "meaning" };

function verdict(told) {
  if (told.nearest.length) return "Nothing was found. The nearest, which are probably no answer:";
  const count = `${told.hits.length} found by ${BY[told.mode.replace("-static", "")] || told.mode}.`;
  return told.weak ? `${count} Weak: perhaps none of these is an answer. Try other words.` : count;
}

// What speaks against a hit is drawn as a bad value, not as one that helped.
const AGAINST = { optimum: 0, low: 0, high: 0 };

function explained(hit) {
  const signals = Object.entries(hit.explain || {});
  const most = Math.max(...signals.map(([, value]) => Math.abs(value)), 0.001);
  return h("details", {}, h("summary", { class: "why" }, hit.reasons.join("; ") || "why"),
    h("p", { class: "why" }, `score ${hit.score.toFixed(2)}${hit.weak ? ", weak" : ""}`),
    signals.map(([name, value]) => h("div", { class: "signal" }, h("span", {}, name),
      h("meter", { min: 0, max: most, value: Math.abs(value), ...value < 0 && AGAINST, "aria-label": `${name} ${value}` }), h("span", {}, value.toFixed(2)))),
    (hit.around || []).map((line) => h("p", { class: "why" }, `${line.username || "beside it"}: ${line.text}`)));
}
