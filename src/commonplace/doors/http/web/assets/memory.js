// Memory: the records, filtered as the person types; new ones appear as agents store them.

import { get, post } from "/assets/api.js";
import { ask, h, say } from "/assets/dom.js";
import { card } from "/assets/records.js";

const PAGE = 50;

export async function show(main) {
  const status = await get("/status");
  const kinds = Object.keys(status.kinds).filter((kind) => kind !== "passage");
  const list = h("ul", { class: "cards", "aria-label": "Memories" });
  const more = h("button", { type: "button", onclick: () => fill(true) }, "More");
  const words = h("input", { type: "search", name: "text", placeholder: "Filter by words", "aria-label": "Filter by words", oninput: soon });
  const kind = h("select", { "aria-label": "Kind", onchange: () => fill() }, h("option", { value: "" }, "every kind"), kinds.map((each) => h("option", { value: each }, each)));
  const tags = h("input", { placeholder: "tags, with commas", "aria-label": "Tags", oninput: soon });
  const old = h("input", { type: "checkbox", onchange: () => fill() });
  let offset = 0, timer = 0, asked = 0;

  function soon() { clearTimeout(timer); timer = setTimeout(() => fill(), 150); }

  async function fill(further = false, fresh = new Set()) {
    offset = further ? offset + PAGE : 0;
    const number = ++asked;
    const query = { text: words.value, kinds: kind.value, tags: tags.value, superseded: old.checked, offset, limit: PAGE };
    const told = await get("/records", query).catch((error) => { say(error.message, true); });
    if (!told || number !== asked) return;
    const cards = told.records.map((record) => card(record, { fresh: fresh.has(record.id) }));
    if (further) list.append(...cards); else list.replaceChildren(...cards);
    if (!cards.length && !further) list.append(h("li", { class: "none" }, "Nothing fits."));
    more.hidden = !told.more;
  }

  async function add() {
    const given = await ask("Remember", h("div", {},
      h("label", {}, "What to remember", h("textarea", { name: "text", required: true })),
      h("div", { class: "row" }, h("label", {}, "Kind ", h("select", { name: "kind" },
        ["note", "preference", "fact", "instruction", "context", "correction"].map((each) => h("option", {}, each)))),
        h("label", { class: "grow" }, "Tags ", h("input", { name: "tags", placeholder: "with commas" })))), { yes: "Remember" });
    if (!given) return;
    const words = String(given.get("tags")).split(",").map((tag) => tag.trim()).filter(Boolean);
    try { await post("/records", { text: given.get("text"), kind: given.get("kind"), tags: words }); say("Remembered."); fill(); }
    catch (error) { say(error.message, true); }
  }

  main.replaceChildren(h("h1", {}, "Memory"),
    h("div", { class: "row" }, h("span", { class: "grow" }, words), kind, tags,
      h("label", {}, old, " replaced ones too"), h("button", { class: "main", type: "button", onclick: add }, "Remember…")),
    list, more);
  words.style.width = "100%";
  await fill();
  return { changed: (change) => fill(false, new Set(change.ids)) };
}
