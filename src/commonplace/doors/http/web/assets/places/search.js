// Search: as one types, with why each was found; the numbers are behind a click.

import { useData, useSettled } from "/assets/data.js";
import { AboutIt, EditMemory, isKept, menuOf, Verdicts } from "/assets/memories.js";
import { documentAddress, go, Link, memoryAddress, setQuery, useQuery } from "/assets/router.js";
import { isLong, Markdown, wholeWords } from "/assets/text.js";
import { Badge, Banner, Bar, Button, Card, Cards, Check, Empty, Input, Loaded, Menu, Meta, More, Page, Select, Tabs, When } from "/assets/ui.js";
import { html, useEffect, useRef, useState } from "/assets/vendor.js";
import { count, number, TIMES, upper, who } from "/assets/words.js";

export const sheet = "/assets/places/search.css";
const WHERE = [["memory", "Memory"], ["history", "Conversations"], ["all", "Both"]];
const LIMIT = 30, ALL = 200, WEAK = 3;

export default function Search() {
  const [query] = useQuery(), words = query.words.trim();
  return html`<${Page} title="Search" lead="Ask as you would ask a person, or type the words you remember.">
    <${Box} query=${query} /><${Narrow} query=${query} />${words ? html`<${Found} query=${query} words=${words} />` : html`<${Hint} />`}</${Page}>`;
}

const Hint = () => html`<${Empty} icon="search" title="What do you look for?">Words are found in any form, misspelt ones too, and so is what means the same. Times work as well: “what did Ann say last week”.</${Empty}>`;

// The words go into the address when typing rests; what was asked before is dropped.
function Box({ query }) {
  const [typed, type] = useState(query.words), settled = useSettled(typed, 220), mine = useRef(query.words), place = useRef();
  useEffect(() => { if (settled !== mine.current) { mine.current = settled; setQuery({ words: settled }); } }, [settled]);
  useEffect(() => { if (query.words !== mine.current) { mine.current = query.words; type(query.words); } }, [query.words]);
  useEffect(() => { if (!query.words) place.current.querySelector("input").focus(); }, []);
  return html`<div class="ask" ref=${place} role="search"><${Input} label="What to look for" hidden type="search" autocomplete="off" placeholder="green tea, what Ann likes, last week in Lisbon" value=${typed} onInput=${type} /></div>`;
}

function Narrow({ query }) {
  const { data: counts } = useData("/counts"), where = query.in || "memory";
  const pick = (name, label, values, say = (value) => value) => (Object.keys(values || {}).length > 0 || query[name]) && html`<${Select} label=${label} hidden value=${query[name]} options=${[["", label], ...[...new Set([query[name], ...Object.keys(values || {})].filter(Boolean))].map((value) => [value, say(value)])]} onChange=${(value) => setQuery({ [name]: value })} />`;
  const [open, set] = useState(false);
  return html`<${Tabs} label="Where to look" value=${where} options=${WHERE} onChange=${(to) => setQuery({ in: to === "memory" ? "" : to })} />
    <div class="narrow"><${Button} small icon="filter" aria-expanded=${open} aria-controls="narrowing" onClick=${() => set(!open)}>Filters</${Button}></div>
    <div id="narrowing" class=${`narrowing ${open ? "open" : ""}`}>${where !== "history" && html`${pick("kind", "Every kind", counts?.kinds)}${pick("tag", "Every tag", counts?.tags)}${pick("project", "Every project", counts?.projects)}${pick("person", "Everybody", counts?.people)}${pick("since", "Any time", Object.fromEntries(TIMES()), (value) => TIMES().find(([since]) => since === value)?.[1] ?? `Since ${value}`)}${pick("by", "Remembered by anybody", counts?.origins, (origin) => who({ origin }))}`}
      <${Check} label="Everything about it, in groups" checked=${query.all === "1"} onChange=${(on) => setQuery({ all: on ? "1" : "" })} />
      ${where !== "history" && html`<${Check} label="Replaced ones too" checked=${query.replaced === "1"} onChange=${(on) => setQuery({ replaced: on ? "1" : "" })} />`}</div>`;
}

function Found({ query, words }) {
  const all = query.all === "1";
  const told = useData("/search", {
    text: words, within: query.in || "memory", kinds: query.kind, tags: query.tag, people: query.person, projects: query.project, origins: query.by, since: query.since,
    superseded: query.replaced === "1", all_about: all, limit: all ? ALL : LIMIT,
  });
  return html`<${Loaded} of=${told} cards=${4}>${(found) => html`<${Verdict} found=${found} />
    ${found.degraded && html`<${Banner} look="warn">This may not be all: ${found.degraded}</${Banner}>`}
    ${found.groups ? html`<${Groups} found=${found} />` : html`<${Best} key=${words} hits=${found.hits} />`}
    ${found.nearest.length > 0 && html`<${Cards} label="The nearest">${found.nearest.map((hit) => html`<${Hit} key=${hit.id} hit=${hit} />`)}</${Cards}>`}`}</${Loaded}>`;
}

// Of weak hits a few are shown: of such, at most one in four is an answer.
function Best({ hits }) {
  const [open, set] = useState(false), good = hits.filter(({ weak }) => !weak).length, shown = open ? hits : hits.slice(0, good + WEAK);
  return shown.length > 0 && html`<${Cards} label="Found">${shown.map((hit) => html`<${Hit} key=${hit.id} hit=${hit} />`)}</${Cards}>
    ${shown.length < hits.length && html`<${More} label=${`Show ${count(hits.length - shown.length, "more weak match", "more weak matches")}`} onClick=${() => set(true)} />`}`;
}

function Verdict({ found }) {
  const read = Object.entries(found.readings).map(([word, meant]) => `“${word}” was read as “${meant}”.`).join(" ");
  if (!found.hits.length && !found.nearest.length) return html`<${Empty} icon="search" title="Nothing was found">Try other words${read && `. ${read}`}, or look in conversations too.</${Empty}>`;
  const good = found.hits.filter(({ weak }) => !weak).length;
  const said = !found.hits.length ? "Nothing was found. These come nearest, and are probably no answer:"
    : found.groups ? `${number(found.count)} may be about it${found.more ? `, the ${number(found.hits.length)} best are shown` : ""}.` : good ? `${count(good, "match", "matches")}${good > 1 ? ", the best first" : ""}.` : "";
  return html`<p class="verdict" role="status">${said} ${found.weak ? "Only weak matches: perhaps none of these is an answer. Other words may find it." : ""} ${read}</p>`;
}

const Groups = ({ found }) => Object.entries(found.groups).map(([name, many]) => html`<section key=${name} class="section"><h2>${upper(name)} <span class="count">${number(many)}</span></h2>
  <${Cards} label=${upper(name)}>${found.hits.filter((hit) => hit.group === name).map((hit) => html`<${Hit} key=${hit.id} hit=${hit} />`)}</${Cards}></section>`);

// ---- One hit.

const strength = ({ score, weak }) => (weak ? "weak" : score >= 0.6 ? "strong" : "fair");

function Hit({ hit }) {
  const [editing, edit] = useState(false), kept = isKept(hit), isSaid = !hit.passage && !kept, place = hit.places?.[0];
  const to = isSaid ? `/conversations/${encodeURIComponent(hit.session)}?at=${encodeURIComponent(hit.id)}` : hit.passage && place ? documentAddress(place.document, place.line) : memoryAddress(hit.id);
  const keys = (event) => { if (event.key === "Enter" && event.target === event.currentTarget) { event.preventDefault(); go(to); } };
  return html`<${Card} id=${hit.id} faded=${hit.weak} onKeyDown=${keys}><div class="card-head"><div>
    ${editing ? html`<${EditMemory} record=${hit} onDone=${() => edit(false)} />` : html`<${Text} hit=${hit} />
      ${isSaid ? html`<${Said} hit=${hit} to=${to} />` : hit.passage ? html`<${Meta}><${Link} to=${to}>${place?.document}, line ${number(place?.line || 0)}</${Link}></${Meta}>` : html`<${AboutIt} record=${hit} />`}<${Why} hit=${hit} />${kept && html`<${Verdicts} record=${hit} edit=${() => edit(true)} />`}`}</div>
    <div class="hit-side"><${Strength} hit=${hit} />${kept && !editing && html`<${Menu} label="More about this memory" items=${menuOf(hit, { edit: () => edit(true) })} />`}</div></div></${Card}>`;
}

const Said = ({ hit, to }) => html`<${Meta}><span>${hit.username === "assistant" ? "The agent said it" : hit.username === "user" ? "You said it" : upper(hit.username || "somebody")}</span><${When} at=${hit.timestamp} exact /><${Link} to=${to}>Open the conversation there</${Link}></${Meta}>`;

const Strength = ({ hit }) => html`<span class="strength"><${Bar} value=${hit.score} look=${hit.weak ? "warn" : ""} label=${`A ${strength(hit)} match, ${Math.round(hit.score * 100)} of 100`} /><span class="small muted">${hit.weak ? html`<${Badge} look="warn">weak</${Badge}>` : strength(hit)}</span></span>`;

// Of a long text the part around the first word that was found.
const BEFORE = 160, AROUND = 520;
function piece(text, marks) {
  const first = Math.min(...(marks || []).map((word) => text.indexOf(word)).filter((at) => at >= 0), text.length);
  const from = first > BEFORE && first < text.length ? text.indexOf(" ", first - BEFORE) + 1 : 0;
  return `${from ? "… " : ""}${text.slice(from, from + AROUND).trimEnd()}${from + AROUND < text.length ? " …" : ""}`;
}

function Text({ hit }) {
  const [open, set] = useState(false), long = isLong(hit.text), shown = long && !open ? piece(hit.text, hit.marks) : hit.text;
  return html`<${Markdown} text=${shown} found=${wholeWords(hit.marks)} />${long && html`<button type="button" class="linkish small" aria-expanded=${open} onClick=${() => set(!open)}>${open ? "Show less" : "Show all of it"}</button>`}`;
}

function Why({ hit }) {
  const signals = Object.entries(hit.explain || {}), most = Math.max(...signals.map(([, value]) => Math.abs(value)), 0.001);
  const said = upper(hit.reasons.join("; ")) || "Why it was found";
  if (!signals.length) return html`<p class="why">${said}</p>`;
  return html`<details class="why"><summary dir="auto">${said}</summary><dl class="signals">${signals.map(([name, value]) => html`<div><dt>${upper(name)}</dt><dd><${Bar} value=${Math.abs(value) / most} look=${value < 0 ? "bad" : "good"} label=${`${name} ${value < 0 ? "speaks against it" : "speaks for it"}`} /><span class="numbers">${value.toFixed(2)}</span></dd></div>`)}</dl>
    ${hit.around.length > 0 && html`<p class="small">Beside it: ${hit.around.map((line) => html`<span class="beside" dir="auto">${line.username && `${line.username}: `}${line.text}</span>`)}</p>`}</details>`;
}
