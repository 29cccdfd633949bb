// Documents: read and write the markdown itself. What the person types is never lost to an agent's write.

import { documentAddress, get, named, post, put, remove, state as open, vendor as fetched } from "/assets/api.js";
import { $, ask, bare, DATA, differences, h, say, sayWrong, tell, withoutData } from "/assets/dom.js";
import { changes, plain, withEnds } from "/assets/lines.js";
import { go } from "/assets/app.js";

// What was typed and is not saved, by vault and document: it waits there until the person comes back.
const drafts = new Map();
const keyOf = (name) => `${open.vault}/${name}`;
export const unsaved = () => drafts.size > 0;
addEventListener("beforeunload", (event) => { if (unsaved()) event.preventDefault(); });

export async function show(main, rest, query) {
  const { documents } = await get("/documents");
  const name = rest.join("/") || documents.find((each) => each.role === "memory")?.name || documents[0]?.name;
  const pane = h("section", { "aria-label": name || "No document" });
  main.replaceChildren(h("h1", {}, "Documents"), h("div", { class: "two" },
    h("details", { open: matchMedia("(min-width: 761px)").matches }, h("summary", {}, `All ${documents.length} documents`),
      h("button", { type: "button", onclick: create }, "New document…"), list(documents.map((each) => each.name), name)), pane));
  return name ? edit(pane, name, Number(query.get("line") || 0)) : {};
}

// Also those that were removed while something typed into them waits: there would be no way back to it.
function list(names, current) {
  const waiting = [...drafts.values()].filter((draft) => draft.vault === open.vault && !names.includes(draft.name));
  return h("ul", { class: "list", "aria-label": "Documents" }, [...names, ...waiting.map((draft) => draft.name)].map((name) => h("li", {},
    h("a", { href: documentAddress(name), "data-go": true, "aria-current": name === current ? "true" : undefined }, name))));
}

async function create() {
  const made = await ask("New document", h("label", {}, "Name, such as notes/home.md ", h("input", { name: "name", required: true, pattern: ".+\\.md" })),
    { yes: "Make it", run: (given) => begun(given.get("name")) });
  if (!made) return;
  go(documentAddress(made.name));
  if (made.there) say(`${made.name} is there already.`);
}

async function begun(name) {
  const text = `# ${name.split("/").at(-1).replace(/\.md$/, "")}\n`;
  try {
    await put(`/documents/${named(name)}`, { text }, { "if-none-match": "*" });
    return { name, there: false };
  } catch (error) {
    if (error.told?.error === "AlreadyExists") return { name, there: true };
    throw error;
  }
}

// What is to be said of what is not saved.
const NEWS = {
  none: "",
  before: ": what you typed before",
  written: "; an agent wrote meanwhile. Saving puts both together.",
  removed: "; it was removed meanwhile. Saving makes it again.",
};

// A document that is gone is told as none where something typed into it waits.
async function found(name) {
  try { return await get(`/documents/${named(name)}`); } catch (error) {
    if (error.status === 404 && drafts.has(keyOf(name))) return null;
    throw error;
  }
}

async function edit(pane, name, line) {
  const key = keyOf(name), { vault } = open;
  const [now, vendor] = await Promise.all([found(name), fetched()]);
  const waits = drafts.get(key);
  const draft = now && waits?.typed === plain(now.text) ? undefined : waits;
  // A save that was on its way made it again while it was asked for.
  if (!now && !draft) return edit(pane, name, line);
  // The text that the gateway has, as far as is known here, and its mark; `base` is what the editor makes of it.
  let { text: kept, etag } = draft || now;
  let base = plain(kept), news = "none", left = false, timer = 0;
  const holder = h("div", { class: "editor" });
  const preview = h("div", { class: "paper", tabIndex: 0, "aria-label": "Preview" });
  const state = h("span", { class: "why", role: "status" });
  const view = editor(vendor, holder, draft ? draft.typed : base, { line, changed: typed, save });
  // What was typed since the last save was sent.
  let since = view.state.changes();
  const text = () => view.state.doc.toString();
  const dirty = () => text() !== base;

  function typed(update) { since = since.compose(update.changes); mark(); clearTimeout(timer); timer = setTimeout(draw, 250); }
  function draw() { preview.replaceChildren(vendor.rendered(bare(text()))); }
  function level(told, tag) { kept = told; etag = tag; base = plain(told); news = "none"; }
  function forgo() { base = text(); mark(); }

  function mark() {
    keep();
    if (dirty()) state.textContent = `Not saved${NEWS[news]}`;
    else state.textContent = news === "removed" ? "It was removed meanwhile. Saving makes it again." : "Saved";
  }

  // Once left, somebody may have come back to the document, and what waits there is theirs.
  function keep() {
    if (left && drafts.get(key)?.view !== view) return;
    if (dirty()) drafts.set(key, { vault, name, view, text: kept, etag, typed: text() });
    else drafts.delete(key);
  }

  // Saves and looks come one after the other: two saves at once would be in conflict with each other.
  let turn = Promise.resolve();
  const inTurn = (work) => { turn = turn.then(() => left || work()).catch(sayWrong); return turn; };
  function save() { return inTurn(store); }

  async function store(confirm = "") {
    const before = view.state, sent = withEnds(kept, text());
    since = before.changes();
    try {
      const done = await put(`/documents/${named(name)}`, { text: sent, etag, confirm });
      level(done.merged ? done.text : sent, done.etag);
      bring(before, base);
      say(done.merged ? "Saved, together with what was written meanwhile." : "Saved.");
    } catch (error) { await refused(error, before); }
  }

  // Puts in what became of a text that was sent, beside what was typed while it was on its way.
  function bring(before, now) {
    view.dispatch({ changes: before.changes(changes(before.doc.toString(), now)).map(since) });
    mark();
    draw();
  }

  async function refused(error, before) {
    if (left) say(`${name} is not saved: what you typed waits there. ${error.message}`, true);
    else if (error.told?.error === "DocumentChanged") await settle(before, error.told);
    else if (error.told?.error === "WouldLose") await confirmLoss(error);
    else sayWrong(error);
  }

  async function settle(before, told) {
    const both = await settled(vendor, before.doc.toString(), told);
    if (left) return;
    if (both === null) { news = "written"; mark(); return; }
    level(told.current, told.etag);
    bring(before, both);
    await store();
  }

  async function confirmLoss(error) {
    // The first line says how much; the others are the difference, and how a program would go on.
    const [much] = error.message.split("\n"), { confirm, diff } = error.told;
    const given = await ask("This drops much", h("div", {}, h("p", {}, much), h("pre", { class: "text" }, withoutData(diff))), { yes: "Drop it", bad: true });
    if (given && !left) await store(confirm);
  }

  async function look() {
    let told = null;
    try { told = await get(`/documents/${named(name)}`); } catch (error) { if (error.status !== 404) return; }
    if (left) return;
    if (!told) news = "removed";
    else if (told.etag === etag) news = "none";
    else if (dirty() && plain(told.text) !== text()) news = "written";
    else {
      level(told.text, told.etag);
      view.dispatch({ changes: changes(text(), base) });
    }
    mark();
  }

  const button = (label, run, given = {}) => h("button", { type: "button", onclick: run, ...given }, label);
  pane.replaceChildren(h("div", { class: "row" }, h("h2", { class: "grow" }, name), state,
    button("Save", save, { class: "main", title: "Ctrl+S" }), button("Versions", () => versions(name, text(), forgo)),
    button("Who wrote what", () => blame(name)), button("Remove", () => drop(name, forgo), { class: "bad" })),
  h("div", { class: "panes" }, holder, preview));
  if (draft) news = !now ? "removed" : now.etag === etag ? "before" : "written";
  mark();
  draw();
  return {
    changed: (change) => (change.documents.includes(name) || change.op === "many") && inTurn(look),
    leave() {
      left = true;
      clearTimeout(timer);
      if (drafts.get(key)?.view === view) say(`${name} is not saved: what you typed waits there.`);
      view.destroy();
    },
  };
}

// Lets the person put two texts together. Returns what they make of them, or null.
async function settled(vendor, mine, told) {
  const holder = h("div", { class: "editor" });
  const both = editor(vendor, holder, told.merged, { label: "Both together" });
  const [title, why] = told.conflicts
    ? ["Somebody wrote the same lines", "What they wrote, compared with yours:"]
    : ["It changed meanwhile", "What your text was made from is not known any more, so nobody can tell who changed which line. What is there now, compared with yours:"];
  const text = await ask(title, h("div", {},
    h("p", {}, why), differences(withoutData(mine), withoutData(plain(told.current))),
    h("p", {}, "Both together; change it as it should be:"), holder), { yes: "Save this", run: () => both.state.doc.toString() });
  both.destroy();
  return text;
}

// The data that a record carries behind its text, as a small sign: it is the program's, and long.
function folded({ Decoration, MatchDecorator, ViewPlugin, WidgetType, EditorView }) {
  class Sign extends WidgetType {
    constructor(data) { super(); this.data = data; }
    eq(other) { return other.data === this.data; }
    toDOM() { return h("span", { title: this.data, "aria-label": "the record's data", style: undefined }, " ⋯"); }
  }
  const found = new MatchDecorator({ regexp: DATA, decoration: (match) => Decoration.replace({ widget: new Sign(match[0]) }) });
  return ViewPlugin.fromClass(class {
    constructor(view) { this.signs = found.createDeco(view); }
    update(update) { this.signs = found.updateDeco(update, this.signs); }
  }, {
    decorations: (plugin) => plugin.signs,
    provide: (plugin) => EditorView.atomicRanges.of((view) => view.plugin(plugin)?.signs || Decoration.none),
  });
}

// The page's own colours, which are others in the dark.
const colours = ({ HighlightStyle, tags }) => HighlightStyle.define([
  { tag: tags.heading, fontWeight: "bold" }, { tag: tags.strong, fontWeight: "bold" }, { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.strikethrough, textDecoration: "line-through" }, { tag: [tags.link, tags.url], color: "var(--mark)", textDecoration: "underline" },
  { tag: [tags.meta, tags.comment], color: "var(--soft)" }, { tag: [tags.labelName, tags.monospace, tags.string], color: "var(--good)" },
  { tag: [tags.tagName, tags.attributeName, tags.keyword], color: "var(--warn)" },
]);

const nothing = () => {};

function editor(vendor, holder, text, { line = 0, changed = nothing, save = nothing, label = "Text of the document" }) {
  // In a root of its own its styles are sheets, which the page's policy allows; in the page they would be inline.
  const root = holder.attachShadow({ mode: "open" });
  const parent = root.appendChild(document.createElement("div"));
  const { EditorView, EditorState, keymap } = vendor;
  const look = EditorView.theme({
    "&": { fontSize: "14px", color: "var(--ink)", backgroundColor: "var(--sheet)" },
    ".cm-content": { fontFamily: "var(--mono)", caretColor: "var(--ink)" },
    ".cm-gutters": { backgroundColor: "var(--code)", color: "var(--soft)", border: "none" },
    ".cm-activeLine": { backgroundColor: "transparent", boxShadow: "inset 2px 0 var(--mark)" },
    ".cm-scroller": { minHeight: "18rem", maxHeight: "70vh", overflow: "auto" },
    ".cm-cursor": { borderLeftColor: "var(--ink)" },
  });
  const view = new EditorView({
    root, parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        vendor.lineNumbers(), vendor.history(), vendor.drawSelection(), vendor.highlightActiveLine(), vendor.markdown(), vendor.search(), folded(vendor),
        vendor.syntaxHighlighting(colours(vendor)), EditorView.lineWrapping, look,
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" }),
        keymap.of([{ key: "Mod-s", preventDefault: true, run: () => { save(); return true; } }, ...vendor.defaultKeymap, ...vendor.historyKeymap, ...vendor.searchKeymap]),
        EditorView.updateListener.of((update) => { if (update.docChanged) changed(update); }),
      ],
    }),
  });
  if (line > 0 && line <= view.state.doc.lines) {
    const at = view.state.doc.line(line).from;
    view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
  }
  return view;
}

async function versions(name, now, forgo) {
  const told = await get(`/versions/${named(name)}`).catch(sayWrong);
  if (!told) return;
  const differ = h("div", {});
  const look = async (change) => {
    const then = await get(`/texts/${named(name)}`, { moment: change.at }).catch(sayWrong);
    if (!then) return;
    differ.replaceChildren(h("h3", {}, `From ${change.at} to now`), differences(withoutData(plain(then.text)), withoutData(now)),
      h("div", { class: "row" }, h("button", { type: "button", class: "main", onclick: () => restore(name, change.at, forgo) }, "Make it say this again")));
    $("dialog").scrollTop = 0;
  };
  // The difference stands above: below, a long table would hide it.
  tell(`Versions of ${name}`, h("div", {}, differ, h("table", {}, h("tbody", {}, told.versions.slice(0, 60).map((change) => h("tr", {},
    h("td", {}, change.at), h("td", {}, change.op), h("td", {}, change.origin),
    h("td", {}, h("button", { type: "button", onclick: () => look(change) }, "Compare"))))))));
}

async function restore(name, moment, forgo) {
  try {
    await post(`/restore/${named(name)}`, { moment });
    forgo();
    $("dialog").close();
    say("Restored. Undo takes it back.");
    go(documentAddress(name), true);
  } catch (error) { sayWrong(error); }
}

async function blame(name) {
  const told = await get(`/blame/${named(name)}`).catch(sayWrong);
  if (!told) return;
  tell(`Who wrote ${name}`, h("div", { class: "wide" }, h("table", {}, h("tbody", {}, told.lines.map((each) => h("tr", {},
    h("td", { class: "number" }, String(each.line)), h("td", {}, each.change ? each.change.at.slice(0, 16) : "before the journal"),
    h("td", {}, each.change?.origin || ""), h("td", { class: "text" }, withoutData(each.text))))))));
}

async function drop(name, forgo) {
  const done = await ask("Remove this document?", h("p", {}, `${name} goes away. Undo brings it back.`),
    { yes: "Remove", bad: true, run: () => remove(`/documents/${named(name)}`) });
  if (!done) return;
  forgo();
  say("Removed.");
  go("/documents");
}
