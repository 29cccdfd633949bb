// A document that is being written: what the gateway has, what was typed, and how the two become one.
// What the person types is never lost to an agent's write, a reload or a lost network. It draws nothing.

import { get, named, put, state } from "/assets/api.js";
import { draftOf, drafts, dropDraft, keepDraft } from "/assets/data.js";
import { changes, plain, withEnds } from "/assets/lines.js";

const PREFIX = "document:";
const SOON = 300;

// What was typed and is not saved, by vault and document. The browser keeps it too: that may fail where it is full.
const typed = new Map();
const keyOf = (name) => `${state.vault}/${name}`;
const waits = (name) => typed.get(keyOf(name)) ?? draftOf(PREFIX + name);
// The names of the documents of this vault with something typed that is not saved.
export const unsaved = () => {
  const here = [...typed.keys()].filter((key) => key.startsWith(keyOf(""))).map((key) => key.slice(keyOf("").length));
  return new Set([...here, ...drafts(PREFIX).map((key) => key.slice(PREFIX.length))]);
};
export const isUnsaved = (name) => Boolean(waits(name));
export function forgo(name) {
  typed.delete(keyOf(name));
  dropDraft(PREFIX + name);
}

// Who leaves the page is asked only where the browser could not keep what was typed.
addEventListener("beforeunload", (event) => {
  for (const each of writing) each.keepNow();
  const lost = [...typed].some(([key, { typed: text }]) => key.startsWith(keyOf("")) && draftOf(PREFIX + key.slice(keyOf("").length))?.typed !== text);
  if (lost) event.preventDefault();
});
const writing = new Set();

// A document that is gone is told as none where something typed into it waits.
export async function found(name) {
  try { return await get(`/documents/${named(name)}`); } catch (error) {
    if (error.status === 404 && waits(name)) return null;
    throw error;
  }
}

/* One document in an editor. `told(now)` is called with { state, news, wrong } whenever one of these changes:
   state is "saved", "typed" or "saving"; news says what somebody else did meanwhile: "", "before" (typed before this visit),
   "written" or "removed". `settle(mine, told)` and `confirm(error)` ask the person, and return the text to save or null, and whether to. */
export class Writing {
  constructor(name, now, { told, say, settle, confirm }) {
    const draft = now && waits(name)?.typed === plain(now.text) ? undefined : waits(name);
    Object.assign(this, { name, told, say, settle, confirm, left: false, busy: 0, wrong: null, turn: Promise.resolve(), timer: 0 });
    // The text that the gateway has, as far as is known here, and its mark; `base` is what the editor makes of it.
    this.level(draft ? draft.text : now.text, draft ? draft.etag : now.etag);
    this.start = draft ? draft.typed : this.base;
    this.key = keyOf(name);
    this.vault = state.vault;
    if (draft) this.news = !now ? "removed" : now.etag === this.etag ? "before" : "written";
    else forgo(name);
  }

  // The view of the editor, which shows `start`.
  opened(view) {
    this.view = view;
    // What was typed since the last save was sent.
    this.since = view.state.changes();
    writing.add(this);
    this.mark();
  }

  get text() { return this.view.state.doc.toString(); }
  get dirty() { return this.text !== this.base; }

  typed(update) {
    this.since = this.since.compose(update.changes);
    this.mark();
  }

  level(text, etag) { Object.assign(this, { kept: text, etag, base: plain(text), news: "" }); }

  mark() {
    this.keep();
    if (!this.left) this.told({ state: this.busy ? "saving" : this.dirty ? "typed" : "saved", news: this.news, wrong: this.wrong });
  }

  // In memory at once, in the browser with the first key and then now and again: a long text would make each key slow.
  keep() {
    // Once left, somebody may have come back to the document, and what waits there is theirs.
    if (this.left && typed.get(this.key)?.view !== this.view) return;
    if (this.dirty) {
      typed.set(this.key, { view: this.view, text: this.kept, etag: this.etag, typed: this.text });
      if (!this.timer) {
        this.keepNow();
        this.timer = setTimeout(() => this.keepNow(), SOON);
      }
    } else {
      typed.delete(this.key);
      this.keepNow();
    }
  }

  keepNow() {
    clearTimeout(this.timer);
    this.timer = 0;
    const now = typed.get(this.key);
    if (now && now.view !== this.view) return;
    keepDraft(PREFIX + this.name, now ? { text: now.text, etag: now.etag, typed: now.typed } : null, this.vault);
  }

  leave() {
    this.left = true;
    this.keepNow();
    writing.delete(this);
  }

  // Saves and looks come one after the other: two saves at once would be in conflict with each other.
  inTurn(work) {
    this.turn = this.turn.then(() => this.left || work()).catch((error) => this.fail(error));
    return this.turn;
  }

  fail(error) {
    // That the session is over the page itself says.
    this.wrong = error.status === 401 ? null : error;
    if (this.left) this.say(`${this.name} is not saved: what you typed waits there. ${error.message}`, true);
    else this.mark();
  }

  save() {
    this.busy += 1;
    this.wrong = null;
    this.keepNow();
    this.mark();
    return this.inTurn(() => this.store()).finally(() => { this.busy -= 1; this.mark(); });
  }

  async store(confirm = "") {
    const before = this.view.state, sent = withEnds(this.kept, this.text);
    this.since = before.changes();
    try {
      const done = await put(`/documents/${named(this.name)}`, { text: sent, etag: this.etag, confirm });
      this.level(done.merged ? done.text : sent, done.etag);
      this.bring(before, this.base);
      this.say(done.merged ? "Saved, together with what was written meanwhile." : "Saved.");
    } catch (error) { await this.refused(error, before); }
  }

  // Puts in what became of a text that was sent, beside what was typed while it was on its way.
  bring(before, now) {
    this.view.dispatch({ changes: before.changes(changes(before.doc.toString(), now)).map(this.since) });
    this.mark();
  }

  async refused(error, before) {
    if (!this.left && error.told?.error === "DocumentChanged") await this.united(before, error.told);
    else if (!this.left && error.told?.error === "WouldLose") { if (await this.confirm(error) && !this.left) await this.store(error.told.confirm); } else this.fail(error);
  }

  async united(before, told) {
    const both = await this.settle(before.doc.toString(), told);
    if (this.left) return;
    if (both === null) { this.news = "written"; this.mark(); return; }
    this.level(told.current, told.etag);
    this.bring(before, both);
    if (this.dirty) await this.store();
  }

  // Looks what the gateway has now, after somebody changed the document.
  look() {
    return this.inTurn(async () => {
      let now = null;
      try { now = await get(`/documents/${named(this.name)}`); } catch (error) { if (error.status !== 404) return; }
      if (this.left) return;
      if (!now) this.news = "removed";
      else if (now.etag === this.etag) this.news = "";
      else if (this.dirty && plain(now.text) !== this.text) this.news = "written";
      else {
        this.level(now.text, now.etag);
        this.view.dispatch({ changes: changes(this.text, this.base) });
      }
      this.mark();
    });
  }
}
