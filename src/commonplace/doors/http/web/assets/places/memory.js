// Memory: every memory by kind or in a list, with filters that live in the address; and a page for each of them.

import { get } from "/assets/api.js";
import { useData, useSettled } from "/assets/data.js";
import { changeMemories, exported, kindsFor, manyOf, MemoryCard, MOST_AT_ONCE, removeMemories, tagsIn } from "/assets/memories.js";
import { Remember } from "/assets/remember.js";
import { OneMemory } from "/assets/one-memory.js";
import { setQuery, useQuery } from "/assets/router.js";
import { ask, Button, Cards, Check, Chip, Dialog, Empty, Input, Loaded, Menu, Page, Select, Tabs, toast } from "/assets/ui.js";
import { html, useEffect, useRef, useState } from "/assets/vendor.js";
import { day, memories, number, TIMES, tone, upper, who } from "/assets/words.js";

export const sheet = "/assets/places/memory.css";
const PAGE = 50, IN_A_SECTION = 6, SHOWN = 12;
const SORTS = [["newest", "Newest first"], ["oldest", "Oldest first"], ["longest", "Longest first"], ["repeated", "Said again most often"]];
const VIEWS = [["kinds", "By kind"], ["list", "List"]];
const LISTS = ["kind", "tag", "person", "project", "by"];
const SINGLE = ["words", "since", "until", "pinned", "replaced"];

export default function Memory({ rest }) {
  return rest[0] ? html`<${OneMemory} key=${rest[0]} id=${rest[0]} />` : html`<${All} />`;
}

// ---- Filters: in the address under short names, lists with commas.

const listOf = (text) => text.split(",").filter(Boolean);
function filtersOf(query) {
  return {
    words: query.words, kinds: listOf(query.kind), tags: listOf(query.tag), people: listOf(query.person), projects: listOf(query.project),
    origins: listOf(query.by), since: query.since, until: query.until, pinned: query.pinned === "1", superseded: query.replaced === "1",
  };
}
const toggled = (query, name, value) => {
  const now = listOf(query[name]);
  return (now.includes(value) ? now.filter((each) => each !== value) : [...now, value]).join(",");
};
const toggle = (query, name, value) => setQuery({ [name]: toggled(query, name, value), page: "" });
const isFiltered = (query) => [...LISTS, ...SINGLE].some((name) => query[name]);
const clear = () => setQuery(Object.fromEntries([...LISTS, ...SINGLE, "page"].map((name) => [name, ""])));

const PREFIXES = { "person:": "person", "project:": "project" };
// A tag that names a person or a project is a filter of that sort.
function filterByTag(query, tag) {
  const prefix = Object.keys(PREFIXES).find((each) => tag.startsWith(each));
  if (prefix) toggle(query, PREFIXES[prefix], tag.slice(prefix.length));
  else toggle(query, "tag", tag);
}

// ---- The place.

function All() {
  const [query] = useQuery(), filters = filtersOf(query);
  const counts = useData("/counts", filters), [adding, setAdding] = useState(false), [open, setOpen] = useState(false);
  const isEmpty = counts.data?.memories === 0 && !counts.data.replaced && !isFiltered(query);
  return html`<${Page} title="Memory" wide lead=${!isEmpty && html`<${Told} counts=${counts.data} filtered=${isFiltered(query)} />`}
    actions=${!isEmpty && html`<${Button} look="primary" icon="add" onClick=${() => setAdding(true)}>Remember</${Button}>`}>
    ${adding && html`<${Dialog} title="Remember something" onClose=${() => setAdding(false)}><${Remember} done=${() => setAdding(false)} /></${Dialog}>`}
    ${isEmpty ? html`<${Nothing} add=${() => setAdding(true)} />` : html`<div class="shelf"><div class="shelf-main">
      <${Bar} query=${query} setOpen=${setOpen} /><${Active} query=${query} /><${List} query=${query} filters=${filters} counts=${counts.data} /></div>
      <aside class="rail" aria-label="Filters"><${Rail} query=${query} counts=${counts.data} /></aside></div>
      ${open && html`<${Dialog} title="Filters" onClose=${() => setOpen(false)}><div class="rail-alone"><${Rail} query=${query} counts=${counts.data} /></div></${Dialog}>`}`}
  </${Page}>`;
}

// "312 memories, 28 match": what is counted is always said.
const Told = ({ counts, filtered }) => counts ? html`<span role="status">${memories(counts.memories)}${filtered ? `, ${number(counts.matching)} match` : counts.replaced > 0 ? `, and ${number(counts.replaced)} that newer ones replaced` : ""}</span>` : html`<span> </span>`;

const Nothing = ({ add }) => html`<${Empty} icon="memory" title="Nothing is remembered yet" actions=${html`<${Button} look="primary" icon="add" onClick=${add}>Remember something</${Button}>`}>
  Write the first memory yourself, or let an agent that is connected remember one. Each appears here by itself.</${Empty}>`;

function Bar({ query, setOpen }) {
  const [typed, type] = useState(query.words), settled = useSettled(typed, 180), mine = useRef(query.words);
  useEffect(() => { if (settled !== mine.current) { mine.current = settled; setQuery({ words: settled, page: "" }); } }, [settled]);
  useEffect(() => { if (query.words !== mine.current) { mine.current = query.words; type(query.words); } }, [query.words]);
  return html`<div class="filterbar"><${Input} label="Filter by words" hidden type="search" placeholder="Filter by words" value=${typed} onInput=${type} />
    <${Select} label="Sort" hidden value=${query.sort || "newest"} options=${SORTS} onChange=${(sort) => setQuery({ sort: sort === "newest" ? "" : sort, page: "" })} />
    <span class="narrow"><${Button} icon="filter" aria-haspopup="dialog" onClick=${() => setOpen(true)}>Filters</${Button}></span></div>`;
}

// What is filtered by now, each with a cross.
function Active({ query }) {
  if (![...LISTS, "since", "until", "pinned", "replaced"].some((name) => query[name])) return null;
  const names = { by: (value) => who({ origin: value }), person: (value) => `@${value}`, tag: (value) => `#${value}` };
  return html`<div class="chips active" role="group" aria-label="Active filters">
    ${LISTS.flatMap((name) => listOf(query[name]).map((value) => html`<${Chip} key=${name + value} on remove title="Take this filter off" onClick=${() => toggle(query, name, value)}>${names[name]?.(value) ?? value}</${Chip}>`))}
    ${query.since && html`<${Chip} on remove onClick=${() => setQuery({ since: "", page: "" })}>since ${day(`${query.since}T12:00:00`)}</${Chip}>`}
    ${query.until && html`<${Chip} on remove onClick=${() => setQuery({ until: "", page: "" })}>until ${day(`${query.until}T12:00:00`)}</${Chip}>`}
    ${query.pinned && html`<${Chip} on remove onClick=${() => setQuery({ pinned: "", page: "" })}>pinned</${Chip}>`}
    ${query.replaced && html`<${Chip} on remove onClick=${() => setQuery({ replaced: "", page: "" })}>with replaced ones</${Chip}>`}
    <button type="button" class="linkish small" onClick=${clear}>Clear all</button></div>`;
}

// ---- The filters beside the list.

function Rail({ query, counts }) {
  const { kinds = {}, tags = {}, people = {}, projects = {}, origins = {} } = counts || {};
  return html`<${Facet} title="Kind" name="kind" query=${query} values=${kinds} dotted /><${Facet} title="Tags" name="tag" query=${query} values=${tags} />
    <${Facet} title="Projects" name="project" query=${query} values=${projects} /><${Facet} title="People" name="person" query=${query} values=${people} />
    <${Facet} title="Remembered by" name="by" query=${query} values=${origins} say=${(origin) => who({ origin })} /><${Time} query=${query} />
    <${Check} label="Only pinned ones" checked=${query.pinned === "1"} onChange=${(on) => setQuery({ pinned: on ? "1" : "", page: "" })} />
    <${Check} label="Replaced ones too" checked=${query.replaced === "1"} onChange=${(on) => setQuery({ replaced: on ? "1" : "", page: "" })} />`;
}

function Facet({ title, name, query, values, say = (value) => value, dotted = false }) {
  const [all, setAll] = useState(false), chosen = listOf(query[name]);
  const names = [...new Set([...chosen, ...Object.keys(values)])];
  if (!names.length) return null;
  const shown = all ? names : names.slice(0, SHOWN);
  return html`<section class="facet"><h2>${title}</h2><ul>${shown.map((value) => html`<li key=${value}><button type="button" class=${chosen.includes(value) ? "on" : ""} aria-pressed=${chosen.includes(value)} onClick=${() => toggle(query, name, value)}>
      ${dotted && html`<span class="dot" style=${{ background: `var(--tone-${tone(value)})` }} aria-hidden="true"></span>`}<span dir="auto">${say(value)}</span><span class="count">${number(values[value] || 0)}</span></button></li>`)}</ul>
    ${names.length > SHOWN && html`<button type="button" class="linkish small" aria-expanded=${all} onClick=${() => setAll(!all)}>${all ? "Fewer" : `${number(names.length - SHOWN)} more`}</button>`}</section>`;
}

function Time({ query }) {
  const times = [["", "Any time"], ...TIMES()], isKnown = times.some(([since]) => since === query.since) && !query.until;
  const options = isKnown ? times : [...times, [query.since, "Between two days"]];
  return html`<section class="facet"><h2>Time</h2><${Select} label="Time" hidden value=${query.since} options=${options} onChange=${(since) => setQuery({ since, until: "", page: "" })} />
    <div class="between"><${Input} label="From" type="date" value=${query.since} onInput=${(since) => setQuery({ since, page: "" })} /><${Input} label="To" type="date" value=${query.until} onInput=${(until) => setQuery({ until, page: "" })} /></div></section>`;
}

// ---- The list.

function List({ query, filters, counts }) {
  const [choosing, setChoosing] = useState(false), [chosen, setChosen] = useState(new Set()), [editing, setEditing] = useState("");
  const inList = query.view === "list" || filters.kinds.length === 1 || (!query.view && isFiltered(query)), last = useRef("");
  const choose = (id) => {
    setChoosing(true);
    last.current = id;
    setChosen((was) => { const now = new Set(was); if (!now.delete(id) && now.size < MOST_AT_ONCE) now.add(id); else if (now.size >= MOST_AT_ONCE) toast(`At most ${MOST_AT_ONCE} at once.`); return now; });
  };
  const done = () => { setChosen(new Set()); setChoosing(false); };
  const card = (record, kind = true) => html`<${MemoryCard} key=${record.id} record=${record} kind=${kind} choosing=${choosing} chosen=${chosen.has(record.id)} onChoose=${choose}
    editing=${editing === record.id} onEdit=${setEditing} words=${query.words} onFilter=${(tag) => filterByTag(query, tag)} />`;
  const select = html`<${Button} look="quiet" icon="check" aria-pressed=${choosing} onClick=${() => (choosing ? done() : setChoosing(true))}>${choosing ? "Stop selecting" : "Select"}</${Button}>`;
  return html`<div class="view"><${Tabs} label="How to show them" value=${inList ? "list" : "kinds"} options=${VIEWS} onChange=${(view) => setQuery({ view, page: "", ...view === "kinds" && filters.kinds.length === 1 && { kind: "" } })} />${select}</div>
    ${inList ? html`<${InList} query=${query} filters=${filters} counts=${counts} card=${card} choose=${choosing && ((ids) => setChosen(new Set(ids)))} />` : html`<${ByKind} query=${query} filters=${filters} card=${card} />`}
    ${choosing && html`<${Bulk} chosen=${[...chosen]} counts=${counts} done=${done} />`}`;
}

const NONE = html`<${Empty} icon="filter" title="Nothing matches" actions=${html`<${Button} onClick=${clear}>Clear the filters</${Button}>`}>No memory fits all of these filters.</${Empty}>`;

function ByKind({ query, filters, card }) {
  const told = useData("/sections", { ...filters, order: query.sort, limit: IN_A_SECTION });
  return html`<${Loaded} of=${told} cards=${5}>${({ sections }) => (sections.length ? sections.map(({ kind, count, records }) => html`<section key=${kind} class="section kinds" aria-label=${upper(manyOf(kind))}>
    <header class="section-head"><h2><span class="dot" style=${{ background: `var(--tone-${tone(kind)})` }} aria-hidden="true"></span>${upper(manyOf(kind))} <span class="count">${number(count)}</span></h2></header>
    <${Cards} label=${upper(manyOf(kind))}>${records.map((record) => card(record, false))}</${Cards}>
    ${count > records.length && html`<div class="all"><${Button} look="quiet" icon="right" onClick=${() => { setQuery({ kind, view: "list", page: "" }, { push: true }); scrollTo(0, 0); }}>All ${number(count)} ${manyOf(kind)}</${Button}></div>`}</section>`) : NONE)}</${Loaded}>`;
}

// Days of the last week by their names, what is older by month.
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric" });
function heading(timestamp) {
  const at = new Date(timestamp);
  if (Number.isNaN(at.getTime())) return "Without a date";
  return Date.now() - at < 6 * 864e5 ? upper(day(timestamp)) : MONTH.format(at);
}

function grouped(records, byTime) {
  const groups = [];
  for (const record of records) {
    const title = byTime ? heading(record.timestamp) : "";
    if (!groups.length || groups.at(-1).title !== title) groups.push({ title, records: [] });
    groups.at(-1).records.push(record);
  }
  return groups;
}

function InList({ query, filters, counts, card, choose }) {
  const page = Math.max(1, Number(query.page) || 1), sort = query.sort || "newest";
  const told = useData("/records", { ...filters, order: sort, offset: (page - 1) * PAGE, limit: PAGE });
  const byTime = ["newest", "oldest"].includes(sort);
  return html`<${Loaded} of=${told} cards=${6}>${({ records, more }) => (!records.length ? NONE : html`
    ${choose && html`<p><button type="button" class="linkish small" onClick=${() => choose(records.map(({ id }) => id))}>Select all ${records.length} on this page</button></p>`}
    ${grouped(records, byTime).map(({ title, records: some }) => html`<section key=${title} class="group">${title && html`<h2 class="group-head">${title}</h2>`}<${Cards} label=${title || "Memories"}>${some.map((record) => card(record, filters.kinds.length !== 1))}</${Cards}></section>`)}
    <${Pager} page=${page} more=${more} shown=${records.length} counts=${counts} />`)}</${Loaded}>`;
}

function Pager({ page, more, shown, counts }) {
  if (page === 1 && !more) return null;
  const first = (page - 1) * PAGE + 1, turn = (to) => { setQuery({ page: to === 1 ? "" : to }, { push: true }); scrollTo(0, 0); };
  return html`<nav class="pager" aria-label="Pages"><${Button} icon="left" disabled=${page === 1} onClick=${() => turn(page - 1)}>Previous</${Button}>
    <span class="numbers" role="status">${number(first)} to ${number(first + shown - 1)} of ${counts ? number(counts.matching) : "…"}</span><${Button} disabled=${!more} onClick=${() => turn(page + 1)}>Next</${Button}></nav>`;
}

// ---- Many at once: one change, so that one undo takes it back.

function Bulk({ chosen, counts, done }) {
  const some = chosen.length > 0, all = () => Promise.all(chosen.map((id) => get(`/records/${encodeURIComponent(id)}`)));
  const save = async (form) => { exported(await all(), form); };
  return html`<div class="bulk" role="region" aria-label="What to do with the selected memories"><strong role="status">${some ? `${memories(chosen.length)} selected` : "Choose memories"}</strong>
    <div class="actions"><${Button} small icon="tag" disabled=${!some} onClick=${() => askTags(chosen)}>Tags…</${Button}>
      <${Button} small disabled=${!some} onClick=${() => askKind(chosen, counts)}>Kind…</${Button}>
      ${some ? html`<${Menu} label="Export the selected memories" icon="download" text="Export" look="small" items=${[{ label: "Markdown file", run: () => save("md") }, { label: "JSON Lines file", run: () => save("jsonl") }]} />` : html`<${Button} small icon="download" disabled>Export</${Button}>`}
      <${Button} small icon="trash" disabled=${!some} onClick=${async () => { if (await removeMemories(chosen)) done(); }}>Remove</${Button}>
      <${Button} small look="quiet" icon="cross" label="Stop selecting" onClick=${done} /></div></div>`;
}

const askTags = (ids) => ask(`Tags of ${memories(ids.length)}`, html`<${Input} label="Add these tags" name="add" placeholder="home, project:boat" /><${Input} label="Take these off" name="off" />`,
  { yes: "Change tags", run: (form) => changeMemories(ids, { add_tags: tagsIn(form.get("add")), remove_tags: tagsIn(form.get("off")) }, `Changed the tags of ${memories(ids.length)}.`) });

const askKind = (ids, counts) => ask(`Kind of ${memories(ids.length)}`, html`<${Kinds} options=${kindsFor(counts?.kinds)} />`,
  { yes: "Change kind", run: (form) => changeMemories(ids, { kind: form.get("kind") }, `${memories(ids.length)} ${ids.length === 1 ? "is" : "are"} of the kind ${form.get("kind")} now.`) });
const Kinds = ({ options }) => html`<div class="field"><label for="new-kind">New kind</label><select id="new-kind" name="kind">${options.map((kind) => html`<option>${kind}</option>`)}</select></div>`;
