// Documents: read and write the markdown itself. What the person types is never lost to an agent's write.

import { get, named, post, put, remove, state as open, Wrong } from "/assets/api.js";
import { ask, differences, h, say, tell } from "/assets/dom.js";
import { go } from "/assets/app.js";

// What was typed and not saved, by vault and document: it waits there until the person comes back.
const drafts = new Map();
addEventListener("beforeunload", (event) => { if (drafts.size) event.preventDefault(); });

export async function show(main, rest, query) {
  const { documents } = await get("/documents");
  const name = rest.join("/") || documents.find((each) => each.role === "memory")?.name || documents[0]?.name;
  const list = h("ul", { class: "list", "aria-label": "Documents" }, documents.map((each) => h("li", {},
    h("a", { href: `/documents/${each.name}`, "data-go": true, "aria-current": each.name === name ? "true" : undefined }, each.name))));
  const pane = h("section", { "aria-label": name || "No document" });
  main.replaceChildren(h("h1", {}, "Documents"), h("div", { class: "two" },
    h("details", { open: matchMedia("(min-width: 761px)").matches }, h("summary", {}, `All ${documents.length} documents`),
      h("button", { type: "button", onclick: create }, "New document…"), list), pane));
  return name ? edit(pane, name, Number(query.get("line") || 0)) : {};
}

async function create() {
  const given = await ask("New document", h("label", {}, "Name, such as notes/home.md ", h("input", { name: "name", required: true, pattern: ".+\\.md" })), { yes: "Make it" });
  if (!given) return;
  const name = String(given.get("name"));
  try { await put(`/documents/${named(name)}`, { text: `# ${name.split("/").at(-1).replace(/\.md$/, "")}\n` }); go(`/documents/${name}`); }
  catch (error) { say(error.message, true); }
}

async function edit(pane, name, line) {
  const [found, vendor] = await Promise.all([get(`/documents/${named(name)}`), import("/assets/vendor.js")]);
  const key = `${open.vault}/${name}`;
  const draft = drafts.get(key);
  drafts.delete(key);
  let { text: base, etag } = draft || found;
  const holder = h("div", { class: "editor" });
  const preview = h("div", { class: "paper", tabIndex: 0, "aria-label": "Preview" });
  const state = h("span", { class: "why", role: "status" });
  const view = editor(vendor, holder, draft ? draft.typed : base, line, () => { mark(); soon(); }, () => save());
  const text = () => view.state.doc.toString();
  const dirty = () => text() !== base;
  let timer = 0;

  function soon() { clearTimeout(timer); timer = setTimeout(draw, 250); }
  function draw() { preview.replaceChildren(vendor.rendered(text().replace(/<!--[\s\S]*?-->/g, ""))); }
  function mark() { state.textContent = dirty() ? "Not saved" : "Saved"; }
  function set(now) { if (text() !== now) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: now } }); }
  function forgo() { base = text(); }
  function level(now, tag) { base = now; etag = tag; set(now); mark(); draw(); }

  async function save(confirm = "") {
    const mine = text();
    try {
      const done = await put(`/documents/${named(name)}`, { text: mine, etag, confirm });
      level(done.merged ? done.text : mine, done.etag);
      say(done.merged ? "Saved, together with what was written meanwhile." : "Saved.");
    } catch (error) {
      if (error instanceof Wrong && error.status === 412) await settle(mine, error.told);
      else if (error instanceof Wrong && error.told.error === "WouldLose") await confirmLoss(error);
      else say(error.message, true);
    }
  }

  async function settle(mine, told) {
    const merged = h("textarea", { name: "text", rows: 14, defaultValue: told.merged, "aria-label": "Both together" });
    const given = await ask("Somebody wrote the same lines", h("div", {},
      h("p", {}, "What they wrote, compared with yours:"), differences(mine, told.current),
      h("p", {}, "Both together; change it as it should be:"), merged), { yes: "Save this" });
    if (!given) { state.textContent = "Not saved: it was changed meanwhile"; return; }
    etag = told.etag;
    set(String(given.get("text")).replaceAll("\r\n", "\n"));
    await save();
  }

  async function confirmLoss(error) {
    const token = /confirm='([^']+)'/.exec(error.message)?.[1] || "";
    const given = await ask("This drops much", h("pre", { class: "text" }, error.message.split("\n").slice(0, 40).join("\n")), { yes: "Drop it", bad: true });
    if (given) await save(token);
  }

  async function changed(change) {
    if (!change.documents.includes(name) && change.op !== "many") return;
    const now = await get(`/documents/${named(name)}`).catch(() => null);
    if (!now || now.etag === etag) return;
    if (!dirty()) level(now.text, now.etag);
    else state.textContent = "Not saved; an agent wrote meanwhile. Saving puts both together.";
  }

  const button = (label, run, given = {}) => h("button", { type: "button", onclick: run, ...given }, label);
  pane.replaceChildren(h("div", { class: "row" }, h("h2", { class: "grow" }, name), state,
    button("Save", () => save(), { class: "main", title: "Ctrl+S" }), button("Versions", () => versions(name, text(), forgo)),
    button("Who wrote what", () => blame(name)), button("Remove", () => drop(name, forgo), { class: "bad" })),
  h("div", { class: "panes" }, holder, preview));
  mark();
  if (draft) state.textContent = found.etag === etag ? "Not saved: what you typed before" : "Not saved; an agent wrote meanwhile. Saving puts both together.";
  draw();
  const leave = () => {
    if (dirty()) {
      drafts.set(key, { text: base, etag, typed: text() });
      say(`${name} is not saved: what you typed waits there.`);
    }
    removeEventListener("beforeunload", warn);
    view.destroy();
  };
  const warn = (event) => { if (dirty()) event.preventDefault(); };
  addEventListener("beforeunload", warn);
  return { changed, leave };
}

const DATA = /<!-- \{.*?\} -->/g;

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

function editor(vendor, holder, text, line, changed, save) {
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
        EditorView.contentAttributes.of({ "aria-label": "Text of the document", tabindex: "0" }),
        keymap.of([{ key: "Mod-s", preventDefault: true, run: () => { save(); return true; } }, ...vendor.defaultKeymap, ...vendor.historyKeymap, ...vendor.searchKeymap]),
        EditorView.updateListener.of((update) => { if (update.docChanged) changed(); }),
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
  const { versions: found } = await get(`/versions/${named(name)}`).catch((error) => { say(error.message, true); return { versions: [] }; });
  const differ = h("div", {});
  const look = async (change) => {
    const then = await get(`/texts/${named(name)}`, { moment: change.at }).catch((error) => { say(error.message, true); });
    if (then) differ.replaceChildren(h("h3", {}, `From ${change.at} to now`), differences(then.text, now),
      h("button", { type: "button", class: "main", onclick: () => restore(name, change.at, forgo) }, "Make it say this again"));
  };
  tell(`Versions of ${name}`, h("div", {}, h("table", {}, h("tbody", {}, found.slice(0, 60).map((change) => h("tr", {},
    h("td", {}, change.at), h("td", {}, change.op), h("td", {}, change.origin),
    h("td", {}, h("button", { type: "button", onclick: () => look(change) }, "Compare")))))), differ));
}

async function restore(name, moment, forgo) {
  try { await post(`/restore/${named(name)}`, { moment }); forgo(); document.getElementById("dialog").close(); say("Restored. Undo takes it back."); go(`/documents/${name}`, true); }
  catch (error) { say(error.message, true); }
}

async function blame(name) {
  const { lines } = await get(`/blame/${named(name)}`).catch((error) => { say(error.message, true); return { lines: [] }; });
  tell(`Who wrote ${name}`, h("div", { class: "wide" }, h("table", {}, h("tbody", {}, lines.map((each) => h("tr", {},
    h("td", { class: "number" }, String(each.line)), h("td", {}, each.change ? each.change.at.slice(0, 16) : "before the journal"),
    h("td", {}, each.change?.origin || ""), h("td", { class: "text" }, each.text.replace(DATA, ""))))))));
}

async function drop(name, forgo) {
  const given = await ask("Remove this document?", h("p", {}, `${name} goes away. Undo brings it back.`), { yes: "Remove", bad: true });
  if (!given) return;
  try { await remove(`/documents/${named(name)}`); forgo(); say("Removed."); go("/documents"); } catch (error) { say(error.message, true); }
}
