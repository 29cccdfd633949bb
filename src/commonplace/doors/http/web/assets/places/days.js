// Days: what each day brought, the months as a calendar, one day to read, and how the memory grew.

import { named } from "/assets/api.js";
import { Plot } from "/assets/chart.js";
import { useChoice, useData } from "/assets/data.js";
import { dateOf, Heat, inWords, iso, levelOf, levels } from "/assets/heat.js";
import { Icon } from "/assets/icons.js";
import { MemoryCard } from "/assets/memories.js";
import { documentAddress, go, Link } from "/assets/router.js";
import { Row } from "/assets/said.js";
import { Markdown } from "/assets/text.js";
import { Button, Cards, Empty, Loaded, Page, Section, Tabs } from "/assets/ui.js";
import { html, useState } from "/assets/vendor.js";
import { count, memories, number } from "/assets/words.js";

export const sheet = "/assets/places/days.css";

// An address may be typed, and a person's line may say any time.
const DAY = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/, MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;
const isDay = (text = "") => DAY.test(text) && !Number.isNaN(dateOf(text).getTime());
const NAME = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric" });

export default function Days({ rest }) {
  const days = useData("/days");
  if (!days.data) return html`<${Page} title="Days"><${Loaded} of=${days} cards=${2} lines=${6} /></${Page}>`;
  return html`<${Loaded} of=${days}>${(told) => (isDay(rest[0]) ? html`<${Day} key=${rest[0]} day=${rest[0]} told=${told} />` : html`<${Overview} told=${told} asked=${rest[0]} />`)}</${Loaded}>`;
}

// What each day has beside its memories: logs and diary entries.
function pages({ daily, diary }) {
  const found = {};
  for (const [name, day] of Object.entries(daily)) (found[day] ??= { logs: [], entries: [] }).logs.push(name);
  for (const [name, time] of Object.entries(diary)) (found[time.slice(0, 10)] ??= { logs: [], entries: [] }).entries.push(name);
  return found;
}
const known = (told) => [...new Set([...Object.keys(told.counts), ...Object.keys(pages(told))])].filter(isDay).sort();

function Overview({ told, asked }) {
  const today = iso(new Date()), all = known(told), last = all.at(-1) || today;
  const [month, turn] = useState(MONTH.test(asked || "") ? asked : last.slice(0, 7));
  if (!all.length) return html`<${Page} title="Days"><${Empty} icon="days" title="No day has anything yet">Each memory, log and diary entry appears on its day.</${Empty}></${Page}>`;
  const total = Object.values(told.counts).reduce((sum, each) => sum + each, 0);
  return html`<${Page} title="Days" lead=${`${memories(total)} on ${count(Object.keys(told.counts).filter(isDay).length, "day")}, and ${count(Object.keys(told.diary).length, "diary entry", "diary entries")}. Replaced memories count too.`}>
    <${Heat} counts=${told.counts} last=${last > today ? last : today} unit=${memories} onOpen=${(day) => go(`/days/${day}`)} />
    <div class="columns days-columns"><${Calendar} told=${told} month=${month} turn=${turn} today=${today} /><${Growth} /></div></${Page}>`;
}

const WEEK = [["Mon", "Monday"], ["Tue", "Tuesday"], ["Wed", "Wednesday"], ["Thu", "Thursday"], ["Fri", "Friday"], ["Sat", "Saturday"], ["Sun", "Sunday"]];

function Calendar({ told, month, turn, today }) {
  const [year, which] = month.split("-").map(Number), first = new Date(year, which - 1, 1);
  const step = (by) => turn(iso(new Date(year, which - 1 + by, 1)).slice(0, 7));
  const blanks = (first.getDay() + 6) % 7, days = Array.from({ length: new Date(year, which, 0).getDate() }, (_, at) => `${month}-${String(at + 1).padStart(2, "0")}`);
  const found = pages(told), least = levels(Object.values(told.counts));
  const weeks = [];
  for (const [at, day] of [...Array(blanks).fill(null), ...days].entries()) (weeks[Math.floor(at / 7)] ??= []).push(day);
  return html`<section class="section"><header class="section-head month-head"><h2 aria-live="polite">${NAME.format(first)}</h2><div class="actions">
      <${Button} look="quiet" icon="left" label="Month before" onClick=${() => step(-1)} /><${Button} look="quiet" icon="right" label="Month after" onClick=${() => step(1)} /></div></header>
    <table class="calendar"><thead><tr>${WEEK.map(([short, long]) => html`<th scope="col"><abbr title=${long}>${short}</abbr></th>`)}</tr></thead>
      <tbody>${weeks.map((week) => html`<tr>${Array.from({ length: 7 }, (_, at) => week[at]).map((day) => day ? html`<${Cell} key=${day} day=${day} told=${told} found=${found[day]} least=${least} isToday=${day === today} />` : html`<td></td>`)}</tr>`)}</tbody></table></section>`;
}

function Cell({ day, told, found, least, isToday }) {
  const many = told.counts[day] || 0, has = many > 0 || found;
  const words = [many > 0 && memories(many), found?.logs.length && "a log", found?.entries.length && count(found.entries.length, "diary entry", "diary entries")].filter(Boolean).join(", ");
  const inner = html`<span class="day-number">${Number(day.slice(8))}</span>${many > 0 && html`<span class="day-count">${number(many)}</span>`}
    <span class="day-marks">${found?.entries.length > 0 && html`<${Icon} name="edit" size=${14} />`}${found?.logs.length > 0 && html`<${Icon} name="documents" size=${14} />`}</span>`;
  return html`<td class=${isToday ? "today" : ""}>${has ? html`<${Link} to=${`/days/${day}`} class=${`calendar-day level-of-${levelOf(many, least)}`} aria-label=${`${inWords(day)}: ${words}`} title=${words}>${inner}</${Link}>` : html`<span class="calendar-day" aria-label=${`${inWords(day)}: nothing`}>${inner}</span>`}</td>`;
}

const SIZES = [["records", "Memories"], ["characters", "Characters"], ["tokens", "Tokens"]];

function Growth() {
  const sizes = useData("/sizes"), [what, choose] = useChoice("growth", "records");
  return html`<${Section} title="How it grew"><${Tabs} label="What is counted" value=${what} options=${SIZES} onChange=${choose} />
    <${Loaded} of=${sizes} cards=${1}>${({ days }) => html`<${Growing} days=${days} what=${what} />`}</${Loaded}></${Section}>`;
}

function Growing({ days, what }) {
  const label = SIZES.find(([name]) => name === what)[1], shown = days.filter(({ day }) => isDay(day));
  const points = shown.map((each) => [each.day, each[what]]);
  if (shown.length < 2) return html`<p class="muted">${label}: ${number(shown[0]?.[what] ?? 0)}. A line appears when there are two days to join.</p>`;
  return html`<${Plot} key=${what} label=${label} points=${points} height=${240} />`;
}

// ---- One day.

function Day({ day, told }) {
  const found = useData(`/days/${day}`), all = known(told);
  const before = all.filter((each) => each < day).at(-1), after = all.find((each) => each > day);
  const actions = html`<${Button} look="quiet" icon="left" label=${before ? `The day before that has something: ${inWords(before)}` : "No day before has anything"} disabled=${!before} onClick=${() => go(`/days/${before}`)} />
    <${Button} look="quiet" icon="right" label=${after ? `The next day that has something: ${inWords(after)}` : "No later day has anything"} disabled=${!after} onClick=${() => go(`/days/${after}`)} />
    <${Link} class="button" to=${`/days/${day.slice(0, 7)}`}>All days</${Link}>`;
  return html`<${Page} title=${inWords(day)} actions=${actions} class="one-day"><${Loaded} of=${found}>${(data) => html`<${Told} data=${data} />`}</${Loaded}></${Page}>`;
}

function Told({ data }) {
  const { records, count: many, daily, diary, conversations, day } = data;
  if (!many && !daily.length && !Object.keys(diary).length && !conversations.length) return html`<${Empty} icon="days" title="Nothing on this day">No memory, log, diary entry or conversation is of this day.</${Empty}>`;
  return html`${Object.entries(diary).map(([name, time]) => html`<${Section} key=${name} title=${`Diary, ${time.slice(11, 16)}`}><${Text} name=${name} /></${Section}>`)}
    ${many > 0 && html`<${Section} title=${memories(many)} actions=${html`<${Link} class="button" to=${`/memory?since=${day}&until=${day}&replaced=1`}>Open in Memory</${Link}>`}>
      <${Cards} label="Memories of this day">${records.map((each) => html`<${MemoryCard} key=${each.id} record=${each} />`)}</${Cards}>${many > records.length && html`<p class="muted">The first ${number(records.length)} of ${memories(many)}.</p>`}</${Section}>`}
    ${conversations.length > 0 && html`<${Section} title=${count(conversations.length, "conversation")}><${Cards} label="Conversations of this day">${conversations.map((each) => html`<${Row} key=${each.session} said=${each} />`)}</${Cards}></${Section}>`}
    ${daily.map((name) => html`<${Log} key=${name} name=${name} open=${!many} />`)}`;
}

const Text = ({ name }) => html`<${Loaded} of=${useData(`/documents/${named(name)}`, {}, { on: ({ documents }) => documents.includes(name) })}>${({ text }) => html`<${Markdown} text=${text} class="paper" />`}</${Loaded}>`;

// The log says again what the memories say, as a document: it is opened by who wants to read it so.
function Log({ name, open }) {
  const [shown, show] = useState(open);
  return html`<${Section} title="Log" actions=${html`<${Link} class="button" to=${documentAddress(name)}>Open the document</${Link}>`}>
    ${shown ? html`<${Text} name=${name} />` : html`<${Button} icon="documents" onClick=${() => show(true)}>Read the log here</${Button}>`}</${Section}>`;
}
