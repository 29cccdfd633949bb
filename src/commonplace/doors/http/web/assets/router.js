// Addresses: which place is shown, with what, in which vault. They are /PLACE/REST?FILTERS&vault=NAME;
// the first vault needs no name.

import { state } from "/assets/api.js";
import { html, useEffect, useState } from "/assets/vendor.js";

// A part of the path that somebody wrote by hand may be no good spelling of anything.
function decoded(part) {
  try { return decodeURIComponent(part); } catch { return part; }
}

export function here() {
  const [place, ...rest] = location.pathname.slice(1).split("/").map(decoded);
  return { place, rest, query: new URLSearchParams(location.search), at: location.pathname + location.search };
}

// An address within the page, in the open vault: it can be copied and opened anywhere.
export function address(path) {
  const url = new URL(path, location.origin);
  if (!url.searchParams.has("vault") && state.vaults.length && state.vault !== state.vaults[0]) url.searchParams.set("vault", state.vault);
  return url.pathname + url.search + url.hash;
}

// Where the person was on each page of the history, so that going back leads there.
history.scrollRestoration = "manual";
const moved = () => dispatchEvent(new Event("moved"));
function leave() { history.replaceState({ ...history.state, top: scrollY }, ""); }

let shown = location.pathname + location.search, focus = false, stop = () => {};

// Scrolls there, and again as the place grows, until it is reached or the person scrolls or types.
const HANDS = ["wheel", "touchmove", "keydown", "pointerdown"];
const PATIENCE = 4000;
function scrollBack(top) {
  stop();
  const reach = () => { scrollTo({ top, behavior: "instant" }); if (scrollY >= top - 2) stop(); };
  const sized = new ResizeObserver(reach), timer = setTimeout(() => stop(), PATIENCE);
  stop = () => {
    sized.disconnect();
    clearTimeout(timer);
    for (const name of HANDS) removeEventListener(name, stop);
    stop = () => {};
  };
  for (const name of HANDS) addEventListener(name, stop, { passive: true });
  sized.observe(document.body);
}

export function go(path, { replace = false } = {}) {
  const next = address(path);
  if (next === shown && !replace) return;
  leave();
  history[replace ? "replaceState" : "pushState"]({}, "", next);
  arrive(replace ? null : 0, !replace);
}

function arrive(top, wantsFocus) {
  shown = location.pathname + location.search;
  focus = wantsFocus;
  moved();
  if (top !== null) scrollBack(top);
}

// A step within the place that is shown, such as to its content, is none to another.
addEventListener("popstate", (event) => {
  if (location.pathname + location.search !== shown) arrive(event.state?.top ?? 0, true);
});

// A heading takes the focus once, after the person went to its place: a screen reader then reads it.
export function takeFocus(heading) {
  if (focus) heading.focus({ preventScroll: true });
  focus = false;
}
// What the browser calls this page: useTitle("Ann likes green tea").
export function useTitle(words) {
  useEffect(() => { if (words) document.title = `${words.slice(0, 80)} · ${state.vault} · Commonplace`; }, [words]);
}

// Where the page is: { place, rest, query, at }. Draws anew when that changes.
export function useRoute() {
  const [route, set] = useState(here);
  useEffect(() => {
    const turn = () => set(here());
    addEventListener("moved", turn);
    return () => removeEventListener("moved", turn);
  }, []);
  return route;
}

/* The filters of a place, which live in its address: const [query, setQuery] = useQuery();
   query.tag is a text ("" when it is not there); setQuery({ tag: "garden", page: "" }) changes some and leaves the rest.
   It replaces the address; { push: true } makes a step that the browser's Back undoes. */
export function useQuery() {
  const { query } = useRoute();
  const given = new Proxy({}, { get: (_, name) => query.get(name) ?? "" });
  return [given, setQuery];
}

export function setQuery(changes, { push = false } = {}) {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value === null || value === undefined || value === false) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  const next = url.pathname + url.search;
  if (next === shown) return;
  if (push) leave();
  history[push ? "pushState" : "replaceState"]({}, "", next);
  arrive(null, false);
}

// Links within the page do not load it anew; in a new tab they open in the same vault.
export const Link = ({ to, children, ...rest }) => html`<a href=${address(to)} ...${rest}>${children}</a>`;

export function followLinks() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href^='/']");
    if (!link || link.target || link.hasAttribute("download") || event.defaultPrevented || event.button
      || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    go(link.getAttribute("href"));
  });
}

export const memoryAddress = (id) => `/memory/${encodeURIComponent(id)}`;
export const documentAddress = (name, line = 0) => `/documents/${name.split("/").map(encodeURIComponent).join("/")}${line ? `?line=${line}` : ""}`;
