// What agents see: the text that an agent is given, what each part costs, and why each line is there.

import { useData, useSettled } from "/assets/data.js";
import { Icon } from "/assets/icons.js";
import { documentAddress, Link, memoryAddress, useQuery } from "/assets/router.js";
import { Badge, Bars, Button, Dot, Empty, Input, Loaded, Page, Select, Tabs, toast } from "/assets/ui.js";
import { html, useState } from "/assets/vendor.js";
import { count, number, upper } from "/assets/words.js";

export const sheet = "/assets/places/agents.css";

const WHOSE = [["session", "when a session starts"], ["conversation", "in a conversation"], ["heartbeat", "at a heartbeat"]];
const LOOKS = ["sections", "text", "left-out"];

export default function Agents() {
  const [query, setQuery] = useQuery();
  const message = useSettled(query.message, 400), agent = WHOSE.some(([name]) => name === query.agent) ? query.agent : "session";
  const context = useData("/context", { message, agent: agent === "session" ? "" : agent });
  const look = LOOKS.includes(query.look) ? query.look : "sections";
  return html`<${Page} title="What agents see" class="agents" lead="The text that an agent is given before it answers, as it is now.">
    <div class="asking"><${Select} label="An agent is given this" value=${agent} options=${WHOSE} onChange=${(next) => setQuery({ agent: next === "session" ? "" : next })} />
      <${Input} label="For this message" value=${query.message} onInput=${(next) => setQuery({ message: next })} placeholder="What do I cook tonight?" maxlength="4000" /></div>
    <${Loaded} of=${context} cards=${4}>${(told) => told.lines.length === 0 && !told.text ? html`<${Empty} icon="agents" title="Nothing yet">The memory is empty: agents are told nothing. What is remembered appears here.</${Empty}>` : html`
      <${Cost} told=${told} />
      <${Tabs} label="How to look at it" value=${look} onChange=${(next) => setQuery({ look: next === "sections" ? "" : next })}
        options=${[["sections", "Line by line"], ["text", "As it is sent"], ["left-out", "Left out", number(told.left_out.length + told.not_shown)]]} />
      ${look === "sections" && html`<${Sections} told=${told} />`}${look === "text" && html`<${Whole} text=${told.text} />`}${look === "left-out" && html`<${LeftOut} told=${told} />`}`}</${Loaded}>
  </${Page}>`;
}

// How the sections are called.
const TITLES = {
  identity: "Who the agent is", user: "Who you are", pinned: "Pinned", rules: "Your own rules", learned: "Instructions and corrections", preferences: "Preferences", summaries: "Summaries", memory: "Memory", today: "Today",
  yesterday: "Yesterday", relevant: "What fits the message", experiences: "Past experiences", status: "The status board", history: "The conversation so far", trigger: "The message itself",
  system: "The system prompt", waiting: "What waits for approval", closing: "How to use the memory", unread: "What cannot be read",
};
const titleOf = (name) => TITLES[name] || upper(name.replaceAll(/[-_]/g, " "));
const toneOf = (sections, name) => sections.findIndex((each) => each.name === name);

function Cost({ told }) {
  const { sections } = told;
  return html`<div class="cost"><p class="cost-sum"><strong>${number(told.tokens)}</strong> tokens, about ${number(told.characters)} characters in ${count(told.lines.length, "line")}</p>
    <${Bars} parts=${sections.map((each, at) => ({ name: `${titleOf(each.name)}: ${number(each.tokens)} tokens`, value: each.tokens, tone: at + 1 }))} />
    <ul class="cost-parts">${sections.map((each, at) => html`<li><a href=${`#section-${each.name}`}><${Dot} tone=${at + 1} /><span>${titleOf(each.name)}</span></a><span class="count">${number(each.tokens)} tokens, ${count(each.lines, "line")}</span></li>`)}</ul></div>`;
}

const bySection = (lines) => {
  const found = new Map();
  for (const line of lines) found.set(line.section, [...(found.get(line.section) || []), line]);
  return found;
};

const Sections = ({ told }) => html`<div class="sections">${[...bySection(told.lines)].map(([name, lines]) => html`<${Part} key=${name} name=${name} lines=${lines} tone=${toneOf(told.sections, name) + 1} />`)}</div>`;

const FIRST = 12, MORE = 100;

// One section: its first lines, and the rest when they are asked for. A reason that several lines share is said once.
function Part({ name, lines, tone, why = (line) => line.reason }) {
  const [many, set] = useState(FIRST);
  const shown = lines.slice(0, many), left = lines.length - shown.length;
  const tokens = lines.reduce((sum, line) => sum + line.tokens, 0);
  return html`<section class="part" id=${`section-${name}`}><header><h2><${Dot} tone=${tone} />${titleOf(name)}</h2><span class="count">${count(lines.length, "line")}${tokens > 0 && `, ${number(tokens)} tokens`}</span></header>
    <ol>${shown.map((line, at) => html`${why(line) && why(line) !== why(shown[at - 1] || {}) && html`<li class="reason"><${Icon} name="info" size=${16} />${because(why(line))}</li>`}<${Line} line=${line} />`)}</ol>
    ${left > 0 && html`<${Button} look="quiet" icon="down" onClick=${() => set(many + MORE)}>${`Show ${number(Math.min(left, MORE))} more of ${number(left)}`}</${Button}>`}</section>`;
}

const because = (reason) => upper(reason.endsWith(".") ? reason : `${reason}.`);
const aged = (days) => (days === null || days === undefined ? "" : days === 0 ? "today" : days === 1 ? "yesterday" : `${number(days)} days old`);

// A line as it is told; what it is of a memory leads there.
function Line({ line }) {
  const text = line.text.replace(/^\s*[-*] /, "").replace(/^\d{4}-\d\d-\d\d (\w+): /, "$1: ");
  const to = line.record_id ? memoryAddress(line.record_id) : line.document ? documentAddress(line.document) : "";
  return html`<li class="line"><span class="line-text" dir="auto">${text || " "}</span><span class="line-meta">${aged(line.age_days) && html`<span>${aged(line.age_days)}</span>`}${line.tokens > 0 && html`<span class="numbers">${number(line.tokens)}</span>`}
    ${to && html`<${Link} to=${to} aria-label=${`Open: ${text.slice(0, 60)}`}><${Icon} name="right" size=${16} /></${Link}>`}</span></li>`;
}

const LINES = 80;

function Whole({ text }) {
  const [all, set] = useState(false), lines = text.split("\n"), left = lines.length - LINES;
  const copy = () => navigator.clipboard.writeText(text).then(() => toast("Copied."), () => toast("The browser did not let it be copied.", { wrong: true }));
  return html`<div class="whole"><div class="actions"><${Button} icon="copy" onClick=${copy}>Copy all of it</${Button}></div>
    <pre class="text" tabindex="0" aria-label="The text" dir="auto">${all || left <= 0 ? text : lines.slice(0, LINES).join("\n")}</pre>
    ${!all && left > 0 && html`<${Button} look="quiet" icon="down" onClick=${() => set(true)}>${`Show ${count(left, "more line")}`}</${Button}>`}</div>`;
}

function LeftOut({ told }) {
  if (!told.left_out.length && !told.not_shown) return html`<${Empty} icon="check" title="Nothing is left out">Everything that could be told is told.</${Empty}>`;
  return html`<p class="muted">What an agent is not given, and why. It finds these by searching.</p>
    ${told.not_shown > 0 && html`<p><${Badge} look="warn">${number(told.not_shown)}</${Badge}> ${told.not_shown === 1 ? "memory has" : "memories have"} no room at all, and are not listed here.</p>`}
    <div class="sections">${[...bySection(told.left_out)].map(([name, lines]) => html`<${Part} key=${name} name=${name} lines=${lines} tone=${Math.max(0, toneOf(told.sections, name)) + 1} why=${(line) => line.why} />`)}</div>`;
}
