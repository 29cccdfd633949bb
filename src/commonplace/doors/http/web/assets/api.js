// Asks the gateway. Every wrong answer is an error with the sentence that the gateway gave.

export class Wrong extends Error {
  constructor(status, told) {
    super(told.detail || `The gateway answered ${status}.`);
    this.status = status;
    this.told = told;
  }
}

let inside = true;

// Whether the cookie is still good; others are told when that changes.
function isInside(now) {
  if (now === inside) return;
  inside = now;
  dispatchEvent(new Event(now ? "logged-in" : "logged-out"));
}

async function answered(response) {
  const told = await response.json().catch(() => ({}));
  if (response.status === 401) isInside(false);
  else if (response.ok) isInside(true);
  if (!response.ok) throw new Wrong(response.status, told);
  return told;
}

const away = () => { throw new Wrong(0, { detail: "The gateway does not answer: it may have been stopped." }); };

export async function call(path, method = "GET", body = undefined, given = {}) {
  const headers = body === undefined ? given : { "content-type": "application/json", ...given };
  const sent = body === undefined ? undefined : JSON.stringify(body);
  return answered(await fetch(path, { method, headers, body: sent, credentials: "same-origin" }).catch(away));
}

export const state = { vault: "", vaults: [], who: null };

const below = (path) => `/api/vaults/${encodeURIComponent(state.vault)}${path}`;
export const get = (path, query = {}) => {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined && value !== null);
  const asked = new URLSearchParams(given).toString();
  return call(below(path) + (asked ? `?${asked}` : ""));
};
export const post = (path, body = {}) => call(below(path), "POST", body);
export const put = (path, body, headers = {}) => call(below(path), "PUT", body, headers);
export const remove = (path) => call(below(path), "DELETE");
export const named = (name) => name.split("/").map(encodeURIComponent).join("/");

// A place of the page as an address that opens it in this vault anywhere. The first vault needs no name.
export function address(path) {
  const url = new URL(path, location.origin);
  if (!url.searchParams.has("vault") && state.vault !== state.vaults[0]) url.searchParams.set("vault", state.vault);
  return url.pathname + url.search;
}
export const documentAddress = (name, line = 0) => address(`/documents/${named(name)}${line ? `?line=${line}` : ""}`);

// The editor, and what makes markdown safe: much, and so fetched when it is first wanted.
// A browser remembers an import that failed; another try needs another address.
let tries = 0;
export const vendor = () => import(`/assets/vendor.js${tries ? `?${tries}` : ""}`).catch(() => { tries += 1; away(); });

// What a change is that may have been any.
export const EVERYTHING = { op: "many", documents: [], ids: [] };

// The stream of changes: calls back with each, also with those that came while the line was lost.
// A page that nobody sees has no line: a browser has six to a host, for all its pages.
export function listen(heard) {
  let source = null, last = null;
  const open = () => {
    source = new EventSource(below("/changes"));
    source.addEventListener("ready", (event) => {
      if (last !== null && last !== event.lastEventId) heard(EVERYTHING);
      last = event.lastEventId;
    });
    source.addEventListener("change", (event) => { last = event.lastEventId; heard(JSON.parse(event.data)); });
  };
  const close = () => { source?.close(); source = null; last ??= ""; };
  const turn = () => {
    if (document.hidden) close();
    else if (!source || source.readyState === EventSource.CLOSED) open();
  };
  document.addEventListener("visibilitychange", turn);
  turn();
  return () => { document.removeEventListener("visibilitychange", turn); close(); };
}
