// A page for one memory: its text, what is known of it, its versions, what it replaced and what replaced it.

import { useData } from "/assets/data.js";
import { Account } from "/assets/account.js";
import { dayOf, EditMemory, Holding, isReplaced, menuOf, peopleOf, plainTags, projectsOf, removeMemories, takeBack, Verdicts, verdictsOf } from "/assets/memories.js";
import { documentAddress, go, Link, memoryAddress, setQuery, useQuery } from "/assets/router.js";
import { Diff, Markdown } from "/assets/text.js";
import { post, put } from "/assets/api.js";
import { ask, Badge, Banner, Button, Empty, Loaded, Menu, Page, Section, toast, toastWrong, When, Who } from "/assets/ui.js";
import { html, useState } from "/assets/vendor.js";
import { count, full, number, tone, toned, upper } from "/assets/words.js";

export function OneMemory({ id }) {
  const told = useData(`/records/${encodeURIComponent(id)}`);
  if (told.error?.status === 404) return html`<${Gone} id=${id} />`;
  return html`<${Loaded} of=${told}>${(record) => html`<${Whole} record=${record} refresh=${told.refresh} />`}</${Loaded}>`;
}

// It was removed, or forgotten: the trash knows which.
function Gone({ id }) {
  const trash = useData("/trash", { limit: 500 });
  return html`<${Page} title="This memory is gone"><${Loaded} of=${trash}>${({ removed }) => {
    const found = removed.find((each) => each.id === id);
    return found ? html`<${Banner} look="warn" actions=${html`<${Button} onClick=${() => restore(found)}>Bring it back</${Button}>`}>It was removed <${When} at=${found.change.at} exact /> and lies in the trash.</${Banner}><div class="sheet"><${Markdown} text=${found.text} /></div>`
      : html`<${Empty} icon="memory" title="There is no such memory" actions=${html`<${Link} class="button primary" to="/memory">All memories</${Link}>`}>It may have been forgotten for good, or the address is mistyped.</${Empty}>`;
  }}</${Loaded}></${Page}>`;
}
const restore = (found) => post("/trash/restore", { ids: [found.id] }).then(({ change }) => toast("Brought back.", { action: takeBack(change) }), toastWrong);

function Whole({ record, refresh }) {
  const [query] = useQuery(), editing = query.edit === "1", edit = (on) => setQuery({ edit: on ? "1" : "" });
  const gone = () => go("/memory");
  const remove = async () => { if (await removeMemories([record.id])) gone(); };
  const actions = !editing && html`<${Button} icon="edit" onClick=${() => edit(true)}>Edit</${Button}><${Button} icon="trash" onClick=${remove}>Remove</${Button}>
    <${Menu} label="More about this memory" look="" items=${menuOf(record, { opened: true, onGone: gone }).filter((item) => item && item.label !== "Remove")} />`;
  return html`<${Page} class="one" title="A memory" heading=${html`<${Title} record=${record} />`} actions=${actions}>
    ${isReplaced(record) && html`<${Replaced} record=${record} />`}
    <div class="columns"><div class="stack">
      ${editing ? html`<${EditMemory} record=${record} onDone=${() => { edit(false); refresh(); }} />` : html`<article class="paper"><${Markdown} text=${record.text} /></article><${Verdicts} record=${record} edit=${() => edit(true)} />`}
      <${Chain} record=${record} /><${Versions} record=${record} /></div>
      <div class="stack"><${Facts} record=${record} /><${Grounds} record=${record} /><${Evidence} record=${record} refresh=${refresh} /></div></div></${Page}>`;
}

const Title = ({ record }) => html`<span class="one-title"><span class="dot" style=${{ background: toned(tone(record.kind)) }} aria-hidden="true"></span>${upper(record.kind)}${record.pinned && html` <${Badge} look="accent">pinned</${Badge}>`} <${Holding} record=${record} /></span>`;

function Replaced({ record }) {
  const newer = record.chain.filter((each) => record.superseded_by.includes(each.id));
  return html`<${Banner} look="warn">A newer memory replaced this one. Agents are told the newer one. ${newer.map((each) => html`<${Link} key=${each.id} to=${memoryAddress(each.id)}>Open it</${Link}>`)}</${Banner}>`;
}

// ---- What is known of it, in words.

const Fact = ({ name, children }) => html`<div><dt>${name}</dt><dd>${children}</dd></div>`;
const SENSITIVITY = { public: "Anybody may see it", personal: "", operational: "For the work of agents", "private-user": "Private", sensitive: "Sensitive", secret: "Secret: shown to you alone" };

function Facts({ record }) {
  const people = peopleOf(record), projects = projectsOf(record), tags = plainTags(record.tags);
  const links = (names, filter) => names.map((name, at) => html`${at > 0 && ", "}<${Link} to=${`/memory?${filter}=${encodeURIComponent(name)}`}><span dir="auto">${name}</span></${Link}>`);
  return html`<section class="sheet" aria-label="About this memory"><dl class="about">
    <${Fact} name="Remembered"><time datetime=${record.timestamp}>${full(record.timestamp) || "At no known time"}</time></${Fact}>
    <${Fact} name="By"><${Who} by=${record} />${record.trust === "none" && html` <${Badge} look="warn">not trusted</${Badge}>`}</${Fact}>
    ${record.session && html`<${Fact} name="In the conversation"><${Link} to=${`/conversations/${encodeURIComponent(record.session)}`}><span dir="auto">${record.session}</span></${Link}></${Fact}>`}
    ${tags.length > 0 && html`<${Fact} name="Tags">${links(tags, "tag")}</${Fact}>`}
    ${projects.length > 0 && html`<${Fact} name=${projects.length > 1 ? "Projects" : "Project"}>${links(projects, "project")}</${Fact}>`}
    ${people.length > 0 && html`<${Fact} name=${people.length > 1 ? "People" : "Person"}>${links(people, "person")}</${Fact}>`}
    <${Fact} name="Stands in">${record.places.length ? html`<ul>${record.places.map(({ document, line }) => html`<li><${Link} to=${documentAddress(document, line)}>${document}, line ${number(line)}</${Link}></li>`)}</ul>` : "No document"}</${Fact}>
    <${Again} seen=${record.seen || []} />
    ${verdictsOf(record) && html`<${Fact} name="Said of it">${upper(verdictsOf(record))}</${Fact}>`}
    ${record.pinned && html`<${Fact} name="Pinned"><${When} at=${record.pinned} exact /></${Fact}>`}
    ${record.when?.length > 0 && html`<${Fact} name="Told at"><ul>${record.when.map((moment) => html`<li key=${moment}><code dir="auto">${moment}</code></li>`)}</ul>${record.must && html`<p class="muted small">It denies the first such call of a session.</p>`}</${Fact}>`}
    ${record.valid_from && html`<${Fact} name="Holds from">${dayOf(record.valid_from)}</${Fact}>`}${record.valid_to && html`<${Fact} name="Holds until">${dayOf(record.valid_to)}</${Fact}>`}
    ${SENSITIVITY[record.sensitivity] && html`<${Fact} name="Who may see it">${SENSITIVITY[record.sensitivity]}</${Fact}>`}
    ${record.confidence !== undefined && record.confidence < 1 && html`<${Fact} name="How sure it is">${Math.round(record.confidence * 100)} of 100</${Fact}>`}
    ${record.sources?.length > 0 && html`<${Fact} name="Sums up">${count(record.sources.length, "older memory", "older memories")}</${Fact}>`}
    <${Fact} name="Id"><code>${record.id}</code></${Fact}></dl></section>`;
}

// When it was said to the memory again; which prompts told it is not kept yet.
function Again({ seen }) {
  if (!seen.length) return null;
  return html`<${Fact} name="Said again"><ul>${seen.map((each) => { const [at, ...session] = each.split(" "); return html`<li><${When} at=${at} exact />${session.length > 0 && html`, in <${Link} to=${`/conversations/${encodeURIComponent(session.join(" "))}`}>${session.join(" ")}</${Link}>`}</li>`; })}</ul></${Fact}>`;
}

function Grounds({ record }) {
  const shown = Account({ account: record.account, session: record.session });
  return shown && html`<${Section} title="What it rests on">${shown}</${Section}>`;
}

// ---- The files and documents that it rests on.

const STATES = { fresh: "as it was", moved: "moved", changed: "changed", gone: "gone", unchecked: "not checked on this machine" };

function Evidence({ record, refresh }) {
  if (!record.cited?.length) return null;
  const change = (body, said) => post(`/records/${encodeURIComponent(record.id)}/citations`, body).then((done) => { toast(said, done.change !== null ? { action: takeBack(done.change) } : {}); refresh(); }, toastWrong);
  const old = record.cited.filter(({ state }) => state === "moved" || state === "changed").map(({ place }) => place);
  return html`<${Section} title="The files it rests on"><ul class="chain">${record.cited.map((each) => html`<li key=${each.place}><p><code dir="auto">${each.place}</code> <${Badge} look=${["changed", "gone"].includes(each.state) ? "warn" : ""}>${STATES[each.state]}</${Badge}></p>
    <p class="muted small">${upper([each.now && `now at ${each.now}`, each.repository && `in ${each.repository}`, each.commit && `commit ${each.commit}`, each.day && `cited on ${each.day}`].filter(Boolean).join(", "))}</p>
    <${Button} small look="quiet" label=${`Drop ${each.place}`} onClick=${() => change({ do: "drop", evidence: [each.place] }, "It rests on that no longer.")}>Drop</${Button}></li>`)}</ul>
    ${old.length > 0 && html`<p class="row"><${Button} small onClick=${() => change({ do: "renew", evidence: old }, "It rests on the lines as they are now.")}>Renew</${Button}></p>`}</${Section}>`;
}

// ---- What replaced what.

function Chain({ record }) {
  if (record.chain.length < 2) return null;
  return html`<${Section} title="What replaced what"><ol class="chain">${record.chain.map((each, at) => html`<li key=${each.id} aria-current=${each.id === record.id ? "true" : undefined}>
    <p dir="auto">${each.id === record.id ? each.text : html`<${Link} to=${memoryAddress(each.id)}>${each.text}</${Link}>`}</p><p class="muted small"><${When} at=${each.timestamp} />${at === record.chain.length - 1 ? ", as it is now" : ""}${each.id === record.id ? ", this one" : ""}</p></li>`)}</ol></${Section}>`;
}

// ---- Versions: each change of the memory, with what it changed.

const DEEDS = {
  add: "Remembered", replace: "Changed", edited: "Changed in an editor", strike: "Removed", undo: "Taken back", redo: "Made again", restore: "Brought back",
  "put-back": "Put back", approve: "Approved", trim: "Moved out of the main document", compact: "Summed up", refresh: "Said again", mark: "Marked as replaced", useful: "Called useful", wrong: "Called wrong", pin: "Pinned", unpin: "Pin taken off", seen: "First seen in a document",
};
// What else a change may have been of, beside the text, the kind and the tags; and the deeds whose word does not say it.
const SAY_LITTLE = ["replace", "edited", "undo", "redo", "restore", "put-back"];
const BESIDES = [["what it rests on", ["citations"]], ["the pin", ["pinned"]], ["what was said of it", ["useful", "wrong"]], ["when it is told", ["when", "must"]], ["when it holds", ["valid_from", "valid_to"]], ["said again", ["seen"]], ["who may see it", ["sensitivity"]]];
const told = ({ record }) => (record ? `${record.kind}\n${(record.tags || []).join(", ")}\n${record.text}` : "");

function Versions({ record }) {
  const found = useData(`/records/${encodeURIComponent(record.id)}/versions`);
  return html`<${Section} title="Versions"><${Loaded} of=${found} cards=${2}>${({ versions }) => (versions.length ? html`<ol class="versions" reversed>
    ${versions.map((each, at) => html`<${Version} key=${each.change.position} each=${each} before=${versions[at - 1]} isNow=${at === versions.length - 1} record=${record} />`).reverse()}</ol>`
    : html`<p class="muted">It was written into the document by hand, and has not changed since.</p>`)}</${Loaded}></${Section}>`;
}

function Version({ each, before, isNow, record }) {
  const [open, set] = useState(false), { change, record: now } = each;
  const was = before?.record, differs = was && now && told(each) !== told(before), says = told(each) === told({ record });
  const besides = was && now && SAY_LITTLE.includes(change.op) ? BESIDES.filter(([, names]) => names.some((name) => String(was[name] ?? "") !== String(now[name] ?? ""))).map(([title]) => title) : [];
  return html`<li><div class="version"><div><strong>${DEEDS[change.op] || upper(change.op)}${besides.length > 0 && `: ${besides.join(", ")}`}</strong> <span class="muted">${change.op !== "edited" && html`<${Who} by=${change} icon=${false} />, `}<${When} at=${change.at} exact /></span>${isNow && now && html` <${Badge}>as it is now</${Badge}>`}</div>
      ${now && !isNow && !says && html`<${Button} small look="quiet" icon="undo" onClick=${() => back(record, now)}>Bring this version back</${Button}>`}</div>
    ${differs && now.text !== was.text && html`<${Diff} before=${was.text} after=${now.text} />`}
    ${differs && html`<${Otherwise} was=${was} now=${now} />`}
    ${!was && now && now.text !== record.text && html`<p class="prose" dir="auto">${open || now.text.length < 240 ? now.text : `${now.text.slice(0, 240)}… `}${now.text.length >= 240 && html`<button type="button" class="linkish" onClick=${() => set(!open)}>${open ? "Show less" : "Show all of it"}</button>`}</p>`}</li>`;
}

function Otherwise({ was, now }) {
  const came = now.tags.filter((tag) => !was.tags.includes(tag)), went = was.tags.filter((tag) => !now.tags.includes(tag));
  const lines = [was.kind !== now.kind && `Kind: ${was.kind} became ${now.kind}`, came.length && `Tags added: ${came.join(", ")}`, went.length && `Tags taken off: ${went.join(", ")}`].filter(Boolean);
  return lines.length > 0 && html`<p class="muted small" dir="auto">${lines.join(". ")}.</p>`;
}

async function back(record, version) {
  const done = await ask("Bring this version back?", html`<${Diff} before=${record.text} after=${version.text} /><${Otherwise} was=${{ kind: record.kind, tags: record.tags || [] }} now=${version} />`,
    { yes: "Bring it back", run: () => put(`/records/${encodeURIComponent(record.id)}`, { text: version.text, kind: version.kind, tags: version.tags, etag: record.etag }) });
  if (done) toast("It says this again.", { action: takeBack(done.change) });
}
