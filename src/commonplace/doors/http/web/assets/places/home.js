// Home: remember something, see what is new and who wrote it, what waits, and whether all is well.

import { useChoice, useData } from "/assets/data.js";
import { FirstRun, lacks } from "/assets/places/first-run.js";
import { Icon } from "/assets/icons.js";
import { Remember } from "/assets/remember.js";
import { documentAddress, Link, memoryAddress } from "/assets/router.js";
import { plainly } from "/assets/text.js";
import { Badge, Banner, Card, Cards, Loaded, Meta, Page, Section, Skeleton, When, Who } from "/assets/ui.js";
import { html, useEffect, useState } from "/assets/vendor.js";
import { count, full, memories, moment } from "/assets/words.js";

export const sheet = "/assets/places/home.css";

const TODAY = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long" });

export default function Home() {
  const start = useData("/start"), clients = useData("/clients", {}, { on: false });
  const isNew = start.data && clients.data && lacks(start.data, clients.data.clients).memory;
  return html`<${Page} title="Home" heading=${html`<span class="hidden">Home, </span>${TODAY.format(new Date())}`} class="home">
    ${start.loading ? html`<${Skeleton} cards=${3} />` : isNew ? html`<${FirstRun} start=${start} clients=${clients} />` : html`<${Waiting} /><div class="columns">
      <div><${Remember} /><${News} /></div>
      <aside aria-label="How things are"><${Health} start=${start.data} /><${Clients} of=${clients} /><${Ways} /></aside>
    </div>`}
  </${Page}>`;
}

// ---- What is new.

const VISIT = 30 * 60 * 1000;

// When the visit before this one was: visits are half an hour apart.
function useLastVisit() {
  const [visit, set] = useChoice(`visit:${new URLSearchParams(location.search).get("vault") || ""}`, { at: 0, before: 0 });
  const [last] = useState(() => (Date.now() - visit.at > VISIT ? visit.at : visit.before));
  useEffect(() => { set({ at: Date.now(), before: last }); }, []);
  return last;
}

const DEEDS = { remembered: "", changed: "changed", removed: "removed", "taken-back": "took back" };
const isNews = (change) => change.deed in DEEDS && change.pieces.length > 0;
const SHOWN = 8;

function News() {
  const last = useLastVisit(), activity = useData("/activity", { limit: 40 });
  return html`<${Section} title=${last ? "New since your last visit" : "Lately"} actions=${html`<${Link} to="/activity">All activity</${Link}>`}>
    <${Loaded} of=${activity} cards=${4} lines=${2}>${({ changes }) => html`<${NewsList} changes=${changes.filter(isNews)} last=${last} />`}</${Loaded}></${Section}>`;
}

function NewsList({ changes, last }) {
  const fresh = changes.filter((each) => Date.parse(each.at) > last);
  const shown = last && fresh.length ? fresh : changes;
  if (!changes.length) return html`<p class="muted">Nothing was written yet.</p>`;
  return html`${last > 0 && html`<p class="muted">${fresh.length ? byWhom(fresh) : html`Nothing since ${html`<time title=${full(new Date(last))}>${moment(new Date(last))}</time>`}. The latest before:`}</p>`}
    <${Cards} label="What is new">${shown.slice(0, SHOWN).map((each) => html`<${Change} key=${each.position} change=${each} />`)}</${Cards}>
    ${shown.length > SHOWN && html`<p class="all"><${Link} to="/activity">${count(shown.length - SHOWN, "more change", "more changes")}</${Link}></p>`}`;
}

// Who wrote how much: “12 by Claude Code, 3 by you”.
function byWhom(changes) {
  const many = new Map();
  for (const each of changes) {
    const name = each.who === "you" ? "you" : each.who === "editor" ? "you in an editor" : each.client || "the agent";
    many.set(name, (many.get(name) || 0) + each.pieces.length + each.more);
  }
  return `${[...many].map(([name, times]) => `${memories(times)} by ${name}`).join(", ")}.`;
}

function Change({ change }) {
  const [first] = change.pieces, more = change.pieces.length - 1 + change.more;
  const text = plainly(first.after || first.before);
  const gone = change.deed === "removed" || (!first.after && first.before);
  return html`<${Card} id=${String(change.position)}><p class=${gone ? "news-text gone" : "news-text"} dir="auto">${first.id && !gone ? html`<${Link} to=${memoryAddress(first.id)}>${text}</${Link}>` : text}</p>
    <${Meta}><${Who} by=${change} />${DEEDS[change.deed] && html`<span>${DEEDS[change.deed]}</span>`}<${When} at=${change.at} exact />${more > 0 && html`<${Link} to="/activity">and ${count(more, "more", "more")}</${Link}>`}</${Meta}></${Card}>`;
}

// ---- Beside it: what waits, whether all is well, who is connected.

function Waiting() {
  const { data } = useData("/review");
  const waiting = data?.waiting?.length || 0;
  if (!waiting) return null;
  return html`<${Banner} icon="review" actions=${html`<${Link} class="button" to="/review">Review</${Link}>`}><strong>${count(waiting, "memory waits", "memories wait")} for your yes or no.</strong></${Banner}>`;
}

function Health({ start }) {
  const status = useData("/status"), counts = useData("/counts"), findings = useData("/findings", { limit: 1 }, { on: false }), pauses = useData("/pauses");
  if (!status.data || !counts.data) return html`<${Skeleton} lines=${4} />`;
  const { troubles } = status.data, found = (findings.data?.groups || []).filter(({ group }) => group !== "quarantined").reduce((sum, each) => sum + each.count, 0);
  const isWell = troubles.length === 0 && findings.data && found === 0 && pauses.data?.pauses.length === 0;
  return html`<${Section} title="This memory" class="first"><ul class="facts">
    <li><${Icon} name="memory" /><span><${Link} to="/memory">${memories(counts.data.memories)}</${Link}> in ${count(status.data.documents, "document")}</span></li>
    ${isWell && html`<li><${Icon} name="check" class="good" /><span>Everything is in order.</span></li>`}${troubles.map((each) => html`<li><${Icon} name="warn" class="warn" /><span dir="auto">${each}</span></li>`)}
    ${found > 0 && html`<li><${Icon} name="info" /><span><${Link} to="/upkeep">${count(found, "finding")} in Upkeep</${Link}></span></li>`}
    ${status.data["read only"] && html`<li><${Icon} name="info" /><span>This vault can only be read.</span></li>`}
    ${start.document && !start.told && html`<li><${Icon} name="person" /><span>Agents do not know who you are: <${Link} to=${documentAddress(start.document)}>tell them</${Link}>.</span></li>`}
    <li><${Icon} name="upkeep" /><span><${Link} to="/upkeep">Upkeep</${Link}>: ${status.data.upkeep === "never" ? "never ran" : html`last ran <${When} at=${status.data.upkeep} exact />`}</span></li></ul></${Section}>`;
}

function Clients({ of }) {
  return html`<${Section} title="Clients" actions=${html`<${Link} to="/settings">Connect</${Link}>`}><${Loaded} of=${of} cards=${0} lines=${2}>${({ clients }) => {
    const shown = clients.filter((each) => each.connected || each.installed);
    if (!shown.length) return html`<p class="muted">No client is connected. <${Link} to="/settings">Settings</${Link}> shows how.</p>`;
    return html`<ul class="facts">${shown.map((each) => html`<li><${Icon} name="plug" class=${each.connected ? "good" : ""} /><span>${each.title}</span><${Badge} look=${each.connected ? "good" : ""}>${each.connected ? "connected" : each.elsewhere ? "another vault" : "not connected"}</${Badge}></li>`)}</ul>`;
  }}</${Loaded}></${Section}>`;
}

const WAYS = [["agents", "agents", "What agents see"], ["days", "days", "Days"], ["documents", "documents", "Documents"], ["conversations", "conversations", "Conversations"], ["map", "map", "Map"]];
const Ways = () => html`<${Section} title="Look around"><ul class="ways">${WAYS.map(([name, icon, title]) => html`<li><${Link} to=${`/${name}`}><${Icon} name=${icon} />${title}</${Link}></li>`)}</ul></${Section}>`;
