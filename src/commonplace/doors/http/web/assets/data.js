// The hooks that places use: what the gateway tells, what a person does, what a person types.

import { asked, EVERYTHING, get, listen, state } from "/assets/api.js";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "/assets/vendor.js";

// What was told last, by vault and path: who comes back sees it at once while it is asked anew.
const told = new Map();
const MOST = 40;

function keep(key, data) {
  told.delete(key);
  told.set(key, data);
  if (told.size > MOST) told.delete(told.keys().next().value);
}

export function forgetAll() { told.clear(); }

// Who wants to hear of changes in the open vault.
const listeners = new Set();
let stop = null;
export function listenAnew() {
  stop?.();
  stop = listen(heard);
}
export function listenNoMore() { stop?.(); stop = null; }
export function heard(change = EVERYTHING) { for (const each of [...listeners]) each(change); }
addEventListener("logged-in", () => { listenAnew(); heard(); });

// Calls back with each change that anybody makes in the open vault.
export function useChanges(run) {
  const now = useRef(run);
  now.current = run;
  useEffect(() => {
    const each = (change) => now.current(change);
    listeners.add(each);
    return () => { listeners.delete(each); };
  }, []);
}

const SOON = 120;
const FIRST_RETRY = 1000, LAST_RETRY = 15000;

/* What a path of the vault answers: { data, error, loading, refresh, set }.
   While it is asked anew the old answer stays; one that was overtaken is dropped. When nobody answers it tries again by
   itself, ever less often, and the shell says so: `error` is then unset and `data` as before (undefined: show a skeleton).
   `query` goes into the address. `on(change)` says which changes matter (default: all; false: none). A path of "" asks nothing. */
export function useData(path, query = {}, { on = () => true } = {}) {
  const address = path && asked(path, query), key = `${state.vault} ${address}`;
  const [, draw] = useState(0);
  const own = useRef({ key: "", data: undefined, error: null, asking: null, timer: 0, tries: 0 }).current;
  if (own.key !== key) {
    // Another filter of the same list: the old rows stay until the new ones are there.
    const isSame = own.key.split("?")[0] === key.split("?")[0];
    Object.assign(own, { key, data: told.has(key) ? told.get(key) : isSame ? own.data : undefined, error: null, tries: 0 });
  }

  const ask = useCallback(async () => {
    if (!address) return;
    own.asking?.abort();
    clearTimeout(own.timer);
    const mine = new AbortController();
    own.asking = mine;
    const isMine = () => own.asking === mine && own.key === key;
    try {
      const data = await get(address, {}, { signal: mine.signal });
      if (!isMine()) return;
      Object.assign(own, { data, error: null, tries: 0 });
      keep(key, data);
    } catch (error) {
      if (!isMine() || error.name === "AbortError") return;
      if (error.passes) {
        own.timer = setTimeout(ask, Math.min(LAST_RETRY, FIRST_RETRY * 2 ** own.tries));
        own.tries += 1;
      } else if (error.status !== 401) own.error = error;
    } finally {
      if (isMine()) { own.asking = null; draw((count) => count + 1); }
    }
  }, [key]);

  useEffect(() => {
    const now = () => { if (own.tries || own.error) ask(); };
    ask();
    addEventListener("gateway-back", now);
    addEventListener("online", now);
    return () => {
      own.asking?.abort();
      own.asking = null;
      clearTimeout(own.timer);
      removeEventListener("gateway-back", now);
      removeEventListener("online", now);
    };
  }, [key]);

  useChanges((change) => {
    if (on === false || !(change.op === "many" || on(change))) return;
    clearTimeout(own.timer);
    own.timer = setTimeout(ask, SOON);
  });

  // What is known already, such as after a change of the person's own: shown until it is asked anew.
  const set = useCallback((next) => {
    own.data = typeof next === "function" ? next(own.data) : next;
    keep(key, own.data);
    draw((count) => count + 1);
  }, [key]);
  return { data: own.data, error: own.error, loading: own.data === undefined && !own.error, refresh: ask, set };
}

/* Something that a person does: const [save, { busy, error, clear }] = useAction(async (given) => …).
   Runs once at a time. What goes wrong is an `error` to be shown beside what was typed (<${Wrong} error=${error}/>);
   `save` then returns undefined. Nothing that was typed goes away by it. */
export function useAction(run) {
  const [now, set] = useState({ busy: false, error: null });
  const busy = useRef(false), there = useRef(true), latest = useRef(run);
  latest.current = run;
  useEffect(() => () => { there.current = false; }, []);
  const act = useCallback(async (...given) => {
    if (busy.current) return undefined;
    busy.current = true;
    set({ busy: true, error: null });
    let error = null;
    try { return await latest.current(...given); } catch (wrong) { error = wrong; return undefined; } finally {
      busy.current = false;
      if (there.current) set({ busy: false, error });
    }
  }, []);
  return [act, { ...now, clear: () => set({ busy: false, error: null }) }];
}

/* What is typed and not yet sent: const [text, setText, done] = useDraft("remember").
   It is kept in the browser by vault and key, and so outlives a reload, the end of a session and a lost network; `done()` drops it. */
const PREFIX = "commonplace:draft:";
const keyOf = (key, vault = state.vault) => `${PREFIX}${vault}:${key}`;
export function useDraft(key, start = "") {
  const full = keyOf(key);
  const [now, set] = useState(() => [full, read(full) ?? start]);
  const value = now[0] === full ? now[1] : read(full) ?? start;
  const type = useCallback((next) => {
    write(full, next === start ? null : next);
    set([full, next]);
  }, [full, start]);
  const done = useCallback(() => { write(full, null); set([full, start]); }, [full, start]);
  return [value, type, done];
}

// A draft's whole list of keys that begin with these words, such as "document:".
export const drafts = (start = "") => Object.keys(localStorage).filter((each) => each.startsWith(keyOf(start))).map((each) => each.slice(keyOf("").length));
export const draftOf = (key) => read(keyOf(key));
// Of another vault where who typed it may have left for this one.
export const keepDraft = (key, value, vault = state.vault) => write(keyOf(key, vault), value);
export const dropDraft = (key) => write(keyOf(key), null);

function read(full) {
  try { return JSON.parse(localStorage.getItem(full)); } catch { return null; }
}
function write(full, value) {
  // A browser that keeps nothing (full, or private) still lets one type.
  try {
    if (value === null || value === undefined) localStorage.removeItem(full);
    else localStorage.setItem(full, JSON.stringify(value));
  } catch { /* nothing to do about it */ }
}

/* A choice that this browser remembers, such as how a list is sorted: const [value, set] = useChoice("sort", "newest"). */
export function useChoice(name, start) {
  const full = `commonplace:${name}`;
  const [value, set] = useState(() => read(full) ?? start);
  return [value, (next) => { write(full, next); set(next); }];
}

// A value that waits until typing rests, for filters: const words = useSettled(typed).
export function useSettled(value, after = 200) {
  const [settled, set] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => set(value), after);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

// Runs after each drawing in which one of these differs, before the person sees it.
export const useDrawn = useLayoutEffect;
