// The page: which place is shown, what the keys do, and what happens when an agent writes.

import { call, listen, post, state, get } from "/assets/api.js";
import { $, h, say, tell } from "/assets/dom.js";

const PLACES = [
  ["home", "Home", "h"], ["memory", "Memory", "m"], ["documents", "Documents", "d"], ["days", "Days", "t"],
  ["search", "Search", "s"], ["review", "Review", "r"], ["upkeep", "Upkeep", "k"], ["map", "Map", "a"],
];
const KEYS = [
  ["/", "search"], ["u", "undo the last change made through Commonplace"], ["j, k", "next, previous entry"], ["?", "these keys"],
  ...PLACES.map(([, title, key]) => [`g then ${key}`, `go to ${title}`]),
];
let shown = null, stop = null;

export function go(path, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", path);
  show();
}

function place() {
  const [name, ...rest] = location.pathname.slice(1).split("/").map(decodeURIComponent);
  return { name: PLACES.some(([known]) => known === name) ? name : "home", rest };
}

async function show(moveFocus = true) {
  const { name, rest } = place();
  for (const link of $("places").querySelectorAll("a")) {
    if (link.dataset.name === name) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else link.removeAttribute("aria-current");
  }
  const title = PLACES.find(([known]) => known === name)[1];
  document.title = `${title} · ${state.vault} · Commonplace`;
  const view = await import(`/assets/${name}.js`);
  if (shown?.leave) shown.leave();
  const main = $("main");
  try {
    shown = await view.show(main, rest, new URLSearchParams(location.search)) || {};
  } catch (error) {
    main.replaceChildren(h("h1", {}, title), h("p", { class: "none" }, error.message));
    shown = {};
  }
  if (moveFocus) main.focus({ preventScroll: true });
}

function heard(change) {
  countReview();
  if (shown?.changed) shown.changed(change);
}

async function countReview() {
  const { waiting } = await get("/review").catch(() => ({ waiting: [] }));
  const link = $("places").querySelector("[data-name=review]");
  link.querySelector(".badge")?.remove();
  if (waiting.length) link.append(h("span", { class: "badge", "aria-label": `${waiting.length} waiting` }, String(waiting.length)));
}

export async function undo() {
  try {
    const { undone, edits } = await post("/undo");
    const left = edits.map((edit) => `${edit.documents.join(", ")} (change ${edit.position})`).join(", ");
    say(`Taken back: ${undone.op} of ${undone.documents.join(", ")}.${left && ` Newer edits made by hand stay: ${left}.`}`);
  } catch (error) { say(error.message, true); }
}

function drawPlaces() {
  $("places").replaceChildren(...PLACES.map(([name, title]) =>
    h("li", {}, h("a", { href: `/${name}`, "data-go": true, "data-name": name }, h("span", {}, title)))));
}

function choose(vault) {
  state.vault = vault;
  sessionStorage.setItem("vault", vault);
  $("vault").value = vault;
  if (stop) stop();
  stop = listen(heard);
  countReview();
}

function step(by) {
  const cards = [...$("main").querySelectorAll(".card[tabindex]")];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  cards[Math.max(0, Math.min(cards.length - 1, at + by))]?.focus();
}

let going = false;
function pressed(event) {
  const typing = event.composedPath()[0]?.closest?.("input, textarea, select, [contenteditable]") || $("dialog").open;
  if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const wanted = going && PLACES.find(([, , key]) => key === event.key);
  going = false;
  if (wanted) go(`/${wanted[0]}`);
  else if (event.key === "g") going = true;
  else if (event.key === "/") $("words").focus();
  else if (event.key === "u") undo();
  else if (event.key === "j") step(1);
  else if (event.key === "k") step(-1);
  else if (event.key === "?") showKeys();
  else return;
  event.preventDefault();
}

const showKeys = () => tell("Keyboard keys", h("table", {}, h("tbody", {},
  KEYS.map(([key, what]) => h("tr", {}, h("th", { scope: "row" }, h("kbd", {}, key)), h("td", {}, what))))));

async function logIn() {
  const code = new URLSearchParams(location.search).get("code") || "";
  history.replaceState(null, "", "/login");
  if (code) {
    try { await call("/api/login", "POST", { code }); return true; } catch (error) { return lockedOut(error.message); }
  }
  return lockedOut("Not logged in.");
}

function lockedOut(why) {
  document.body.classList.add("out");
  $("main").replaceChildren(h("h1", {}, "Log in"), h("p", {}, why),
    h("p", {}, "Start ", h("code", {}, "commonplace serve"), " again, or run ", h("code", {}, "commonplace serve --link"),
      " beside it, and open the link that it prints. It works once."));
  return false;
}

async function start() {
  drawPlaces();
  if (location.pathname === "/login" && !(await logIn())) return;
  let told;
  try { told = await call("/api/vaults"); } catch (error) { lockedOut(error.message); return; }
  Object.assign(state, { vaults: told.vaults, who: told.who });
  $("vault").replaceChildren(...told.vaults.map((name) => h("option", { value: name }, name)));
  const last = sessionStorage.getItem("vault");
  choose(told.vaults.includes(last) ? last : told.vaults[0]);
  $("vault").addEventListener("change", (event) => { choose(event.target.value); go("/home"); });
  $("find").addEventListener("submit", (event) => {
    event.preventDefault();
    go(`/search?words=${encodeURIComponent($("words").value)}`);
  });
  $("undo").addEventListener("click", undo);
  $("keys").addEventListener("click", showKeys);
  addEventListener("popstate", () => show());
  addEventListener("keydown", pressed);
  addEventListener("logged-out", () => lockedOut("This session is over."));
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-go]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(link.getAttribute("href"));
  });
  if (["/", "/login"].includes(location.pathname)) history.replaceState(null, "", "/home");
  show(false);
}

start();
