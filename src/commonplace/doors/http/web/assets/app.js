// The page: which place is shown, what the keys do, and what happens when an agent writes.

import { address, call, EVERYTHING, get, listen, post, state } from "/assets/api.js";
import { $, h, say, sayWrong, tell } from "/assets/dom.js";
import * as consent from "/assets/consent.js";
import * as days from "/assets/days.js";
import * as documents from "/assets/documents.js";
import * as home from "/assets/home.js";
import * as map from "/assets/map.js";
import * as memory from "/assets/memory.js";
import * as review from "/assets/review.js";
import * as search from "/assets/search.js";
import * as upkeep from "/assets/upkeep.js";

const VIEWS = { home, memory, documents, days, search, review, upkeep, map };
const PLACES = [
  ["home", "Home", "h"], ["memory", "Memory", "m"], ["documents", "Documents", "d"], ["days", "Days", "t"],
  ["search", "Search", "s"], ["review", "Review", "r"], ["upkeep", "Upkeep", "k"], ["map", "Map", "a"],
];
const KEYS = [
  ["/", "search"], ["u", "undo the last change made through Commonplace"], ["r", "redo: take back the last undo"], ["j, k", "next, previous entry"], ["?", "these keys"],
  ...PLACES.map(([, title, key]) => [`g then ${key}`, `go to ${title}`]),
];
let shown = {}, room = null, at = "", missed = false, stop = null;

export function go(path, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", address(path));
  show();
}

// A part of the path that somebody wrote by hand may be no good spelling of anything.
function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

function place() {
  const [name, ...rest] = location.pathname.slice(1).split("/").map(decoded);
  return { name: PLACES.some(([known]) => known === name) ? name : "home", rest, query: new URLSearchParams(location.search) };
}

function mark(name) {
  for (const link of $("places").querySelectorAll("a")) {
    if (link.dataset.name === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

// Each place is drawn in a room of its own. One that was left before it was ready draws where nobody looks.
async function show(moveFocus = true) {
  if (isOut()) return;
  at = location.pathname + location.search;
  leave();
  const { name, rest, query } = place();
  const vault = query.get("vault") || state.vaults[0];
  if (vault !== state.vault) choose(vault);
  mark(name);
  const title = PLACES.find(([known]) => known === name)[1];
  document.title = `${title} · ${state.vault} · Commonplace`;
  const mine = h("div", {}, h("p", { class: "none waiting" }, `${title} is on its way…`));
  room = $("main").appendChild(mine);
  if (moveFocus) $("main").focus({ preventScroll: true });
  const view = await entered(VIEWS[name], mine, title, rest, query);
  if (room !== mine) { view.leave?.(); return; }
  shown = view;
  if (missed) heard(EVERYTHING);
}

function leave() {
  shown.leave?.();
  shown = {};
  missed = false;
  room?.remove();
  room = null;
}

async function entered(view, mine, title, rest, query) {
  try {
    return await view.show(mine, rest, query) || {};
  } catch (error) {
    mine.replaceChildren(h("h1", {}, title), h("p", { class: "none" }, error.message));
    return {};
  }
}

// What comes while a place is on its way is told to it when it is there.
async function heard(change) {
  countReview();
  missed = true;
  try { await shown.changed?.(change); } catch (error) { sayWrong(error); }
}

async function countReview() {
  const { vault } = state;
  const { waiting } = await get("/review").catch(() => ({}));
  if (!waiting || vault !== state.vault) return;
  const link = $("places").querySelector("[data-name=review]");
  link.querySelector(".badge")?.remove();
  if (waiting.length) link.append(h("span", { class: "badge", "aria-label": `${waiting.length} waiting` }, String(waiting.length)));
}

export async function undo() {
  try {
    const { undone, edits } = await post("/undo");
    const left = edits.map((edit) => `${edit.documents.join(", ")} (change ${edit.position})`).join(", ");
    say(`Taken back: ${undone.op} of ${undone.documents.join(", ")}.${left && ` Newer edits made by hand stay: ${left}.`}`);
  } catch (error) { sayWrong(error); }
}

export async function redo() {
  try {
    const { redone } = await post("/redo");
    say(`Made again: ${redone.op} of ${redone.documents.join(", ")}.`);
  } catch (error) { sayWrong(error); }
}

function drawPlaces() {
  document.querySelector(".mark").href = address("/home");
  $("places").replaceChildren(...PLACES.map(([name, title]) =>
    h("li", {}, h("a", { href: address(`/${name}`), "data-go": true, "data-name": name }, h("span", {}, title)))));
}

function choose(vault) {
  if (!state.vaults.includes(vault)) say(`There is no vault ${vault} here: this is ${state.vaults[0]}.`, true);
  state.vault = state.vaults.includes(vault) ? vault : state.vaults[0];
  $("vault").value = state.vault;
  // What it asks is about the vault that was open.
  $("dialog").close("no");
  drawPlaces();
  listenAnew();
  countReview();
}

function listenAnew() {
  stop?.();
  stop = listen(heard);
}

function step(by) {
  const cards = [...$("main").querySelectorAll(".card[tabindex]")];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  cards[Math.max(0, Math.min(cards.length - 1, at + by))]?.focus();
}

let going = false;
function pressed(event) {
  const typing = event.composedPath()[0]?.closest?.("input, textarea, select, [contenteditable]") || $("dialog").open;
  if (typing || isOut() || event.ctrlKey || event.metaKey || event.altKey) return;
  const wanted = going && PLACES.find(([, , key]) => key === event.key);
  going = false;
  if (wanted) go(`/${wanted[0]}`);
  else if (event.key === "g") going = true;
  else if (event.key === "/") $("words").focus();
  else if (event.key === "u") undo();
  else if (event.key === "r") redo();
  else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "?") showKeys();
  else return;
  event.preventDefault();
}

const showKeys = () => tell("Keyboard keys", h("table", {}, h("tbody", {},
  KEYS.map(([key, what]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, what))))));

// Who has a cookie is in, whatever became of the link's code.
async function logIn() {
  const code = new URLSearchParams(location.search).get("code");
  if (location.pathname === "/login") history.replaceState(null, "", "/login");
  try { return await call("/api/vaults"); } catch (error) {
    if (location.pathname !== "/login") throw error;
  }
  if (!code) throw new Error("Not logged in.");
  await call("/api/login", "POST", { code });
  return call("/api/vaults");
}

const way = () => ["Start ", h("code", {}, "commonplace serve"), " again, or run ", h("code", {}, "commonplace serve --link"), " beside it, and open the link that it prints"];

const isOut = () => document.body.classList.contains("out");

function lockedOut(why) {
  document.body.classList.add("out");
  leave();
  stop?.();
  $("main").replaceChildren(h("h1", {}, "Log in"), h("p", {}, why), h("p", {}, way(), ". It works once."));
}

// What was typed must not go with the session: it stays, and beside it the way to save it.
function loggedOut() {
  if (!documents.unsaved()) { lockedOut("This session is over."); return; }
  $("main").prepend(h("p", { id: "over", class: "banner", role: "alert" },
    "This session is over, and what you typed is not saved: it waits here. ", way(), " in another tab, then save again."));
}

function loggedIn() {
  $("over")?.remove();
  listenAnew();
  heard(EVERYTHING);
}

// A step within the place that is shown, such as to its content, is none to another.
function moved() {
  if (location.pathname + location.search !== at) show();
}

function pickVault(event) {
  choose(event.target.value);
  go("/home");
}

function find(event) {
  event.preventDefault();
  go(`/search?words=${encodeURIComponent($("words").value)}`);
}

function clicked(event) {
  const link = event.target.closest?.("a[data-go]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(link.getAttribute("href"));
}

async function start() {
  if (location.pathname === "/consent") { consent.show(); return; }
  try { Object.assign(state, await logIn()); } catch (error) { lockedOut(error.message); return; }
  $("vault").replaceChildren(...state.vaults.map((name) => h("option", { value: name }, name)));
  $("vault").addEventListener("change", pickVault);
  $("find").addEventListener("submit", find);
  $("undo").addEventListener("click", undo);
  $("redo").addEventListener("click", redo);
  $("keys").addEventListener("click", showKeys);
  addEventListener("popstate", moved);
  addEventListener("keydown", pressed);
  addEventListener("logged-out", loggedOut);
  addEventListener("logged-in", loggedIn);
  document.addEventListener("click", clicked);
  if (["/", "/login"].includes(location.pathname)) history.replaceState(null, "", `/home${location.search}`);
  show(false);
}

start();
