// Documents: read and write the markdown itself. What the person types is never lost to an agent's write.

import { named, post, put, remove } from "/assets/api.js";
import { useAction, useChanges, useChoice, useData } from "/assets/data.js";
import { Editor, goTo, made, useEditor } from "/assets/editor.js";
import { plain } from "/assets/lines.js";
import { Blame, Versions } from "/assets/past.js";
import { Preview } from "/assets/preview.js";
import { documentAddress, go, setQuery } from "/assets/router.js";
import { forgo, found, isUnsaved, unsaved, Writing } from "/assets/saving.js";
import { Diff, withoutData } from "/assets/text.js";
import { Tree } from "/assets/tree.js";
import { ask, Banner, Button, Dialog, Empty, Input, Loaded, Menu, Page, Skeleton, Tabs, toast, toastWrong } from "/assets/ui.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "/assets/vendor.js";

export const sheet = "/assets/places/documents.css";

export default function Documents({ rest, query }) {
  const listing = useData("/documents");
  if (!listing.data) return html`<${Page} title="Documents"><${Loaded} of=${listing} cards=${2} lines=${6} /></${Page}>`;
  return html`<${Loaded} of=${listing}>${({ documents }) => html`<${Shelf} documents=${documents} asked=${rest.join("/")} query=${query} />`}</${Loaded}>`;
}

// The tree, and beside it the document that is open.
function Shelf({ documents, asked, query }) {
  const name = asked || documents.find((each) => each.role === "memory")?.name || documents[0]?.name || "";
  const [words, setWords] = useState(""), typed = unsaved();
  // What can be done with the open document, which the document itself knows. The tree beside it stays when another is opened.
  const [bar, setBar] = useState(null);
  const roles = useMemo(() => Object.fromEntries(documents.map((each) => [each.name, each.role])), [documents]);
  // Also those that were removed while something typed into them waits: there would be no way back to it.
  const names = [...new Set([...documents.map((each) => each.name), ...typed])];
  // On a phone one pane at a time; who names no document is shown the list first.
  const [pane, show] = useState(asked ? (query.get("line") ? "write" : "read") : "files");
  useEffect(() => { if (asked) show(query.get("line") ? "write" : (now) => (now === "files" ? "read" : now)); }, [asked, query.get("line")]);
  const files = html`<aside class="files" aria-label="All documents"><div class="files-head">
      <${Input} label="Filter by name" hidden=${true} type="search" placeholder="Filter by name" value=${words} onInput=${setWords} />
      <${Button} look="quiet" icon="add" label="New document" onClick=${create} /></div>
    <${Tree} names=${names} roles=${roles} words=${words} current=${name} typed=${typed} /></aside>`;
  const kept = documents.find((each) => each.name === name)?.kept ?? false;
  if (!name) {
    return html`<${Page} title="Documents"><${Empty} icon="documents" title="No documents yet" actions=${html`<${Button} look="primary" icon="add" onClick=${create}>New document</${Button}>`}>
      Memories, notes and logs are markdown files. The first memory makes one; you can write others yourself.</${Empty}></${Page}>`;
  }
  const view = query.get("view") || "";
  return html`<${Frame} name=${name} pane=${pane} show=${show} view=${view} actions=${bar}>${files}
    <${Document} key=${name} name=${name} kept=${kept} line=${Number(query.get("line")) || 0} view=${view} pane=${pane} show=${show} setBar=${setBar} /></${Frame}>`;
}

async function create() {
  const body = html`<${Input} label="Name, such as notes/home.md" name="name" required pattern=".+\\.md" title="A name that ends in .md" autofocus />`;
  const done = await ask("New document", body, { yes: "Make it", run: (given) => begun(given.get("name").trim()) });
  if (!done) return;
  go(documentAddress(done.name));
  if (done.there) toast(`${done.name} is there already.`);
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

// A document is asked for once: what others change later comes into the editor, beside what is typed there.
function useOnce(name) {
  const [now, set] = useState({}), ask = () => found(name).then((text) => set({ text }), (error) => {
    if (error.passes) setTimeout(ask, 1500); else set({ error });
  });
  useEffect(() => { ask(); }, []);
  return now;
}

function Document(given) {
  const { name, show, setBar } = given, now = useOnce(name), library = useEditor();
  useEffect(() => () => setBar(null), []);
  if (now.error) {
    return html`<div class="pane past"><${Empty} icon="documents" title="This document is not here" actions=${html`<${Button} onClick=${() => { show("files"); go("/documents"); }}>All documents</${Button}>`}>${now.error.message}</${Empty}></div>`;
  }
  if (now.text === undefined || !library) return html`<div class="pane past"><${Skeleton} lines=${8} /></div>`;
  return html`<${Sheet} ...${given} library=${library} text=${now.text} />`;
}

const PANES = [["files", "Files"], ["write", "Write"], ["read", "Read"]];

function Frame({ name, pane, show, actions, children, view }) {
  const [folder, last] = [name.split("/").slice(0, -1).join(" / "), name.split("/").at(-1)];
  const heading = html`<bdi class="file-name">${last}</bdi>${folder && html`<span class="folder-name" dir="auto">in ${folder}</span>`}`;
  return html`<${Page} title="Documents" heading=${heading} wide class=${`documents show-${view ? "past" : pane}`} actions=${actions}>
    <div class="pane-tabs"><${Tabs} label="Shown" value=${view ? "" : pane} options=${PANES} onChange=${(next) => { if (view) setQuery({ view: "" }); show(next); }} /></div>
    <div class="panes">${children}</div></${Page}>`;
}

// What is said beside the name of the document.
const NEWS = {
  "": "", before: ": typed before", written: "; somebody wrote meanwhile. Saving puts both together.", removed: "; it was removed meanwhile. Saving makes it again.",
};
function said({ state, news }) {
  if (state === "saving") return "Saving…";
  if (state === "typed") return `Not saved yet${NEWS[news]}`;
  return news === "removed" ? "It was removed meanwhile. Saving makes it again." : "Saved";
}

// The document in its editor. What the person does to it is kept by a `Writing`.
function Sheet({ name, kept, line, view, pane, setBar, library, text }) {
  const [now, tell] = useState({ state: "saved", news: "", wrong: null }), [shown, draw] = useState("");
  const [conflict, setConflict] = useState(null), [withPreview, setPreview] = useChoice("preview", true);
  const holder = useRef(), own = useRef(null);
  useEffect(() => {
    const writing = new Writing(name, text, {
      told: tell, say: (words, wrong = false) => toast(words, { wrong }), confirm: confirmLoss,
      settle: (mine, told) => new Promise((settle) => { setConflict({ mine, told, settle }); }),
    });
    let timer = 0;
    const typed = (update) => { writing.typed(update); clearTimeout(timer); timer = setTimeout(() => draw(writing.text), 250); };
    const editor = made(library, holder.current, writing.start, { changed: typed, kept });
    own.current = { writing, editor };
    draw(writing.start);
    writing.opened(editor);
    return () => {
      clearTimeout(timer);
      writing.leave();
      if (writing.dirty) toast(`${name} is not saved yet: what you typed waits there.`);
      editor.destroy();
      own.current = null;
    };
  }, []);
  useEffect(() => { if (line) goTo(library, own.current.editor, line); }, [line]);
  useChanges((change) => { if (change.documents.includes(name) || change.op === "many") own.current?.writing.look(); });
  const save = () => own.current?.writing.save();
  useEffect(() => {
    const pressed = (event) => {
      if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "s") { event.preventDefault(); if (!kept && !document.querySelector("dialog[open]")) save(); }
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, []);
  // A box that is ticked is saved at once, unless something else is typed and waits.
  const tick = ({ line: at, column }, done) => {
    const { editor, writing } = own.current, from = editor.state.doc.line(at).from + column, clean = !writing.dirty;
    editor.dispatch({ changes: { from, to: from + 1, insert: done ? "x" : " " } });
    if (clean) save();
  };
  const items = [
    { label: "Versions", icon: "clock", run: () => setQuery({ view: "versions", line: "" }, { push: true }) },
    { label: "Who wrote which line", icon: "person", run: () => setQuery({ view: "blame", line: "" }, { push: true }) },
    { label: withPreview ? "Hide the preview" : "Show the preview", icon: "agents", run: () => setPreview(!withPreview) },
    !kept && { label: "Rename…", icon: "edit", run: () => rename(name) },
    !kept && { label: "Remove", icon: "trash", run: () => drop(name), danger: true },
  ];
  const actions = html`<span class=${`save-state ${now.state}`} role="status">${kept ? "Kept as it was written" : said(now)}</span>
    ${!kept && html`<${Button} look=${now.state === "saved" && !now.news ? "" : "primary"} busy=${now.state === "saving"} title="Save (Ctrl+S)" onClick=${save}>Save</${Button}>`}<${Menu} label="More about this document" items=${items} />`;
  useLayoutEffect(() => { setBar(actions); }, [now.state, now.news, kept, withPreview]);
  return html`${now.wrong && html`<${Banner} look="bad" role="alert" class="banner bad not-saved">Not saved: ${now.wrong.message} What you typed stays here.</${Banner}>`}
    <div class=${`pane write ${withPreview ? "" : "alone"}`}><div class="editor" ref=${holder}></div></div>
    ${(withPreview || pane === "read") && html`<div class="pane read" tabindex="0" role="region" aria-label="Preview"><${Preview} name=${name} text=${shown} onTick=${kept ? undefined : tick} /></div>`}
    ${view === "versions" && html`<${Versions} name=${name} />`}${view === "blame" && html`<${Blame} name=${name} />`}
    ${conflict && html`<${Conflict} library=${library} ...${conflict} done=${(both) => { setConflict(null); conflict.settle(both); }} />`}`;
}

const FEW = 3;

async function confirmLoss(error) {
  // The first line says how much; the others are the difference, and how a program would go on.
  const [much] = error.message.split("\n"), { diff, guarded } = error.told;
  // Of a short text a few lines are a large part, and who typed here sees them.
  if (!guarded && diff.split("\n").filter((line) => /^-./.test(line)).length <= FEW) return true;
  const body = html`<p>${much}</p><pre class="text">${withoutData(diff)}</pre>`;
  return Boolean(await ask("This drops much", body, { yes: "Drop it", danger: true, wide: true, run: () => true }));
}

async function rename(name) {
  const body = html`<${Input} label="New name" name="to" value=${name} required pattern=".+\\.md" title="A name that ends in .md" />
    ${isUnsaved(name) && html`<p class="muted">What you typed and did not save stays with the old name. Save it first.</p>`}`;
  const done = await ask("Rename", body, { yes: "Rename", run: (given) => post(`/rename/${named(name)}`, { to: given.get("to").trim() }) });
  if (!done) return;
  go(documentAddress(done.name), { replace: true });
  toast(`${name} is now ${done.name}.`, { action: { label: "Undo", run: () => takeBack(done.position, name) } });
}

async function drop(name) {
  if (isUnsaved(name) && !await ask("Remove it with what you typed?", html`<p>You typed something into ${name} that is not saved. It goes away with the document.</p>`, { yes: "Remove", danger: true, run: () => true })) return;
  try {
    const { position } = await remove(`/documents/${named(name)}`);
    forgo(name);
    go("/documents");
    toast(`${name} was removed.`, { action: { label: "Undo", run: () => takeBack(position, name) } });
  } catch (error) { toastWrong(error); }
}

async function takeBack(position, name) {
  try {
    await post("/undo", { position });
    go(documentAddress(name), { replace: true });
    toast(`${name} is back.`);
  } catch (error) { toastWrong(error); }
}

// Somebody else saved meanwhile: both texts, and both together, to choose from. Nothing is lost by closing it.
function Conflict({ library, mine, told, done }) {
  const theirs = plain(told.current), both = useRef(null), [shown, show] = useState("both");
  const [save, { busy }] = useAction(async (text) => done(text));
  const why = told.conflicts
    ? "You and somebody else changed the same lines. Choose which text stays, or make one of both."
    : "It is not known any more what your text was made from, so nobody can tell who changed which line. Choose which text stays, or make one of both.";
  const options = [["both", "Both together"], ["mine", "Yours"], ["theirs", "Theirs"], ["diff", "What differs"]];
  return html`<${Dialog} title=${told.conflicts ? "Somebody wrote the same lines" : "It changed meanwhile"} wide onClose=${() => done(null)}>
    <p>${why}</p><${Tabs} label="Which text" value=${shown} options=${options} onChange=${show} />
    <div class="text-choice" hidden=${shown !== "both"}><${Editor} library=${library} text=${told.merged} label="Both together" onReady=${(view) => { both.current = view; }} /></div>
    ${shown === "mine" && html`<pre class="text text-choice" tabindex="0" dir="auto">${withoutData(mine)}</pre>`}
    ${shown === "theirs" && html`<pre class="text text-choice" tabindex="0" dir="auto">${withoutData(theirs)}</pre>`}
    ${shown === "diff" && html`<div class="text-choice"><p class="muted small">Removed lines are yours, added lines are theirs.</p><${Diff} before=${withoutData(mine)} after=${withoutData(theirs)} /></div>`}
    <div class="actions"><${Button} onClick=${() => done(null)}>Decide later</${Button}><${Button} onClick=${() => taken(theirs, mine, save)} busy=${busy}>Take theirs</${Button}>
      <${Button} onClick=${() => save(mine)} busy=${busy}>Keep mine</${Button}><${Button} look="primary" icon="check" busy=${busy} onClick=${() => save(both.current.state.doc.toString())}>Save both together</${Button}></div></${Dialog}>`;
}

// Their text stays; the person's own can still be copied from the notice.
function taken(theirs, mine, save) {
  save(theirs);
  toast("Their text stays. Yours was put aside.", { action: { label: "Copy mine", run: () => navigator.clipboard?.writeText(mine) } });
}
