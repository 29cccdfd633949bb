// The frame: where one is, where one can go, what the keys do, and what is said when a session or the network is lost.

import { Alone, Way } from "/assets/alone.js";
import { call, fetched, isThere, post, state } from "/assets/api.js";
import { drafts, forgetAll, heard, listenAnew, listenNoMore, useAction, useData } from "/assets/data.js";
import { Icon } from "/assets/icons.js";
import { GROUPS, PLACES, placeOf } from "/assets/places.js";
import { go, Link, useRoute } from "/assets/router.js";
import { Badge, Banner, Button, closeDialog, Empty, Page, Said, Skeleton, Tabs, tell, toast } from "/assets/ui.js";
import { redo, undo } from "/assets/undo.js";
import { html, useEffect, useErrorBoundary, useRef, useState } from "/assets/vendor.js";
import { count, full } from "/assets/words.js";

const NARROW = matchMedia("(max-width: 63.99rem)");

function useNarrow() {
  const [narrow, set] = useState(NARROW.matches);
  useEffect(() => {
    const turn = () => set(NARROW.matches);
    NARROW.addEventListener("change", turn);
    return () => NARROW.removeEventListener("change", turn);
  }, []);
  return narrow;
}

// Draws anew when one of these is told to the window.
function useTold(...names) {
  const [count, set] = useState(0);
  useEffect(() => {
    const turn = () => set((was) => was + 1);
    for (const name of names) addEventListener(name, turn);
    return () => { for (const name of names) removeEventListener(name, turn); };
  }, []);
  return count;
}

// The vault that the address names; without one, the first.
function vaultOf(query) {
  const asked = query.get("vault") || state.vaults[0];
  return state.vaults.includes(asked) ? asked : state.vaults[0];
}

let listening = "";
function open(vault) {
  state.vault = vault;
  if (vault === listening) return;
  listening = vault;
  // What a dialog asks is about the vault that was open.
  closeDialog();
  listenAnew();
}

export function Shell() {
  const route = useRoute(), narrow = useNarrow(), [out, setOut] = useState(false);
  useTold("gateway-lost", "gateway-back");
  open(vaultOf(route.query));
  useEffect(() => {
    const asked = route.query.get("vault");
    if (asked && asked !== state.vault) toast(`There is no vault ${asked} here: this is ${state.vault}.`, { wrong: true });
  }, [route.query.get("vault")]);
  useEffect(() => {
    const gone = () => setOut(true), back = () => setOut(false);
    addEventListener("logged-out", gone);
    addEventListener("logged-in", back);
    return () => { removeEventListener("logged-out", gone); removeEventListener("logged-in", back); };
  }, []);
  useKeys(!out);
  useReturn(out);
  // What was typed must not go with the session: it stays, and above it the way to send it.
  const typed = out && drafts().length > 0;
  useEffect(() => { if (out && !typed) { listenNoMore(); forgetAll(); } }, [out]);
  if (out && !typed) return html`<${Alone} error=${new Error("This session is over.")} />`;
  const place = placeOf(route.place);
  const frame = narrow ? html`<${TopBar} route=${route} /><${BottomBar} route=${route} />` : html`<${Side} route=${route} />`;
  return html`<a class="skip" href="#main">Skip to the content</a>
    <div class="shell" key=${state.vault}>
      ${frame}
      <main id="main" tabindex="-1">
        ${!isThere() && html`<p class="lost" role="status">The gateway does not answer. Trying again by itself…</p>`}
        ${typed && html`<${Banner} look="warn" class="banner warn over" role="alert">This session is over, and what you typed is not saved: it waits here. <${Way} /> in another tab, then save again.</${Banner}>`}
        <${Paused} />
        ${place ? html`<${Place} key=${place.name} place=${place} route=${route} />` : html`<${Unknown} />`}
      </main>
    </div><${Said} />`;
}

// While memory is paused the person is told so wherever they are, and can end it.
function Paused() {
  const pauses = useData("/pauses"), held = pauses.data?.pauses || [];
  const [resume, { busy, error }] = useAction(async () => { await post("/resume", { every: true }); pauses.refresh(); toast("Memory records and tells again."); });
  useEffect(() => { addEventListener("paused", pauses.refresh); return () => removeEventListener("paused", pauses.refresh); }, []);
  if (!held.length) return null;
  const whole = held.find((each) => !each.session), until = (whole || held[0]).until;
  return html`<${Banner} look="warn" role="status" actions=${html`<${Button} busy=${busy} onClick=${resume}>End the pause</${Button}>`}>
    ${whole ? "Memory is paused" : `Memory is paused in ${count(held.length, "session")}`}${until && ` until ${full(until)}`}: nothing is recorded or told to agents there. ${error && error.message}</${Banner}>`;
}

// While nobody answers, or the session is over, it looks by itself whether that has changed.
function useReturn(out) {
  const lost = !isThere();
  useEffect(() => {
    if (!lost && !out) return undefined;
    const look = () => { call("/api/vaults").then(({ vaults }) => { if (lost && vaults) heard(); }, () => {}); };
    const timer = setInterval(look, 3000);
    addEventListener("online", look);
    addEventListener("focus", look);
    return () => { clearInterval(timer); removeEventListener("online", look); removeEventListener("focus", look); };
  }, [lost, out]);
}

const sheets = new Map();
function sheetOf(path) {
  if (!path || sheets.has(path)) return sheets.get(path);
  const link = Object.assign(document.createElement("link"), { rel: "stylesheet", href: path });
  const ready = new Promise((settle) => { link.onload = settle; link.onerror = settle; });
  document.head.append(link);
  sheets.set(path, ready);
  return ready;
}

// A place, fetched when it is first opened; a lost network is tried again.
function Place({ place, route }) {
  const [now, set] = useState({}), tries = useRef(0);
  const [broken, mend] = useErrorBoundary((error) => console.error(error));
  const load = async () => {
    try {
      const module = await fetched(`/assets/places/${place.name}.js`);
      await sheetOf(module.sheet);
      set({ View: module.default });
    } catch (error) {
      if (error.passes) { setTimeout(load, Math.min(8000, 500 * 2 ** tries.current)); tries.current += 1; } else set({ error });
    }
  };
  useEffect(() => { document.title = `${place.title} · ${state.vault} · Commonplace`; load(); }, []);
  const wrong = broken || now.error;
  if (wrong) {
    return html`<${Page} title=${place.title}><${Empty} icon="warn" title="This place could not be shown"
      actions=${html`<${Button} onClick=${() => { mend(); set({}); load(); }}>Try again</${Button}>`}>${wrong.message}</${Empty}></${Page}>`;
  }
  if (!now.View) return html`<div class="place"><header class="place-head"><div><h1>${place.title}</h1></div></header><${Skeleton} cards=${4} label=${`${place.title} is on its way`} /></div>`;
  return html`<${now.View} rest=${route.rest} query=${route.query} place=${place} />`;
}

const Unknown = () => {
  useEffect(() => { document.title = "Not there · Commonplace"; }, []);
  return html`<${Page} title="Nothing is here"><${Empty} icon="search" title="This page has no such place"
    actions=${html`<${Link} class="button primary" to="/home">Go to Home</${Link}>`}>The address ${location.pathname} leads nowhere. It may be mistyped, or from an older version.</${Empty}></${Page}>`;
};

// ---- The sidebar, and the bars of a phone.

function useWaiting() {
  const { data } = useData("/review");
  return data?.waiting?.length || 0;
}

const Places = ({ route, waiting, onGo }) => html`<nav class="places" aria-label="Places" onClick=${onGo}>${GROUPS.map((group) => html`<section>${group && html`<h2>${group}</h2>`}<ul>
  ${PLACES.filter((each) => each.group === group).map((each) => html`<li><${Link} to=${`/${each.name}`} aria-current=${each.name === route.place ? "page" : undefined}>
    <${Icon} name=${each.icon} /><span>${each.title}</span>${each.name === "review" && waiting > 0 && html`<${Badge} look="accent" aria-label=${`${waiting} waiting`}>${waiting}</${Badge}>`}</${Link}></li>`)}</ul></section>`)}</nav>`;

function Pick({ onGo }) {
  if (state.vaults.length < 2) return null;
  const pick = (event) => {
    state.vault = event.target.value;
    go(`/${placeOf(location.pathname.split("/")[1])?.name || "home"}`);
    onGo?.();
  };
  return html`<div class="pick"><label><span class="hidden">Vault</span><select onChange=${pick} dir="auto">${state.vaults.map((name) => html`<option value=${name} selected=${name === state.vault}>${name}</option>`)}</select></label></div>`;
}

function Find({ route }) {
  const words = route.place === "search" ? route.query.get("words") || "" : "";
  const [text, set] = useState(words);
  useEffect(() => { set(words); }, [words, route.place]);
  const submit = (event) => {
    event.preventDefault();
    const next = new URLSearchParams(route.place === "search" ? location.search : "");
    next.set("words", text);
    go(`/search?${next}`);
  };
  return html`<form class="find" role="search" onSubmit=${submit}><${Icon} name="search" /><input type="search" name="words" dir="auto" aria-label="Search this memory" placeholder="Search" autocomplete="off" value=${text} onInput=${(event) => set(event.target.value)} /><kbd aria-hidden="true">/</kbd></form>`;
}

const Brand = () => html`<${Link} class="brand" to="/home" aria-label="Commonplace, home"><img src="/assets/icon.svg" alt="" width="26" height="26" /> <span>Commonplace</span></${Link}>`;

const UNDO = "Take back your own last change (u)", REDO = "Make again what you took back last (r)";

function Side({ route }) {
  const waiting = useWaiting();
  return html`<header class="side"><${Brand} /><${Find} route=${route} /><${Pick} /><${Places} route=${route} waiting=${waiting} />
    <div class="side-foot"><${Button} look="quiet" icon="undo" title=${UNDO} onClick=${undo}>Undo</${Button}><${Button} look="quiet" icon="redo" label="Redo" title=${REDO} onClick=${redo} />
      <${Theme} /><${Button} look="quiet" icon="keys" label="Keyboard keys" title="Keyboard keys (?)" onClick=${showKeys} /><${Button} look="quiet" icon="leave" label="Log out" onClick=${logOut} /></div></header>`;
}

const TopBar = ({ route }) => html`<header class="topbar"><${Brand} /><${Find} route=${route} /><${Button} look="quiet" icon="undo" label="Undo" title=${UNDO} onClick=${undo} /></header>`;

function BottomBar({ route }) {
  const waiting = useWaiting(), [open, set] = useState(false);
  const item = (name, title = placeOf(name).title) => html`<${Link} to=${`/${name}`} aria-current=${route.place === name ? "page" : undefined}><${Icon} name=${placeOf(name).icon} size=${22} /><span>${title}</span>
    ${name === "review" && waiting > 0 && html`<${Badge} look="accent" aria-label=${`${waiting} waiting`}>${waiting}</${Badge}>`}</${Link}>`;
  return html`<nav class="bottombar" aria-label="Main places">${item("home")}${item("memory")}${item("search")}${item("review")}
    <button type="button" aria-expanded=${open} aria-haspopup="dialog" onClick=${() => set(true)}><${Icon} name="menu" size=${22} /><span>More</span></button></nav>
    ${open && html`<${AllPlaces} route=${route} waiting=${waiting} done=${() => set(false)} />`}`;
}

function AllPlaces({ route, waiting, done }) {
  const place = useRef();
  useEffect(() => { place.current.showModal(); }, []);
  const shut = () => place.current?.close();
  return html`<dialog class="sheet-menu" ref=${place} aria-label="All places" onClose=${done} onClick=${(event) => { if (event.target === place.current) shut(); }}>
    <${Pick} onGo=${shut} /><${Places} route=${route} waiting=${waiting} onGo=${(event) => { if (event.target.closest("a")) shut(); }} />
    <div class="side-foot"><${Button} look="quiet" icon="undo" onClick=${() => { shut(); undo(); }}>Undo</${Button}><${Button} look="quiet" icon="redo" onClick=${() => { shut(); redo(); }}>Redo</${Button}>
      <${Theme} /><${Button} look="quiet" icon="leave" onClick=${logOut}>Log out</${Button}><${Button} look="quiet" icon="cross" label="Close" onClick=${shut} /></div></dialog>`;
}

// ---- Light and dark.

const THEMES = [["auto", "As the system"], ["light", "Light"], ["dark", "Dark"]];
export function setTheme(name) {
  if (name === "auto") { delete document.documentElement.dataset.theme; localStorage.removeItem("commonplace:theme"); } else {
    document.documentElement.dataset.theme = name;
    localStorage.setItem("commonplace:theme", name);
  }
  dispatchEvent(new Event("theme"));
}
export const themeNow = () => document.documentElement.dataset.theme || "auto";

// One button that goes from one to the next; Settings has all three side by side.
function Theme() {
  useTold("theme");
  const now = themeNow(), at = THEMES.findIndex(([name]) => name === now);
  const [next] = THEMES[(at + 1) % THEMES.length];
  return html`<${Button} look="quiet" icon=${now} label=${`Colours: ${THEMES[at][1]}`} onClick=${() => setTheme(next)} />`;
}
export const ThemeChoice = () => { useTold("theme"); return html`<${Tabs} label="Colours" value=${themeNow()} options=${THEMES} onChange=${setTheme} />`; };

async function logOut() {
  await call("/api/logout", "POST", {}).catch(() => {});
  location.assign("/login");
}

// ---- Keys.

const KEYS = [
  ["/", "search"], ["u", "undo your own last change"], ["r", "redo: make again what you took back"], ["j, k", "next, previous entry"], ["Enter, e, x", "open, edit or select the memory that has the focus"], ["?", "these keys"],
];
const GOING = PLACES.map(({ key, title }) => [`g then ${key}`, `go to ${title}`]);
const Keys = ({ keys }) => html`<table><tbody>${keys.map(([key, what]) => html`<tr><th scope="row"><kbd>${key}</kbd></th><td>${what}</td></tr>`)}</tbody></table>`;
const showKeys = () => tell("Keyboard keys", html`<div class="keys"><${Keys} keys=${KEYS} /><${Keys} keys=${GOING} /></div>`, { wide: true });

function step(by) {
  const cards = [...document.querySelectorAll("main .card[tabindex]")];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  cards[Math.max(0, Math.min(cards.length - 1, at + by))]?.focus();
}

const isTyping = (event) => event.composedPath()[0]?.closest?.("input:not([type=checkbox]), textarea, select, [contenteditable], [role=menu]") || document.querySelector("dialog[open]");

const DOES = {
  "/": () => document.querySelector(".find input").focus(), u: undo, r: redo, j: () => step(1), k: () => step(-1), "?": () => { showKeys(); },
};

function useKeys(on) {
  useEffect(() => {
    if (!on) return undefined;
    let going = false;
    const pressed = (event) => {
      if (isTyping(event) || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      const wanted = going && PLACES.find(({ key }) => key === event.key);
      going = !wanted && event.key === "g";
      if (wanted) go(`/${wanted.name}`);
      else if (DOES[event.key]) DOES[event.key]();
      else if (!going) return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [on]);
}
