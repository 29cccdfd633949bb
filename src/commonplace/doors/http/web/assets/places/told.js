// Told: what each session was told of memory, when, why and at how many tokens; and what that cost on each day.

import { post } from "/assets/api.js";
import { Plot } from "/assets/chart.js";
import { useAction, useData } from "/assets/data.js";
import { Link, memoryAddress } from "/assets/router.js";
import { Badge, Button, Card, Cards, Empty, Loaded, Meta, More, Page, Section, toast, When, Wrong } from "/assets/ui.js";
import { html, useState } from "/assets/vendor.js";
import { count, memories, number, upper } from "/assets/words.js";

export const sheet = "/assets/places/told.css";

const AT_ONCE = 50;
const EVENTS = { start: "At the start", prompt: "Beside a prompt", tool: "Before a tool", brief: "When it asked", lost: "Its context was compacted or cleared: it knows none of the above" };
const toldAddress = (session) => `/told/${encodeURIComponent(session)}`;

export default function Told({ rest }) {
  return rest.length ? html`<${OfSession} key=${rest.join("/")} session=${rest.join("/")} />` : html`<${Sessions} />`;
}

function Sessions() {
  const [limit, more] = useState(AT_ONCE), told = useData("/told", { limit });
  const [pause, { busy, error }] = useAction(async () => { await post("/pause", {}); toast("Memory is paused."); dispatchEvent(new Event("paused")); });
  const actions = html`<${Button} busy=${busy} onClick=${pause}>Pause memory</${Button}>`;
  return html`<${Page} title="Told" lead="What your agents were told of memory, each thing once a session." actions=${actions}><${Wrong} error=${error} />
    <${Loaded} of=${told} cards=${4}>${({ sessions, count: all, tokens, costs }) => all === 0 ? html`<${Empty} icon="agents" title="Nothing was told yet">Connected clients are told memory at the start of a session and beside prompts. What they were told appears here.</${Empty}>` : html`
      <${Section} title="Tokens of each day"><p class="figures"><strong>${number(tokens)}</strong> <span class="muted">tokens in ${count(all, "session")}</span></p><${Plot} label="Tokens told" points=${costs} each /></${Section}>
      <${Section} title="Sessions"><${Cards} label="Sessions">${sessions.map((each) => html`<${Card} key=${each.session}>
        <${Link} class="told-name" to=${toldAddress(each.session)}>${each.session}</${Link}>
        <${Meta}><${When} at=${each.last} exact />${each.client && html`<span>${each.client}</span>`}<span>${memories(each.memories)}</span><span class="numbers">${number(each.tokens)} tokens</span></${Meta}></${Card}>`)}</${Cards}>
        ${all > sessions.length && html`<${More} left=${Math.min(AT_ONCE, all - sessions.length)} one="older ones" onClick=${() => more(Math.min(500, limit + AT_ONCE))} />`}</${Section}>`}</${Loaded}></${Page}>`;
}

function OfSession({ session }) {
  const told = useData("/told/session", { session });
  const actions = html`<${Link} class="button" to="/told">All sessions</${Link}><${Link} class="button" to=${`/conversations/${encodeURIComponent(session)}`}>Its conversation</${Link}>`;
  const lead = told.data ? `${number(told.data.tellings.reduce((sum, each) => sum + each.tokens, 0))} tokens in all.` : "";
  return html`<${Page} title="Told" heading=${session} lead=${lead} actions=${actions}>
    <${Loaded} of=${told} cards=${4}>${({ tellings }) => html`<ol class="tellings" aria-label="What it was told">${tellings.map((each, at) => html`<${Moment} key=${at} told=${each} />`)}</ol>`}</${Loaded}></${Page}>`;
}

function Moment({ told }) {
  return html`<li class="telling"><header><h2>${EVENTS[told.event] || upper(told.event)}</h2><${Meta}><${When} at=${told.at} exact />${told.aside && html`<span>a subagent</span>`}${told.tokens > 0 && html`<span class="numbers">${number(told.tokens)} tokens</span>`}</${Meta}></header>
    ${told.lines.length > 0 && html`<ol>${told.lines.map((line, at) => html`<${Line} key=${at} line=${line} />`)}</ol>`}</li>`;
}

const GONE = { forgotten: "Forgotten since", secret: "Secret", "no memory": "" };

function Line({ line }) {
  const text = line.text ? html`<${Link} to=${memoryAddress(line.id)} dir="auto">${line.text}</${Link}>` : line.gone === "no memory" ? html`<span class="muted">${upper(line.why)}</span>` : html`<${Badge}>${GONE[line.gone] || line.gone}</${Badge}>`;
  return html`<li class="told-line"><span class="told-text">${text}${line.gone !== "no memory" && html`<span class="muted told-why">${upper(line.why)}</span>`}</span><span class="numbers muted">${number(line.tokens)}</span></li>`;
}
