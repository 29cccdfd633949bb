// Asks the gateway. It knows nothing of components: data.js has the hooks that places use.
// Every wrong answer is a Wrong with the gateway's own sentence.

export class Wrong extends Error {
  constructor(status, told) {
    super(told.detail || `The gateway answered ${status}.`);
    this.status = status;
    this.told = told;
  }

  // Worth another try by itself: nobody answered, or not now.
  get passes() { return [0, 429, 502, 503, 504].includes(this.status); }
}

export const AWAY = "The gateway does not answer.";

// What the whole page stands on: the open vault, all vaults, who is logged in.
export const state = { vault: "", vaults: [], who: null, version: "" };

// Whether the cookie is good, and whether anybody answers. Those who need to know listen.
const known = { inside: true, there: true };
export const isThere = () => known.there;

function learn(what, now, yes, no) {
  if (known[what] === now) return;
  known[what] = now;
  dispatchEvent(new Event(now ? yes : no));
}

// What a person is told who has no session: the gateway's own sentence is for programs.
const OUT = { detail: "You are not logged in." };

async function answered(response, path) {
  const said = await response.json().catch(() => ({}));
  const told = response.status === 401 && path !== "/api/login" ? OUT : said;
  learn("there", true, "gateway-back", "gateway-lost");
  if (response.status === 401) learn("inside", false, "logged-in", "logged-out");
  else if (response.ok) learn("inside", true, "logged-in", "logged-out");
  if (!response.ok) throw new Wrong(response.status, told);
  return told;
}

function away(error) {
  if (error.name === "AbortError") throw error;
  learn("there", false, "gateway-back", "gateway-lost");
  throw new Wrong(0, { detail: AWAY });
}

export async function call(path, method = "GET", body = undefined, { headers: given = {}, signal } = {}) {
  const headers = body === undefined ? given : { "content-type": "application/json", ...given };
  const sent = body === undefined ? undefined : JSON.stringify(body);
  return answered(await fetch(path, { method, headers, body: sent, signal, credentials: "same-origin" }).catch(away), path);
}

// A path with its query; what is empty is left out, lists are joined by commas.
export function asked(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value !== undefined && value !== null && value !== false);
  const words = new URLSearchParams(given.map(([name, value]) => [name, Array.isArray(value) ? value.join(",") : value])).toString();
  return path + (words ? `${path.includes("?") ? "&" : "?"}${words}` : "");
}

// Paths below begin at the open vault.
export const below = (path) => `/api/vaults/${encodeURIComponent(state.vault)}${path}`;
export const get = (path, query = {}, more = {}) => call(below(asked(path, query)), "GET", undefined, more);
export const post = (path, body = {}) => call(below(path), "POST", body);
export const put = (path, body, headers = {}) => call(below(path), "PUT", body, { headers });
export const patch = (path, body) => call(below(path), "PATCH", body);
export const remove = (path) => call(below(path), "DELETE");
// A document's name, or an id, as part of a path.
export const named = (name) => name.split("/").map(encodeURIComponent).join("/");

// A module of the page, fetched when it is first wanted: a place, or a bundle of other people's code.
// A browser remembers an import that failed: another try needs another address.
const tries = {};
export const fetched = (path) => import(`${path}${tries[path] ? `?${tries[path]}` : ""}`).catch(async (error) => {
  if (!(error instanceof TypeError)) throw error;
  tries[path] = (tries[path] || 0) + 1;
  const { ok, status } = await fetch(path, { cache: "no-store" }).catch(away);
  throw ok ? new Wrong(0, { detail: AWAY }) : new Wrong(status, { detail: "The gateway has no such place: it may be older than this page. Reload the page." });
});

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
  addEventListener("gateway-back", turn);
  turn();
  return () => {
    document.removeEventListener("visibilitychange", turn);
    removeEventListener("gateway-back", turn);
    close();
  };
}
