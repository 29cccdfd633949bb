// What a person does with memories wherever they are shown: read, edit in place, replace, remove, forget; the kinds and tags of a form.

import { get, post, put, remove } from "/assets/api.js";
import { draftOf, useAction, useData, useDraft } from "/assets/data.js";
import { Icon } from "/assets/icons.js";
import { Diff, Told } from "/assets/text.js";
import { go, Link, documentAddress, memoryAddress } from "/assets/router.js";
import { ask, Badge, Banner, Button, Card, Check, Input, Kind, Menu, Meta, Select, tell, TextBox, toast, toastWrong, When, Who, Wrong } from "/assets/ui.js";
import { html, useEffect, useRef } from "/assets/vendor.js";
import { KINDS, memories } from "/assets/words.js";

export const MOST_AT_ONCE = 100;
const path = (id) => `/records/${encodeURIComponent(id)}`;
const PERSON = "person:", PROJECT = "project:";

// ---- Tags as they are typed, with commas between them.

export const tagsIn = (text) => [...new Set(text.split(",").map((word) => word.trim().replace(/^#/, "")).filter(Boolean))];
export const tagsAs = (tags = []) => tags.join(", ");
export const plainTags = (tags = []) => tags.filter((tag) => !tag.startsWith(PERSON) && !tag.startsWith(PROJECT));
const after = (prefix, tags = []) => tags.filter((tag) => tag.startsWith(prefix)).map((tag) => tag.slice(prefix.length));
export const peopleOf = (record) => [...new Set([record.username, ...after(PERSON, record.tags)].filter(Boolean))];
export const projectsOf = (record) => [...new Set([record.group, ...after(PROJECT, record.tags)].filter(Boolean))];

// Every kind that a form offers: the ones that Commonplace knows, then the vault's own.
export const kindsFor = (kinds = {}, own = "") => [...new Set([...KINDS, ...Object.keys(kinds), own].filter(Boolean))];

// ---- Deeds. What can be undone is done at once; the toast takes back this change and no other.

export const takeBack = (change) => ({ label: "Undo", run: () => post("/undo", { position: change }).then(() => toast("Taken back."), toastWrong) });
const undoable = (change) => (change === null || change === undefined ? {} : { action: takeBack(change) });

export async function removeMemories(ids) {
  try {
    const { change } = await post("/records/remove", { ids });
    toast(`Removed ${ids.length === 1 ? "this memory" : memories(ids.length)}. The trash keeps ${ids.length === 1 ? "it" : "them"}.`, undoable(change));
    return true;
  } catch (error) { toastWrong(error); return false; }
}

export async function changeMemories(ids, given, said) {
  const { change } = await post("/records/change", { ids, ...given });
  toast(change === null ? "They were so already." : said, undoable(change));
}

export async function pin(record) {
  try {
    const { change } = await post("/records/pin", { ids: [record.id], pinned: !record.pinned });
    toast(record.pinned ? "No longer pinned." : "Pinned: agents are told it before all others.", undoable(change));
  } catch (error) { toastWrong(error); }
}

const SAID = { useful: "Noted: it helped.", wrong: "Noted as wrong. What is so instead?" };
// Says that a memory helped, or is wrong; what is wrong opens in the box to correct it.
export async function judge(record, verdict, edit) {
  try {
    const { change } = await post("/records/verdict", { ids: [record.id], verdict });
    if (change === null) toast("You said so before.");
    else toast(SAID[verdict], undoable(change));
    if (verdict === "wrong") edit?.();
  } catch (error) { toastWrong(error); }
}

const MOST_SAID = 5;
const times = (many) => (many >= MOST_SAID ? `${many} times or more` : many === 1 ? "once" : `${many} times`);
// “useful 3 times, wrong once”; a line keeps the newest five of each.
export const verdictsOf = (record) => ["useful", "wrong"].filter((each) => record[each]?.length).map((each) => `${each} ${times(record[each].length)}`).join(", ");

// Two small buttons, and what was said so far.
export const Verdicts = ({ record, edit }) => html`<div class="verdicts" role="group" aria-label="Did it help?"><${Button} small look="quiet" icon="check" title="It helped" onClick=${() => judge(record, "useful")}>Useful</${Button}>
  <${Button} small look="quiet" icon="cross" title="It is wrong" onClick=${() => judge(record, "wrong", edit)}>Wrong</${Button}>${verdictsOf(record) && html`<span class="muted small">${verdictsOf(record)}</span>`}</div>`;

export async function bringBack(ids) {
  try {
    const { change } = await post("/trash/restore", { ids });
    toast(`Brought back ${ids.length === 1 ? "the memory" : memories(ids.length)}.`, undoable(change));
    return true;
  } catch (error) { toastWrong(error); return false; }
}

const sessions = (said) => said.map(({ session, messages, quote }) => `${messages} in ${session || "a conversation without a name"}${quote && ` (“${quote}”)`}`).join("; ");

// Erases for good: the only deed here that nothing takes back, so it is asked for.
export async function forget(record) {
  const { said } = await get(`${path(record.id)}/said`).catch(() => ({ said: [] }));
  const receipt = await ask("Forget this memory for good?", html`<blockquote class="prose" dir="auto">${record.text}</blockquote>
    <p>It is erased from the documents, their versions, the log and the search. <strong>This can't be undone.</strong> To keep a way back, remove it instead: the trash keeps it.</p>
    ${said.length > 0 && html`<${Check} name="history" label=${`Erase what conversations say of it too: ${sessions(said)}`} />`}`,
  { yes: "Forget it for good", danger: true, run: (form) => remove(form.get("history") ? `${path(record.id)}?history=true` : path(record.id)) });
  if (!receipt) return false;
  tell("Forgotten", html`<${Receipt} receipt=${receipt} />`);
  return true;
}

const Receipt = ({ receipt }) => html`<p>It was erased from ${[...receipt.documents, receipt.held.length ? "what waited for approval" : ""].filter(Boolean).join(", ") || "the log"}.</p>
  ${receipt.messages > 0 && html`<p>${receipt.messages === 1 ? "1 message" : `${receipt.messages} messages`} of conversations went with it.</p>`}
  ${receipt.said.length > 0 && html`<p>Conversations still say it: ${sessions(receipt.said)}.</p>`}
  <p class="muted">Out of reach: ${receipt.out_of_reach.join("; ")}.</p>`;

// The new text is a memory of its own; the old one stays, marked as replaced.
export async function replace(record) {
  const done = await ask("Replace this memory", html`<p class="muted">The new one takes its place. The old one stays, marked as replaced.</p>
    <${Replacing} text=${record.text} />`, { yes: "Replace", run: (form) => post(`${path(record.id)}/supersede`, { text: form.get("text") }) });
  if (done) { toast("Replaced. The old one stays, marked as replaced."); go(memoryAddress(done.id)); }
  return done;
}
const Replacing = ({ text }) => html`<div class="field"><label for="replacing">What is so now</label><textarea id="replacing" name="text" required dir="auto" rows="5">${text}</textarea></div>`;

export async function copyText(text) {
  try { await navigator.clipboard.writeText(text); toast("Copied."); } catch { toast("The browser does not let this page copy.", { wrong: true }); }
}

// ---- Edit in place.

const KindAndTags = ({ value, kinds, onInput }) => html`<div class="pair"><${Select} label="Kind" value=${value.kind} options=${kinds} onChange=${(kind) => onInput({ ...value, kind })} />
  <${Input} label="Tags" value=${value.tags} placeholder="home, project:boat, person:ann" hint="With commas between them." onInput=${(tags) => onInput({ ...value, tags })} /></div>`;

// The moments of a rule as they are typed, one a line: a command may have commas in it.
const momentsIn = (text = "") => text.split("\n").map((line) => line.trim()).filter(Boolean);
const RULES = ["instruction", "correction", "preference", "user-preference"];
function Moments({ value, onInput }) {
  const when = value.when ?? "";
  if (!when && !RULES.includes(value.kind)) return null;
  return html`<${TextBox} label="Tell it only at" value=${when} rows="1" placeholder="Bash(git push*)" hint="A tool, a command, a path or words, one a line: Bash(alembic *), Edit(src/**/*.sql), words: deploy. Empty: always." onInput=${(typed) => onInput({ ...value, when: typed })} />
    ${when && html`<${Check} label="Deny the first such call of a session, with this as the reason" checked=${Boolean(value.must)} onChange=${(must) => onInput({ ...value, must })} />`}`;
}

const asDraft = (record) => ({ text: record.text, kind: record.kind, tags: tagsAs(record.tags), when: (record.when || []).join("\n"), must: Boolean(record.must), from: dayOf(record.valid_from), until: dayOf(record.valid_to), etag: record.etag });
const ruleOf = (draft) => { if (draft.when === undefined) return {}; const when = momentsIn(draft.when); return { when, must: Boolean(draft.must && when.length) }; };

// A time of a memory as a day of this calendar.
export function dayOf(time = "") {
  const at = time.length > 10 ? new Date(time) : null;
  return at && !Number.isNaN(at.valueOf()) ? [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, "0")).join("-") : time;
}

// Whether a memory holds today: the badge of one that is over, or has not begun.
const at = (time) => (time.length > 10 ? [Date.parse(time), Date.now()] : [time, dayOf(new Date().toISOString())]);
const isBefore = (time) => { const [then, now] = at(time); return then < now; };
const isAhead = (time) => { const [then, now] = at(time); return then > now; };
export function Holding({ record: { valid_from: from = "", valid_to: until = "" } }) {
  if (until && isBefore(until)) return html`<${Badge} look="warn">over since ${dayOf(until)}</${Badge}>`;
  return from && isAhead(from) ? html`<${Badge}>from ${dayOf(from)}</${Badge}>` : null;
}

const Days = ({ value, onInput }) => html`<div class="pair"><${Input} label="Holds from" value=${value.from} placeholder="always" onInput=${(from) => onInput({ ...value, from })} />
  <${Input} label="Holds until" value=${value.until} placeholder="always" hint="Such as 2w, 3 months or 2026-12-01. After it, agents are not told it." onInput=${(until) => onInput({ ...value, until })} /></div>`;
// What is emptied is taken away, and what was not touched stays as it is.
const dayTo = (now, before) => (now === before ? "" : now.trim() || "never");

/* The form that takes the place of a memory's text. What is typed stays through a reload; when somebody changed the memory
   meanwhile, both texts are shown and the person decides. */
export function EditMemory({ record, onDone }) {
  const start = asDraft(record);
  const [draft, type, drop] = useDraft(`memory:${record.id}`, start), place = useRef();
  const { data: counts } = useData("/counts"), { data: status } = useData("/status", {}, { on: false });
  const shut = (saved) => { drop(); onDone(saved); };
  const [save, { busy, error, clear }] = useAction(async (etag = draft.etag) => {
    const saved = await put(path(record.id), { text: draft.text, kind: draft.kind, tags: tagsIn(draft.tags), ...ruleOf(draft), etag, valid_from: dayTo(draft.from ?? start.from, start.from), valid_to: dayTo(draft.until ?? start.until, start.until) });
    const hidden = saved.redacted ? ` Without its secrets: ${saved.redacted.join(", ")}.` : "";
    if (saved.change !== null) toast(`Saved.${hidden}`, undoable(saved.change));
    shut(saved);
  });
  useEffect(() => { place.current?.focus({ preventScroll: true }); place.current?.form.scrollIntoView({ block: "nearest" }); }, []);
  const now = error?.status === 412 ? error.told.current : null;
  const keys = (event) => {
    if (event.key === "Escape") { event.preventDefault(); event.stopPropagation(); onDone(null); }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); save(); }
  };
  return html`<form class="stack editing" aria-label="Edit this memory" onKeyDown=${keys} onSubmit=${(event) => { event.preventDefault(); save(); }}>
    <${TextBox} label="Text" hidden box=${place} value=${draft.text} limit=${status?.text_limit} required onInput=${(text) => type({ ...draft, text })} />
    <${KindAndTags} value=${draft} kinds=${kindsFor(counts?.kinds, draft.kind)} onInput=${type} />
    <${Moments} value=${draft} onInput=${type} />
    <${Days} value=${draft} onInput=${type} />
    ${now && html`<${Meanwhile} now=${now} mine=${draft} busy=${busy} keep=${() => { type({ ...draft, etag: now.etag }); save(now.etag); }} drop=${() => { clear(); type(asDraft(now)); }} />`}
    ${!now && html`<${Wrong} error=${error} />`}
    <div class="actions">${!now && html`<button class="button primary" disabled=${busy}>Save</button>`}<${Button} onClick=${() => shut(null)}>Cancel</${Button}>
      <span class="hint desk">Ctrl+Enter saves. Escape closes it and keeps what you typed.</span></div></form>`;
}

const Meanwhile = ({ now, mine, keep, drop, busy }) => html`<${Banner} look="warn" role="alert"><p><strong>This memory was changed while you were typing.</strong> Your text is still here. From the text as it is now to yours:</p>
  <${Diff} before=${now.text} after=${mine.text} label="From the text as it is now to yours" />
  <div class="row"><${Button} small busy=${busy} onClick=${keep}>Keep mine</${Button}><${Button} small onClick=${drop}>Take theirs</${Button}></div></${Banner}>`;

// ---- A memory in a list.

const UNTRUSTED = { none: "not trusted", low: "little trusted" };
export const Trust = ({ record }) => (UNTRUSTED[record.trust] && record.trust === "none" ? html`<${Badge} look="warn">${UNTRUSTED[record.trust]}</${Badge}>` : null);
export const isReplaced = (record) => Boolean(record.replaced || record.superseded_by?.length);
// What was said in a conversation stands in no document, and a passage is part of one: neither is a memory of its own.
export const isKept = (record) => !record.passage && record.places?.length !== 0;

export function menuOf(record, { edit, opened = false, onGone } = {}) {
  const place = record.places?.[0];
  const then = (deed) => async () => { if (await deed()) onGone?.(); };
  return [
    !opened && { label: "Open", icon: "right", run: () => go(memoryAddress(record.id)) },
    edit && { label: "Edit", icon: "edit", run: edit },
    !isReplaced(record) && { label: "Replace…", icon: "replace", run: () => replace(record) },
    { label: record.pinned ? "Take the pin off" : "Pin", icon: "pin", run: () => pin(record) },
    { label: "Copy the text", icon: "copy", run: () => copyText(record.text) },
    place && { label: "Show in its document", icon: "documents", run: () => go(documentAddress(place.document, place.line)) },
    { label: "Remove", icon: "trash", run: then(() => removeMemories([record.id])) },
    { label: "Forget for good…", icon: "warn", danger: true, run: then(() => forget(record)) },
  ];
}

/* One memory of a list: its text, a quiet line below it and one menu. `choosing` shows a box to select it with. */
export function MemoryCard({ record, choosing = false, chosen = false, onChoose, editing = false, onEdit, fresh = false, words = "", onFilter, kind = true, children }) {
  const keys = (event) => {
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const deed = { Enter: () => go(memoryAddress(record.id)), e: () => onEdit?.(record.id), x: () => onChoose?.(record.id, event.shiftKey) }[event.key];
    if (!deed) return;
    event.preventDefault();
    deed();
  };
  return html`<${Card} id=${record.id} fresh=${fresh} faded=${isReplaced(record)} class=${chosen ? "chosen" : ""} onKeyDown=${keys}>
    <div class="card-head">${choosing && html`<${Check} hidden label=${`Select: ${record.text.slice(0, 80)}`} checked=${chosen} onChange=${() => onChoose(record.id)} />`}
      ${editing ? html`<${EditMemory} record=${record} onDone=${() => onEdit("")} />` : html`<div><${Told} text=${record.text} words=${words} /><${AboutIt} record=${record} onFilter=${onFilter} kind=${kind} />${children}</div>`}
      ${!editing && html`<${Menu} label="More about this memory" items=${menuOf(record, { edit: onEdit && (() => onEdit(record.id)) })} />`}</div></${Card}>`;
}

export const AboutIt = ({ record, onFilter, kind = true }) => html`<${Meta}>${record.pinned && html`<span class="pinned"><${Icon} name="pin" size=${14} />pinned</span>`}${kind && html`<${Kind} kind=${record.kind} />`}
  <${Link} to=${memoryAddress(record.id)} class="quiet-link"><span class="hidden">Open this memory of </span><${When} at=${record.timestamp} />${!record.timestamp && "Open"}</${Link}>
  ${record.when?.length > 0 && html`<span class="moment" dir="auto">${record.must ? "denies" : "told at"} ${record.when.join(", ")}</span>`}
  ${record.origin !== "owner" && html`<${Who} by=${record} icon=${false} />`}<${Trust} record=${record} />
  ${draftOf(`memory:${record.id}`) && html`<${Badge} look="warn">edited, not saved</${Badge}>`}${isReplaced(record) && html`<${Badge}>replaced</${Badge}>`}<${Holding} record=${record} />${record.sensitivity === "secret" && html`<${Badge} look="warn">secret</${Badge}>`}
  <${Labels} tags=${labelsOf(record)} onFilter=${onFilter} /></${Meta}>`;

// The tags of a record, with the person and the project that it names otherwise as if they were tags, too.
const labelsOf = ({ tags = [], username, group }) => [...new Set([...tags, username && PERSON + username, group && PROJECT + group].filter(Boolean))];

// Tags, and those among them that name a person or a project, each with its own sign.
export const Labels = ({ tags = [], onFilter }) => tags.map((tag) => {
  const sort = tag.startsWith(PERSON) ? "person" : tag.startsWith(PROJECT) ? "folder" : "";
  const shown = html`${sort && html`<${Icon} name=${sort} size=${14} />`}<span dir="auto">${sort ? tag.slice(tag.indexOf(":") + 1) : tag}</span>`;
  return onFilter ? html`<button key=${tag} type="button" class=${`tag linklike ${sort && "named"}`} title=${`Only ${tag}`} onClick=${() => onFilter(tag)}>${shown}</button>` : html`<span key=${tag} class=${`tag ${sort && "named"}`}>${shown}</span>`;
});

// A kind as the heading of several: facts, people.
const MANY = { person: "people", context: "context", correction: "corrections", "turn-summary": "summaries of turns", learned: "learned", compaction: "summaries" };
export const manyOf = (kind) => MANY[kind] || (/[sxz]$|[cs]h$/.test(kind) ? `${kind}es` : /[^aeiou]y$/.test(kind) ? `${kind.slice(0, -1)}ies` : `${kind}s`);

// A file of the memories that are chosen, made in the browser.
export function exported(records, form) {
  const text = form === "jsonl" ? records.map((each) => JSON.stringify(each)).join("\n") + "\n"
    : `# Memories\n\n${records.map((each) => `- ${each.text.replaceAll("\n", "\n  ")} (${each.timestamp.slice(0, 10)}, ${each.kind}${each.tags?.length ? `, ${each.tags.map((tag) => `#${tag}`).join(" ")}` : ""})`).join("\n")}\n`;
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(new Blob([text], { type: "text/plain" })), download: `memories.${form === "jsonl" ? "jsonl" : "md"}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
