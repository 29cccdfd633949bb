// Upkeep: what a look through the memory finds, with one decision for many; what is done by itself, and when; size over time.

import { get, post } from "/assets/api.js";
import { Plot } from "/assets/chart.js";
import { useAction, useChoice, useData } from "/assets/data.js";
import { Schedule as Timed, setting, useOptions } from "/assets/options.js";
import { documentAddress, Link, memoryAddress, useQuery } from "/assets/router.js";
import { Told } from "/assets/text.js";
import { ask, Badge, Button, Card, Cards, Empty, Loaded, Meta, More, Page, Section, Table, Tabs, toast, toastWrong, When, Who } from "/assets/ui.js";
import { html, useEffect, useState } from "/assets/vendor.js";
import { count, dayOf, memories, number } from "/assets/words.js";

export const sheet = "/assets/places/upkeep.css";

/* How each group of findings is called, what it means, and what the one decision for all of it says. */
const GROUPS = {
  problem: { title: "Lines that cannot be read", lead: "Something in a document is not as it should be. Open it and mend the line." },
  "index-drift": { title: "The search is behind", lead: "Search does not know what these documents say by now.", mend: "Look through them again" },
  disagreement: { title: "Memories that disagree", lead: "Both cannot be true. The more trusted, or the newer, is kept.", mend: "Keep the suggested ones" },
  contradiction: { title: "Several texts of one session", lead: "One session says different things of the same category.", mend: "Keep the newest ones" },
  duplicate: { title: "Said twice", lead: "The same words stand in more than one memory. One of each is kept.", mend: "Keep one of each" },
  "near-duplicate": { title: "Nearly the same", lead: "Almost the same words. The best of each is kept.", mend: "Keep the best of each" },
  stale: { title: "Past their date", lead: "They say themselves until when they are true, and that day is over.", mend: "Remove all" },
  old: { title: "Older than four months", lead: "Age alone is no reason to remove anything. Say which are still true, and they stay away from here.", leave: "All are still true" },
  "broken-chain": { title: "Replacements that lead nowhere", lead: "A memory replaces one that never was, or two replace each other.", mend: "Let them stand by themselves" },
  evidence: { title: "Evidence that changed", lead: "They rest on a file or a document that is not as it was. Renew one that still says what is so; drop what it rests on where that is gone." },
  "orphan-summary": { title: "Summaries without their sources", lead: "What they summed up is gone, so they cannot be unfolded.", mend: "Remove all" },
  untidy: { title: "Could be tidier", lead: "Lines stand outside of their sections, or memories stand twice. Tidying sorts them; your own headings and prose stay as they are." },
  quarantined: { title: "Waiting for review", lead: "Agents are not told them until you decide." },
};
const ORDER = Object.keys(GROUPS).filter((name) => name !== "old").concat("old");
const inOrder = (groups) => groups.toSorted((one, other) => ORDER.indexOf(one.group) - ORDER.indexOf(other.group));
const FIRST = 10;
const named = (group) => GROUPS[group] || { title: group.replaceAll("-", " "), lead: "" };

export default function Upkeep() {
  const [query, setQuery] = useQuery();
  const tab = ["schedule", "size"].includes(query.tab) ? query.tab : "findings";
  const views = { findings: Findings, schedule: Schedule, size: Size };
  return html`<${Page} title="Upkeep" lead="Keeps this memory small and true. Nothing is changed unless you say so, and nearly everything can be undone.">
    <${Tabs} label="Upkeep" value=${tab} onChange=${(next) => setQuery({ tab: next === "findings" ? "" : next, left: "" }, { push: true })} options=${[["findings", "Findings"], ["schedule", "By itself"], ["size", "Size"]]} />
    <${views[tab]} query=${query} setQuery=${setQuery} />
  </${Page}>`;
}

// ---- Findings.

function Findings({ query, setQuery }) {
  const left = query.left === "1";
  // A look through everything: not for each change, but when the person asks or decides.
  const found = useData("/findings", { left }, { on: false });
  return html`<div class="row spread"><p class="muted small grow">${left ? "You chose to leave these as they are. One comes back by itself when one of its memories changes." : ""}</p>
      ${left ? html`<${Button} icon="left" onClick=${() => setQuery({ left: "" }, { push: true })}>Back to the findings</${Button}>` : found.data?.left > 0 && html`<${Button} look="quiet" onClick=${() => setQuery({ left: "1" }, { push: true })}>${`${number(found.data.left)} left as they are`}</${Button}>`}
      <${Button} icon="search" onClick=${found.refresh}>Look again</${Button}></div>
    <${Loaded} of=${found} cards=${4} lines=${3}>${(data) => (data.groups.length ? html`${data.groups.length > 1 && html`<${Contents} groups=${inOrder(data.groups)} />`}${inOrder(data.groups).map((group) => html`<${Group} key=${group.group} group=${group} left=${left} refresh=${found.refresh} />`)}`
      : html`<${Empty} icon="check" title=${left ? "Nothing was left" : "Nothing to mend"}>${left ? "Findings that you leave as they are stand here." : "Nothing disagrees, is said twice or cannot be read."}</${Empty}>`)}</${Loaded}>`;
}

// Where one can jump: a long list hides what is below it.
const Contents = ({ groups }) => html`<nav class="chips" aria-label="Kinds of findings">${groups.map(({ group, count: many }) => html`<button type="button" class="chip" key=${group}
  onClick=${() => { const to = document.getElementById(`group-${group}`); to?.scrollIntoView({ block: "start" }); to?.querySelector(".card")?.focus({ preventScroll: true }); }}>${named(group).title} <span class="count">${number(many)}</span></button>`)}</nav>`;

function Group({ group, left, refresh }) {
  const about = named(group.group), [more, setMore] = useState(null);
  const shown = more || group.findings.slice(0, FIRST);
  const decide = async (decision, { marks = [], keep = "", done }) => {
    try {
      const told = await post("/findings", { group: group.group, decision, marks, keep, ...(marks.length ? {} : { etag: group.etag }) });
      const back = told.position !== null ? () => undo(told.position, refresh) : decision === "leave" ? () => again(group.group, marks.length ? { marks: told.marks } : { etag: group.etag }, refresh) : null;
      toast(done(told), back ? { action: { label: "Undo", run: back } } : {});
    } catch (error) { toastWrong(error); }
    setMore(null);
    await refresh();
  };
  const [all, { busy }] = useAction(async (decision) => {
    if (decision === "mend" && group.deed === "strike" && !(await sure(group, about))) return;
    await decide(decision, { done: ({ ids, count: many }) => (decision === "mend" ? mended(group.deed, ids) : `Left as they are: ${count(many, "finding")}.`) });
  });
  const [rest, { busy: loading }] = useAction(async () => {
    if (group.count <= group.findings.length) { setMore(group.findings); return; }
    const { groups } = await get("/findings", { left, group: group.group, limit: 500 });
    setMore(groups[0]?.findings || []);
  });
  const many = group.count > 1, isReview = group.group === "quarantined";
  return html`<${Section} class="group" id=${`group-${group.group}`} aria-label=${about.title} title=${html`${about.title} <span class="count">${number(group.count)}</span>`}
      actions=${left ? html`<${Button} small busy=${busy} onClick=${() => all("look-again")}>Look at ${many ? "all" : "it"} again</${Button}>`
        : isReview ? html`<${Link} class="button small" to="/review">Open Review</${Link}>`
        : group.group === "untidy" ? html`<${Tidy} refresh=${refresh} />`
        : html`${about.mend && many && group.deed && html`<${Button} small busy=${busy} onClick=${() => all("mend")}>${about.mend}</${Button}>`}
            ${many && html`<${Button} small look=${about.leave ? "" : "quiet"} busy=${busy} onClick=${() => all("leave")}>${about.leave || "Leave all"}</${Button}>`}`}>
    <p class="muted small about">${about.lead}</p>
    ${!isReview && html`<${Cards} label=${about.title}>${shown.map((each) => html`<${Finding} key=${each.mark} finding=${each} group=${group.group} left=${left} decide=${decide} decided=${refresh} />`)}</${Cards}>`}
    ${!isReview && group.count > shown.length && html`<${More} left=${Math.min(500, group.count) - shown.length} busy=${loading} onClick=${rest} />`}
  </${Section}>`;
}

const mended = (deed, ids) => (deed === "strike" ? `Removed ${memories(ids.length)}.` : deed === "rebuild" ? "Looked through everything again." : `Mended ${memories(ids.length)}.`);

const sure = (group, about) => ask(`${about.mend}?`, html`<p>${memories(group.removes)} of ${count(group.count, "finding")} ${group.removes === 1 ? "is" : "are"} taken out of the documents, in one change that one Undo takes back.</p>
  <ul class="goes">${group.findings.flatMap(({ memories: all }) => all.filter(({ goes }) => goes)).slice(0, 8).map(({ id, text }) => html`<li key=${id} dir="auto"><del>${text}</del></li>`)}${group.removes > 8 && html`<li class="muted">and ${number(group.removes - Math.min(8, group.removes))} more</li>`}</ul>`, { yes: about.mend });

async function undo(position, refresh) {
  try { await post("/undo", { position }); toast("Taken back."); } catch (error) { toastWrong(error); }
  await refresh();
}
async function again(group, which, refresh) {
  try { await post("/findings", { group, decision: "look-again", ...which }); } catch (error) { toastWrong(error); }
  await refresh();
}

function Finding({ finding, group, left, decide, decided }) {
  const { mark, memories: told, places, deed } = finding, marks = [mark];
  const [act, { busy }] = useAction((decision, more = {}) => decide(decision, { marks, done: ({ ids }) => (decision === "mend" ? mended(deed, ids) : decision === "leave" ? "Left as it is." : "Shown again."), ...more }));
  const pair = deed === "strike" && told.length > 1, isOld = group === "old";
  const keep = (each) => html`<${Button} small look=${each.goes ? "quiet" : ""} busy=${busy} title="Keep this one and remove the rest" onClick=${() => act("mend", { keep: each.id })}>Keep this</${Button}>`;
  const deeds = left ? html`<${Button} small busy=${busy} onClick=${() => act("look-again")}>Look at it again</${Button}>` : html`
    ${isOld && html`<${Button} small icon="check" busy=${busy} onClick=${() => act("leave")}>Still true</${Button}>`}
    ${deed === "strike" && !pair && html`<${Button} small icon="trash" busy=${busy} onClick=${() => act("mend")}>Remove</${Button}>`}
    ${deed && deed !== "strike" && html`<${Button} small icon="check" busy=${busy} onClick=${() => act("mend")}>${deed === "unlink" ? "Let it stand by itself" : "Look through them again"}</${Button}>`}
    ${group === "evidence" && told.map(({ id }) => html`<${Rests} key=${id} id=${id} isGone=${finding.command.includes(" --drop ")} place=${placeIn(finding.command)} decided=${decided} />`)}
    ${!isOld && group !== "quarantined" && html`<${Button} small look="quiet" busy=${busy} onClick=${() => act("leave")}>${pair ? (told.length === 2 ? "Keep both" : "Keep all") : "Leave it"}</${Button}>`}
    ${!deed && !["untidy", "evidence"].includes(group) && finding.command && html`<code class="small">${finding.command}</code>`}`;
  return html`<${Card} id=${mark} class=${`finding${told.length === 1 ? " single" : ""}`}>
    <div class="grow">${group === "evidence" && html`<p class="muted small" dir="auto">${finding.sentence}</p>`}${told.length ? html`<ul class="told-memories">${told.map((each) => html`<li key=${each.id} class=${!left && deed === "strike" && each.goes ? "goes" : pair ? "stays" : ""}><${One} memory=${each} />${!left && pair && keep(each)}</li>`)}</ul>`
      : html`<p dir="auto">${finding.sentence}</p>`}
    ${places.length > 0 && html`<${Meta}>${places.slice(0, 5).map((place) => html`<${Placed} key=${place} place=${place} />`)}${places.length > 5 && html`<span>and ${places.length - 5} more</span>`}</${Meta}>`}</div>
    <div class="actions">${deeds}</div>
  </${Card}>`;
}

// The place that a command for evidence names, without a shell's quotes.
const placeIn = (command) => command.split(/ --(?:drop|renew) /)[1].replace(/^'(.*)'$/, "$1").replaceAll(`'"'"'`, "'");

// One place that a memory rests on, renewed as it is now or dropped. What is gone cannot be renewed.
function Rests({ id, isGone, place, decided }) {
  const [change, { busy }] = useAction(async (how, said) => {
    try {
      const { change: position } = await post(`/records/${encodeURIComponent(id)}/citations`, { do: how, evidence: [place] });
      toast(said, position === null ? {} : { action: { label: "Undo", run: () => undo(position, decided) } });
    } catch (error) { toastWrong(error); }
    await decided();
  });
  return html`${!isGone && html`<${Button} small icon="check" busy=${busy} onClick=${() => change("renew", "It rests on the lines as they are now.")}>Renew</${Button}>`}
    <${Button} small look=${isGone ? "" : "quiet"} busy=${busy} onClick=${() => change("drop", "It rests on that no longer.")}>Drop</${Button}>`;
}

const One = ({ memory }) => html`<div class="one"><${Told} text=${memory.text} />${memory.timestamp && html`<${Meta}><${Who} by=${memory} /><${When} at=${memory.timestamp} />
  <${Link} to=${memoryAddress(memory.id)}>open</${Link}></${Meta}>`}</div>`;

function Placed({ place }) {
  const [, name, line] = /^(.*?)(?::(\d+))?$/.exec(place);
  return html`<${Link} to=${documentAddress(name, line)} dir="auto">${line ? `${name}, line ${line}` : name}</${Link}>`;
}

// ---- What is done by itself.

const JOBS = { learning: "Learn from conversations", scan: "Look the memory over", compaction: "Sum up old notes", experiences: "Take in experiences", heartbeat: "Wake the agent" };

function Schedule() {
  const state = useData("/upkeep", {}, { on: false }), options = useOptions();
  const refresh = async () => { await options.refresh(); await state.refresh(); };
  return html`<${Section} title="When"><p class="muted small about">While Commonplace serves this page, or 'commonplace upkeep --loop' runs, it does this by itself.</p>
      <${Loaded} of=${options} lines=${6}>${(data) => html`<div class="settings">
        <${Timed} option=${setting(data, "scan_schedule")} title="Look the memory over" lead="Finds what disagrees, is said twice or cannot be read. It changes nothing." saved=${refresh} />
        <${Timed} option=${setting(data, "learning_schedule")} title="Learn from conversations" lead="What you said or asked three times, and what helped three times after the same failure, waits in Review. Nothing is kept by itself." saved=${refresh} />
        <${Compaction} data=${data} saved=${refresh} />
      </div>`}</${Loaded}></${Section}>
    <${Section} title="Size of the memory document"><p class="muted small about">Past these sizes the oldest memories move to the archive, where they are found still. Empty is no limit.</p>
      <${Loaded} of=${options} lines=${4}>${(data) => html`<${Window} data=${data} saved=${refresh} />`}</${Loaded}></${Section}>
    <${Section} title="How it went"><${Loaded} of=${state} lines=${3}>${({ jobs }) => html`<${Jobs} jobs=${jobs} refresh=${state.refresh} />`}</${Loaded}></${Section}>
    <${CompactNow} done=${state.refresh} />`;
}

function Compaction({ data, saved }) {
  const enabled = setting(data, "memory_compaction_enabled");
  return html`<${Timed} option=${setting(data, "memory_compaction_schedule")} enabled=${enabled} title="Sum up old notes"
    lead="Notes and turn summaries older than the limit become lines of the long-term document, each naming what it was made from. Facts, rules and preferences stay as they are." saved=${saved} />`;
}

function Window({ data, saved }) {
  return html`<div class="settings">${["memory_max_records", "memory_max_chars"].map((name) => html`<${Limit} key=${name} option=${setting(data, name)} title=${name === "memory_max_records" ? "Memories" : "Characters"} saved=${saved} />`)}</div>`;
}

function Limit({ option, title, saved }) {
  // What was saved last is shown until the list has it.
  const [typed, type] = useState(null), [last, keep] = useState(null);
  const value = typed ?? last ?? (option.value ? String(option.value) : "");
  useEffect(() => { keep(null); }, [option]);
  const [save, { busy, error }] = useAction(async () => {
    if (typed === null) return;
    await post("/options", typed.trim() ? { option: option.name, value: typed.trim() } : { option: option.name, unset: true });
    toast(typed.trim() ? `At most ${number(typed)} ${title.toLowerCase()} from now on.` : `No limit of ${title.toLowerCase()} from now on.`);
    keep(typed.trim());
    // A new text stays; the list is not waited for: the next value may be typed meanwhile.
    type((now) => (now === typed ? null : now));
    saved();
  });
  const id = `limit-${option.name}`;
  return html`<div class="setting"><div class="grow"><label for=${id}><strong>At most</strong> ${title.toLowerCase()}</label>${option.fixed && html`<p class="hint">${option.fixed}</p>`}${error && html`<p class="wrong" role="alert">${error.message}</p>`}</div>
    <form class="row" onSubmit=${(event) => { event.preventDefault(); save(); }}><input id=${id} class="input short" inputmode="numeric" placeholder="no limit" disabled=${Boolean(option.fixed)} value=${value} onInput=${(event) => type(event.target.value)} onBlur=${save} />${typed !== null && html`<button class="button small" disabled=${busy}>Save</button>`}</form></div>`;
}

function Jobs({ jobs, refresh }) {
  const [run, { busy }] = useAction(async (job) => {
    try {
      const { runs } = await post(`/upkeep/${encodeURIComponent(job)}`);
      toast(runs.map((each) => `${JOBS[each.name] || each.name}: ${outcome(each)}`).join("; ") || "Another program is at it.");
    } catch (error) { toastWrong(error); }
    await refresh();
  });
  if (!jobs.length) return html`<p class="muted">Nothing is done by itself. Choose a time above.</p>`;
  return html`<${Table} label="What was done by itself" head=${["What", "Last", "How it went", "Next", ["", "number"]]}>${jobs.map((job) => html`<tr key=${job.job}><th scope="row">${JOBS[job.job] || job.job}</th>
    <td>${job.last ? html`<${When} at=${job.last} exact />` : "not yet"}</td><td class="text">${job.outcome ? html`${job.outcome === "failed" && html`<${Badge} look="bad">Failed</${Badge}> `}${job.what || job.outcome}` : ""}</td><td><${When} at=${job.next} exact /></td>
    <td class="number"><${Button} small busy=${busy} data-job=${job.job} onClick=${() => run(job.job)}>Run now</${Button}></td></tr>`)}</${Table}>`;
}
const outcome = ({ outcome: how, what }) => what || how;

// A difference as a command tells it: its lines, those that go and come.
const Lines = ({ text }) => html`<div class="diff" tabindex="0" role="group" aria-label="What would change">${text.split("\n").map((line) => (line.startsWith("@@") ? html`<span class="skipped">…</span>`
  : line.startsWith("+") ? html`<ins dir="auto">${line.slice(1) || " "}</ins>` : line.startsWith("-") ? html`<del dir="auto">${line.slice(1) || " "}</del>` : html`<span class="same" dir="auto">${line || " "}</span>`))}</div>`;

function Tidy({ refresh }) {
  const [look, { busy }] = useAction(async () => {
    try {
      const plan = await post("/tidy");
      if (!plan.etag) { toast("Everything is tidy."); await refresh(); return; }
      const done = await ask("What tidying would change", html`<p>${plan.sentence.charAt(0).toUpperCase()}${plan.sentence.slice(1)}. Your own headings, prose and sections stay as they are.</p><${Lines} text=${plan.difference} />`,
        { yes: "Tidy", wide: true, run: () => post("/tidy", { etag: plan.etag }) });
      if (done) toast("Tidied.", { action: { label: "Undo", run: () => undo(done.position, refresh) } });
    } catch (error) { toastWrong(error); }
    await refresh();
  });
  return html`<${Button} small busy=${busy} onClick=${look}>Show what tidying would change…</${Button}>`;
}

function CompactNow({ done }) {
  const [look, { busy, error }] = useAction(async () => {
    const plan = await post("/compact", { dry_run: true });
    if (!plan.difference) { toast("Nothing is old enough to be summed up."); return; }
    const agreed = await ask("What summing up would change", html`<p>${plan.sentence}</p><${Lines} text=${plan.difference} />`, { yes: "Sum up now", wide: true });
    if (!agreed) return;
    toast((await post("/compact", { dry_run: false })).sentence);
    await done();
  });
  return html`<${Section} title="Sum up now"><p class="muted small about">Shows first what would become what. One Undo takes all of it back.</p><${Button} busy=${busy} onClick=${look}>Show what it would do…</${Button}>${error && html`<p class="wrong" role="alert">${error.message}</p>`}</${Section}>`;
}

// ---- Size over time.

function Size() {
  const sizes = useData("/sizes", {}, { on: false }), [what, choose] = useChoice("upkeep-size", "records");
  return html`<${Loaded} of=${sizes} lines=${6}>${({ days }) => {
    if (days.length < 2) return html`<${Empty} icon="activity" title="Too little to draw yet">After two days with memories, their growth is drawn here.</${Empty}>`;
    const last = days.at(-1), first = days[0];
    return html`<p class="figures"><strong>${memories(last.records)}</strong> <span class="muted">about ${number(last.tokens)} tokens if all were told at once; ${memories(first.records)} on ${dayOf(first.day)}</span></p>
      <${Tabs} label="What is drawn" value=${what} onChange=${choose} options=${[["records", "Memories"], ["tokens", "Tokens"]]} />
      <${Plot} label=${what === "records" ? "Memories" : "Tokens"} points=${days.map((each) => [each.day, each[what]])} height=${320} />`;
  }}</${Loaded}>`;
}
