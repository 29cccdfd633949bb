// Activity: every change with its text, who made it, and the way back.

import { get, post } from "/assets/api.js";
import { useAction, useData } from "/assets/data.js";
import { Icon } from "/assets/icons.js";
import { documentAddress, go, Link, memoryAddress, useQuery } from "/assets/router.js";
import { Reworded, Told } from "/assets/text.js";
import { Badge, Button, Card, Cards, Chip, Empty, Input, Loaded, Page, Select, toast, toastWrong, When } from "/assets/ui.js";
import { told } from "/assets/undo.js";
import { html, useEffect, useRef, useState } from "/assets/vendor.js";
import { clock, count, dayOf, number, upper } from "/assets/words.js";

export const sheet = "/assets/places/activity.css";

const PEOPLE = [["", "Everyone"], ["you", "You"], ["agent", "Agents"], ["editor", "Editors"], ["commonplace", "Commonplace"], ["import", "Imports"]];
const DEEDS = [["", "All changes"], ["remembered", "Remembered"], ["changed", "Changed"], ["removed", "Removed"], ["taken-back", "Taken back or restored"], ["judged", "Pinned or judged"], ["decided", "Review"], ["upkeep", "Upkeep"]];
const PAGE = 50, FIRST = 3;

const VERBS = {
  init: "set up the vault", add: "remembered", refresh: "remembered again", replace: "changed", edited: "changed", mended: "repaired", strike: "removed",
  forget: "forgot for good", undo: "took back", redo: "made again", restore: "restored", "put-back": "put back what a save had overwritten", hold: "asked to remember",
  approve: "approved", reject: "rejected", trim: "moved the oldest to the archive", compact: "summed up old memories", mark: "noted what was replaced", useful: "said it helped", wrong: "said it is wrong", pin: "pinned", unpin: "took the pin off", tidy: "tidied", follow: "brought the copy in line", seen: "was here before",
};
const ICONS = { remembered: "add", changed: "edit", removed: "trash", "taken-back": "undo", judged: "pin", decided: "review", upkeep: "upkeep" };
const SUBJECTS = { you: "You", editor: "An editor", commonplace: "Commonplace", import: "An import" };
const subject = (change) => SUBJECTS[change.who] || change.client || (change.origin === "web" ? "An agent that read the web" : "The agent");

export default function Activity() {
  const [query, setQuery] = useQuery();
  const given = { who: query.who, deed: query.deed, day: query.day, document: query.document, before: query.before, limit: PAGE };
  const changes = useData("/activity", given);
  const newest = useNewest(changes.data, JSON.stringify(given));
  const narrowed = ["who", "deed", "day", "document"].some((name) => query[name]);
  const filter = (which) => setQuery({ ...which, before: "" });
  return html`<${Page} title="Activity" lead="Every change to this memory, with its words: who made it, when, and the way back.">
    <div class="filters" role="group" aria-label="Filters">
      <div class="chips">${PEOPLE.map(([name, title]) => html`<${Chip} key=${name} on=${query.who === name} onClick=${() => filter({ who: name })}>${title}</${Chip}>`)}</div>
      <div class="narrow"><${Select} hidden label="What was done" value=${query.deed} options=${DEEDS} onChange=${(deed) => filter({ deed })} />
        <${Input} hidden label="On the day" type="date" value=${query.day} onInput=${(day) => filter({ day })} />
        ${query.document && html`<${Chip} on remove onClick=${() => filter({ document: "" })}>${query.document}</${Chip}>`}
        ${narrowed && html`<${Button} look="quiet" icon="cross" onClick=${() => filter({ who: "", deed: "", day: "", document: "" })}>Clear</${Button}>`}</div>
    </div>
    <${Loaded} of=${changes} cards=${6} lines=${2}>${(data) => html`<${List} data=${data} newest=${newest} narrowed=${narrowed} query=${query} />`}</${Loaded}>
  </${Page}>`;
}

// Where the list ended when it was first shown with these filters: what comes after that is new.
function useNewest(data, filters) {
  const seen = useRef({ filters: "", end: null });
  if (seen.current.filters !== filters) seen.current = { filters, end: null };
  if (data && seen.current.end === null) seen.current.end = data.changes[0]?.position ?? -1;
  return seen.current.end ?? Infinity;
}

function List({ data, newest, narrowed, query }) {
  if (!data.changes.length) {
    return narrowed ? html`<${Empty} icon="filter" title="No change fits">Nothing was changed that fits all of these filters.</${Empty}>`
      : html`<${Empty} icon="activity" title="Nothing has changed yet" actions=${html`<${Link} class="button primary" to="/home">Remember something</${Link}>`}>Whatever you or an agent remember, change or remove is told here.</${Empty}>`;
  }
  const days = [...Map.groupBy(data.changes, (each) => each.day)];
  return html`<p class="muted small" aria-live="polite">${count(data.count, "change")}${narrowed ? " that fit" : ""}${query.before ? ", older ones" : ""}</p>
    ${days.map(([name, all]) => html`<section class="day" key=${name} aria-label=${upper(dayOf(name))}><h2>${upper(dayOf(name))}</h2>
      <${Cards} label=${`Changes, ${dayOf(name)}`}>${all.map((each) => html`<${Change} key=${each.position} change=${each} fresh=${!query.before && each.position > newest} />`)}</${Cards}></section>`)}
    <${Steps} next=${data.next} query=${query} />`;
}

function Steps({ next, query }) {
  const to = (before) => { const url = new URL(location.href); if (before) url.searchParams.set("before", before); else url.searchParams.delete("before"); go(url.pathname + url.search); };
  if (next === null && !query.before) return null;
  return html`<nav class="steps" aria-label="Pages">${query.before && html`<${Button} icon="left" onClick=${() => to("")}>Newest changes</${Button}>`}
    ${next !== null && html`<${Button} onClick=${() => to(next)}>Older changes<${Icon} name="right" /></${Button}>`}</nav>`;
}

function Change({ change, fresh }) {
  const [whole, setWhole] = useState(null);
  const shown = whole || change, isUndone = change.undo !== null && change.undo !== undefined;
  const [turn, { busy }] = useAction(() => (change.way === "undo" ? takeBack(change) : makeAgain(change)));
  const [unfold, { busy: unfolding }] = useAction(async () => { try { setWhole(await get(`/activity/${change.position}`)); } catch (error) { toastWrong(error); } });
  useEffect(() => { setWhole(null); }, [change.position]);
  const isForgotten = change.op === "add" && change.ids.length > 0 && !change.pieces.length;
  const pieces = whole ? shown.pieces : shown.pieces.slice(0, FIRST), left = shown.pieces.length - pieces.length + shown.more;
  return html`<${Card} id=${change.position} fresh=${fresh} faded=${isUndone} class=${`change ${change.deed}`}>
    <span class="deed" aria-hidden="true"><${Icon} name=${ICONS[change.deed] || "edit"} size=${18} /></span>
    <div class="what">
      <p class="sentence"><strong>${subject(change)}</strong> ${VERBS[change.op] || "changed"}<${Where} change=${change} /> <span class="muted"><time datetime=${change.at}>${clock(change.at)}</time></span>
        ${isUndone && html` <${Badge}>Taken back</${Badge}>`}${change.op === "hold" && html` <${Link} to="/review"><${Badge} look="warn">For review</${Badge}></${Link}>`}${fresh && html` <${Badge} look="accent">New</${Badge}>`}</p>
      ${pieces.map((each, at) => html`<${Piece} key=${each.id || at} piece=${each} leads=${!["hold", "reject"].includes(change.op) && !isUndone} />`)}
      ${left > 0 && html`<button type="button" class="linkish small" disabled=${unfolding} onClick=${unfold}>${`Show ${number(left)} more`}</button>`}
      ${change.op === "forget" && html`<p class="muted small">The words are gone from every document, version and index.</p>`}
      ${isForgotten && html`<p class="muted small">Forgotten since, for good.</p>`}
    </div>
    ${change.way && !isForgotten && html`<${Button} look="quiet" small icon=${change.way} busy=${busy} class="turn" title=${change.way === "undo" ? "Take this one change back" : "Make this change again"} onClick=${turn}>${change.way === "undo" ? "Undo" : "Redo"}</${Button}>`}
  </${Card}>`;
}

// The documents, where the texts do not lead to a memory.
function Where({ change }) {
  const leads = change.pieces.length > 0 && change.pieces.every(({ id }) => id) && change.op !== "edited";
  const names = leads || ["forget", "add", "refresh"].includes(change.op) && change.ids.length ? [] : change.documents;
  if (!names.length) return null;
  const links = names.slice(0, 3).map((name, at) => html`${at > 0 && ", "}<${Link} to=${documentAddress(name)} dir="auto">${name}</${Link}>`);
  return html`${change.op === "seen" ? ": " : ["edited", "replace", "restore", "mended"].includes(change.op) ? " " : " in "}${links}${names.length > 3 && ` and ${names.length - 3} more`}`;
}

function Piece({ piece, leads }) {
  const { before, after, id, moved_from: moved } = piece;
  const link = leads && id && after && html`<${Link} class="open" to=${memoryAddress(id)} aria-label="Open this memory" title="Open this memory"><${Icon} name="right" size=${16} /></${Link}>`;
  if (moved) return html`<div class="piece"><${Told} text=${after} /><p class="muted small">moved from <span dir="auto">${moved}</span> to <span dir="auto">${piece.document}</span></p></div>`;
  if (before && before === after) return html`<div class="piece"><${Told} text=${after} />${link}</div>`;
  if (before && after) return html`<div class="piece"><${Reworded} before=${before} after=${after} />${link}</div>`;
  if (before) return html`<div class="piece gone"><p class="reworded" dir="auto"><del><span class="hidden">Removed: </span>${before}</del></p></div>`;
  return html`<div class="piece"><${Told} text=${after} />${link}</div>`;
}

async function takeBack(change) {
  try {
    const { undone } = await post("/undo", { position: change.position });
    toast(told(undone, "Taken back"), { action: { label: "Redo", run: () => makeAgain(change) } });
  } catch (error) { toastWrong(error); }
}

async function makeAgain(change) {
  try {
    const { redone } = await post("/redo", { position: change.position });
    toast(told(redone, "Made again"), { action: { label: "Undo", run: () => takeBack(redone) } });
  } catch (error) { toastWrong(error); }
}
