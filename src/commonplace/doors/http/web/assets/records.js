// One record as a card, with what a person can do with it. Every place that lists records uses it.

import { documentAddress, get, post, remove } from "/assets/api.js";
import { age, ask, h, say, sayWrong, tell } from "/assets/dom.js";
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
      place && h("a", { href: documentAddress(place.document, place.line), "data-go": true }, `${place.document}:${place.line}`),
      isKept(record) && actions(record)),
    explain);
}

const isReplaced = (record) => record.replaced || record.superseded_by?.length > 0;

// Where it came from, and in words when that is not to be trusted: a colour alone says nothing to many.
const UNTRUSTED = { none: ", not trusted", low: ", little trusted" };
export const from = (record) => h("span", { class: `trust-${record.trust}` }, `from ${record.origin}${UNTRUSTED[record.trust] || ""}`);

// What was said in a conversation stands in no document, and a passage is part of one.
const isKept = (record) => !record.passage && record.places?.length !== 0;

// Puts new cards in the place of old ones and leaves the reader where they were: what had the focus has it again,
// what was open is open, and what was on the screen stays there.
export function refill(list, cards) {
  const was = reading(list);
  list.replaceChildren(...cards);
  resume([...list.children], was);
}

const parts = (card) => [...card.querySelectorAll("a, button, summary")];

function reading(list) {
  const cards = [...list.children];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  const seen = cards.map((card) => [card.dataset.id, card.getBoundingClientRect().top]).filter(([, top]) => top >= 0 && top < innerHeight);
  const open = cards.filter((card) => card.querySelector("details[open]")).map((card) => card.dataset.id);
  const focused = at < 0 ? null : { at, id: cards[at].dataset.id, part: parts(cards[at]).indexOf(document.activeElement) };
  // At the top of the page what is new is to be seen: it may push the rest down.
  return { focused, open, seen: scrollY > 0 ? seen : [] };
}

function resume(cards, { focused, open, seen }) {
  const byId = new Map(cards.map((card) => [card.dataset.id, card]));
  for (const id of open) byId.get(id)?.querySelector("details")?.setAttribute("open", "");
  const stays = seen.find(([id]) => id === focused?.id && byId.has(id)) || seen.find(([id]) => byId.has(id));
  if (stays) scrollBy({ top: byId.get(stays[0]).getBoundingClientRect().top - stays[1], behavior: "instant" });
  if (!focused) return;
  const card = byId.get(focused.id);
  const near = card ? parts(card)[focused.part] || card : cards[Math.min(focused.at, cards.length - 1)];
  near?.focus({ preventScroll: true });
}

function actions(record) {
  const act = (label, run, bad = false) => h("button", { type: "button", class: bad ? "bad" : "", onclick: () => run(record) }, label);
  return h("span", { class: "row" }, act("Edit", edit), act("Replace", replace), act("History", showHistory), act("Forget", forget, true));
}

function edit(record) {
  const { document: name, line } = record.places[0];
  go(documentAddress(name, line));
}

// A box for the text of a memory, which says how long that may be.
export function textBox(text = "") {
  const told = h("span", { class: "why" });
  const box = h("textarea", { name: "text", defaultValue: text, required: true, oninput: count });
  let limit = 0;
  function count() { if (limit) told.textContent = `${[...box.value].length.toLocaleString("en")} of ${limit.toLocaleString("en")} characters`; }
  // Without an answer nothing is said of it here: the gateway says so itself when a text is too long.
  get("/status").then((status) => { limit = status.text_limit; count(); }, () => {});
  return [box, told];
}

async function replace(record) {
  const done = await ask("Replace this memory", h("label", {}, "What is so now", textBox(record.text)),
    { yes: "Replace", run: (given) => post(`/records/${encodeURIComponent(record.id)}/supersede`, { text: given.get("text") }) });
  if (done) say("Replaced; the old one stays, marked.");
}

async function forget(record) {
  const at = `/records/${encodeURIComponent(record.id)}`;
  const { said } = await get(`${at}/said`).catch(() => ({ said: [] }));
  const receipt = await ask("Forget this memory for good?", h("div", {}, h("p", {}, record.text),
    h("p", { class: "why" }, "It is erased from the documents, their versions, the journal and the index. This cannot be undone."),
    said.length > 0 && h("label", {}, h("input", { type: "checkbox", name: "history" }), ` Erase what conversations say of it too: ${toldSessions(said)}`)),
    { yes: "Forget it", bad: true, run: (given) => remove(given.get("history") ? `${at}?history=true` : at) });
  if (receipt) showReceipt(receipt);
}

const toldSessions = (said) => said.map(({ session, messages, quote }) =>
  `${messages} in ${session || "no session"}${quote && ` (“${quote}”)`}`).join("; ");

function showReceipt(receipt) {
  const line = (name, value) => h("tr", {}, h("th", { scope: "row" }, name.replaceAll("_", " ")),
    h("td", { class: "text" }, Array.isArray(value) ? value.join("; ") || "none" : String(value)));
  tell("Forgotten", h("table", {}, h("tbody", {}, Object.entries({ ...receipt, said: toldSessions(receipt.said) || "nowhere" }).map(([name, value]) => line(name, value)))));
}

// What a memory rests on: the user's message and sentence, the agent's wording, what was read before, what would change.
export function accountOf(account) {
  if (!account?.state) return null;
  const rows = [["State", account.state], ["The user said", account.sentence && `“${account.sentence}” (${account.said_at.slice(0, 10)})`],
    ["In the message", account.said || account.message], ["The agent's wording", account.wording],
    ["Not typed by the user", account.untyped?.join(", ")],
    ["Read before", account.read_before?.map(([what, at]) => at ? `${what} (${at.slice(0, 16)})` : what).join(", ")]].filter(([, told]) => told);
  return h("div", { class: "account" },
    h("table", {}, h("tbody", {}, rows.map(([name, told]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "text" }, told))))),
    account.changes && h("details", {}, h("summary", {}, "What an approval would change"), h("pre", {}, account.changes)));
}

async function showHistory(record) {
  const told = await get(`/records/${encodeURIComponent(record.id)}`).catch(sayWrong);
  if (!told) return;
  tell("History of this memory", h("div", {},
    h("p", {}, told.text), accountOf(told.account),
    h("table", {}, h("tbody", {}, told.history.map((change) => h("tr", {}, h("td", {}, change.at), h("td", {}, change.op),
      h("td", { class: "text" }, change.documents.join(", ")), h("td", {}, change.origin))))),
    told.chain.length > 1 && [h("h3", {}, "What replaced what, oldest first"), h("ol", { class: "chain" }, told.chain.map((each) =>
      h("li", { "aria-current": each.id === told.id ? "true" : undefined }, h("time", { dateTime: each.timestamp }, each.day), ` ${each.text}`)))]));
}
