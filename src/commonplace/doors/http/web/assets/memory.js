// Memory: the records, filtered as the person types; new ones appear as agents store them.

import { get, post } from "/assets/api.js";
import { ask, h, latest, say, sayWrong } from "/assets/dom.js";
import { card, refill, textBox } from "/assets/records.js";

const PAGE = 50;
// Records that the gateway answers with at once.
const MOST = 500;

export async function show(main) {
  const status = await get("/status");
  const kinds = Object.keys(status.kinds).filter((kind) => kind !== "passage");
  const list = h("ul", { class: "cards", "aria-label": "Memories" });
  const more = h("button", { type: "button", onclick: () => fill(count + PAGE) }, "More");
  const words = h("input", { type: "search", name: "text", placeholder: "Filter by words", "aria-label": "Filter by words", oninput: soon });
  const kind = h("select", { "aria-label": "Kind", onchange: () => fill() }, h("option", { value: "" }, "every kind"), kinds.map((each) => h("option", { value: each }, each)));
  const tags = h("input", { placeholder: "tags, with commas", "aria-label": "Tags", oninput: soon });
  const old = h("input", { type: "checkbox", onchange: () => fill() });
  let count = PAGE, timer = 0;

  function soon() { clearTimeout(timer); timer = setTimeout(() => fill(), 150); }

  async function found(wanted) {
    const filters = { text: words.value, kinds: kind.value, tags: tags.value, superseded: old.checked };
    let records = [], more = true;
    while (more && records.length < wanted) {
      const told = await get("/records", { ...filters, offset: records.length, limit: Math.min(MOST, wanted - records.length) });
      records = [...records, ...told.records];
      more = told.more;
    }
    return { records, more };
  }

  const draw = latest(found, ({ records, more: further }, wanted, fresh) => {
    refill(list, records.map((record) => card(record, { fresh: fresh.has(record.id) })));
    if (!records.length) list.append(h("li", { class: "none" }, "Nothing fits."));
    more.hidden = !further;
  });

  function fill(wanted = PAGE, fresh = new Set()) {
    count = wanted;
    return draw(wanted, fresh).catch(sayWrong);
  }

  async function add() {
    const stored = await ask("Remember", h("div", {},
      h("label", {}, "What to remember", textBox()),
      h("div", { class: "row" }, h("label", {}, "Kind ", h("select", { name: "kind" },
        ["note", "preference", "fact", "instruction", "context", "correction"].map((each) => h("option", {}, each)))),
        h("label", { class: "grow" }, "Tags ", h("input", { name: "tags", placeholder: "with commas" })))),
    { yes: "Remember", run: (given) => post("/records", { text: given.get("text"), kind: given.get("kind"), tags: split(given.get("tags")) }) });
    if (!stored) return;
    say(stored.redacted ? `Remembered without its secrets: ${stored.redacted.join(", ")}.` : "Remembered.");
    fill(count, new Set([stored.id]));
  }

  main.replaceChildren(h("h1", {}, "Memory"),
    h("div", { class: "row" }, h("span", { class: "grow" }, words), kind, tags,
      h("label", {}, old, " replaced ones too"), h("button", { class: "main", type: "button", onclick: add }, "Remember…")),
    list, more);
  words.style.width = "100%";
  await draw(count, new Set());
  return { changed: (change) => fill(count, new Set(change.ids)) };
}

const split = (words) => words.split(",").map((word) => word.trim()).filter(Boolean);
