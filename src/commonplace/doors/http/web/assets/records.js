// One record as a card, with what a person can do with it. Every place that lists records uses it.

import { get, post, remove } from "/assets/api.js";
import { age, ask, h, say, tell } from "/assets/dom.js";
import { go } from "/assets/app.js";

export function card(record, { explain = null, fresh = false } = {}) {
  const place = record.places?.[0];
  return h("li", { class: `card${fresh ? " fresh" : ""}${isReplaced(record) ? " replaced" : ""}`, tabIndex: 0, "data-id": record.id },
    h("p", {}, record.text),
    h("div", { class: "meta" },
      h("span", { class: "kind" }, record.kind),
      h("time", { dateTime: record.timestamp, title: record.timestamp }, age(record.timestamp)),
      (record.tags || []).map((tag) => h("span", { class: "tag" }, tag)),
      record.username && h("span", {}, `@${record.username}`),
      isReplaced(record) && h("span", {}, "replaced"),
      record.supersedes && h("span", {}, "replaces an older one"),
      from(record),
      record.sensitivity !== "personal" && h("span", {}, record.sensitivity),
      place && h("a", { href: `/documents/${place.document}?line=${place.line}`, "data-go": true }, `${place.document}:${place.line}`),
      isKept(record) && actions(record)),
    explain);
}

const isReplaced = (record) => record.replaced || record.superseded_by?.length > 0;

// Where it came from, and in words when that is not to be trusted: a colour alone says nothing to many.
const UNTRUSTED = { none: ", not trusted", low: ", little trusted" };
export const from = (record) => h("span", { class: `trust-${record.trust}` }, `from ${record.origin}${UNTRUSTED[record.trust] || ""}`);

// What was said in a conversation stands in no document, and a passage is part of one.
const isKept = (record) => !record.passage && record.places?.length !== 0;

function actions(record) {
  const act = (label, run, bad = false) => h("button", { type: "button", class: bad ? "bad" : "", onclick: () => run(record) }, label);
  return h("span", { class: "row" }, act("Edit", edit), act("Replace", replace), act("History", showHistory), act("Forget", forget, true));
}

function edit(record) {
  const { document: name, line } = record.places[0];
  go(`/documents/${name}?line=${line}`);
}

async function replace(record) {
  const given = await ask("Replace this memory", h("label", {}, "What is so now",
    h("textarea", { name: "text", defaultValue: record.text, required: true })), { yes: "Replace" });
  if (!given) return;
  try {
    await post(`/records/${encodeURIComponent(record.id)}/supersede`, { text: given.get("text") });
    say("Replaced; the old one stays, marked.");
  } catch (error) { say(error.message, true); }
}

async function forget(record) {
  const given = await ask("Forget this memory for good?", h("div", {}, h("p", {}, record.text),
    h("p", { class: "why" }, "It is erased from the documents, their versions, the journal and the index. This cannot be undone.")),
    { yes: "Forget it", bad: true });
  if (!given) return;
  try { showReceipt(await remove(`/records/${encodeURIComponent(record.id)}`)); } catch (error) { say(error.message, true); }
}

function showReceipt(receipt) {
  const line = (name, value) => h("tr", {}, h("th", { scope: "row" }, name.replaceAll("_", " ")),
    h("td", { class: "text" }, Array.isArray(value) ? value.join("; ") || "none" : String(value)));
  tell("Forgotten", h("table", {}, h("tbody", {}, Object.entries(receipt).map(([name, value]) => line(name, value)))));
}

async function showHistory(record) {
  const told = await get(`/records/${encodeURIComponent(record.id)}`).catch((error) => { say(error.message, true); });
  if (!told) return;
  tell("History of this memory", h("div", {},
    h("p", {}, told.text),
    h("table", {}, h("tbody", {}, told.history.map((change) => h("tr", {}, h("td", {}, change.at), h("td", {}, change.op),
      h("td", { class: "text" }, change.documents.join(", ")), h("td", {}, change.origin))))),
    told.chain.length > 1 && [h("h3", {}, "What replaced what, oldest first"), h("ol", { class: "chain" }, told.chain.map((each) =>
      h("li", { "aria-current": each.id === told.id ? "true" : undefined }, h("time", { dateTime: each.timestamp }, each.day), ` ${each.text}`)))]));
}
