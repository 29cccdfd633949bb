// The editor of markdown: CodeMirror in a root of its own. It knows nothing of documents and how they are saved.

import { fetched } from "/assets/api.js";
import { DATA } from "/assets/text.js";
import { html, useEffect, useRef, useState } from "/assets/vendor.js";

const FIRST_TRY = 500, LAST_TRY = 8000;

// The library, fetched when an editor is first shown; undefined until it is there. A lost network is tried again.
let library;
export function useEditor() {
  const [found, set] = useState(library);
  useEffect(() => {
    if (found) return undefined;
    let timer = 0, tries = 0, left = false;
    const load = () => fetched("/assets/vendor-editor.js").then((module) => { library = module; if (!left) set(module); }, () => {
      if (!left) timer = setTimeout(load, Math.min(LAST_TRY, FIRST_TRY * 2 ** tries));
      tries += 1;
    });
    load();
    return () => { left = true; clearTimeout(timer); };
  }, []);
  return found;
}

// The data that a record carries behind its text, as a small sign: it is the program's, and long.
// The signs of the whole text are known at once: they make lines shorter, and lines whose height is only found out
// when they come into sight would move what is in sight, again and again.
function folded({ Decoration, WidgetType, EditorView }) {
  class Sign extends WidgetType {
    constructor(data) { super(); this.data = data; }
    eq(other) { return other.data === this.data; }
    toDOM() {
      const sign = Object.assign(document.createElement("span"), { className: "cm-data", title: this.data, textContent: " ⋯" });
      sign.setAttribute("aria-label", "data of the memory");
      sign.setAttribute("role", "img");
      return sign;
    }
  }
  const known = new WeakMap();
  const signs = (doc) => {
    if (!known.has(doc)) {
      const found = [...doc.toString().matchAll(DATA)];
      known.set(doc, Decoration.set(found.map((match) => Decoration.replace({ widget: new Sign(match[0]) }).range(match.index, match.index + match[0].length))));
    }
    return known.get(doc);
  };
  return [EditorView.decorations.compute(["doc"], (state) => signs(state.doc)), EditorView.atomicRanges.of((view) => signs(view.state.doc))];
}

// The page's own colours, which are others in the dark.
const colours = ({ HighlightStyle, tags }) => HighlightStyle.define([
  { tag: tags.heading, fontWeight: "bold" }, { tag: tags.strong, fontWeight: "bold" }, { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.strikethrough, textDecoration: "line-through" }, { tag: [tags.link, tags.url], color: "var(--accent)", textDecoration: "underline" },
  { tag: [tags.meta, tags.comment], color: "var(--muted)" }, { tag: [tags.labelName, tags.monospace, tags.string], color: "var(--good)" },
  { tag: [tags.tagName, tags.attributeName, tags.keyword], color: "var(--warn)" },
]);

// Its height is that of its room, which does not depend on its text: it would measure itself for ever.
const LOOK = {
  "&": { height: "100%", fontSize: "var(--type-small)", color: "var(--ink)", backgroundColor: "var(--sheet)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { overflow: "auto", fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--ink)", padding: "var(--space-3) 0" },
  ".cm-line": { padding: "0 var(--space-4) 0 var(--space-2)" },
  ".cm-gutters": { backgroundColor: "var(--sheet)", color: "var(--muted)", border: "none", paddingInlineStart: "var(--space-2)" },
  ".cm-activeLine": { backgroundColor: "transparent", boxShadow: "inset 2px 0 var(--accent)" },
  ".cm-activeLineGutter": { backgroundColor: "transparent", color: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-data": { color: "var(--muted)", cursor: "help" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--accent-soft) !important" },
  ".cm-panels": { backgroundColor: "var(--sunk)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-panels input, .cm-panels button": { font: "inherit", color: "inherit", background: "var(--sheet)", border: "1px solid var(--line)", borderRadius: "4px" },
  ".cm-searchMatch": { backgroundColor: "var(--mark)" },
};

const nothing = () => {};

export function made(library, holder, text, { changed = nothing, label = "Text of the document", kept = false }) {
  // In a root of its own its styles are sheets, which the page's policy allows; in the page they would be inline.
  const root = holder.shadowRoot ?? holder.attachShadow({ mode: "open" });
  const parent = root.appendChild(document.createElement("div"));
  parent.style.height = "100%";
  const { EditorView, EditorState, keymap } = library;
  return new EditorView({
    root, parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        library.lineNumbers(), library.history(), library.drawSelection(), library.highlightActiveLine(), library.markdown(), library.search(),
        folded(library), library.syntaxHighlighting(colours(library)), EditorView.lineWrapping, EditorView.theme(LOOK), EditorView.perLineTextDirection.of(true),
        EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", dir: "auto", spellcheck: "true", autocapitalize: "sentences" }),
        EditorState.readOnly.of(kept), keymap.of([...library.defaultKeymap, ...library.historyKeymap, ...library.searchKeymap]),
        EditorView.updateListener.of((update) => { if (update.docChanged) changed(update); }),
      ],
    }),
  });
}

// Goes to a line, which then stands in the middle of the room.
export function goTo(library, view, line) {
  if (line < 1 || line > view.state.doc.lines) return;
  const at = view.state.doc.line(line).from;
  view.dispatch({ selection: { anchor: at }, effects: library.EditorView.scrollIntoView(at, { y: "center" }) });
}

// An editor by itself, for a text that is given once: <${Editor} library text label onReady=${(view) => …} />.
export function Editor({ library: found, text, label, onReady }) {
  const place = useRef();
  useEffect(() => {
    const view = made(found, place.current, text, { label });
    onReady(view);
    return () => view.destroy();
  }, []);
  return html`<div class="editor" ref=${place}></div>`;
}
