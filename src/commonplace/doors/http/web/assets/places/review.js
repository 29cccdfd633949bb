// Review: what waits for you, what it rests on and what was read before it, to be approved or rejected.

import { post } from "/assets/api.js";
import { useAction, useData } from "/assets/data.js";
import { Icon } from "/assets/icons.js";
import { Link } from "/assets/router.js";
import { Told } from "/assets/text.js";
import { ask, Button, Card, Cards, Check, Empty, Kind, Loaded, Meta, Page, TextBox, toast, toastWrong, When, Who } from "/assets/ui.js";
import { html, useState } from "/assets/vendor.js";
import { count, day, memories } from "/assets/words.js";

export const sheet = "/assets/places/review.css";

const MOST = 100;

export default function Review() {
  const review = useData("/review");
  return html`<${Page} title="Review" lead="What agents would be told once you approve it: rules that nobody can be sure you gave, and what your conversations show again and again. Where you said something like a rule, your own sentence is told meanwhile.">
    <${Loaded} of=${review}>${({ waiting }) => (waiting.length ? html`<${Waiting} waiting=${waiting} refresh=${review.refresh} />`
      : html`<${Empty} icon="check" title="Nothing waits" actions=${html`<${Link} class="button" to="/activity?deed=decided">What was decided</${Link}>`}>When an agent that has read a web page or another foreign text wants to keep a rule, it waits here for you. So do the rules of a file that you named, and what you said or asked three times.</${Empty}>`)}</${Loaded}>
  </${Page}>`;
}

function Waiting({ waiting, refresh }) {
  const [chosen, choose] = useState(new Set());
  const there = waiting.filter(({ id }) => chosen.has(id)).slice(0, MOST);
  const ready = there.filter((each) => each.learned !== "asked");
  const set = (id, on) => choose((was) => { const next = new Set(was); if (on) next.add(id); else next.delete(id); return next; });
  const all = waiting.length === chosen.size && there.length > 0;
  const [decide, { busy }] = useAction(async (decision, records, answer, useful) => {
    if (decision === "reject" && !(await sure(records))) return;
    try {
      if (answer) {
        await post(`/review/${records[0].id}`, { decision, answer });
        toast(`Kept with your answer: “${records[0].text}”`);
        return await refresh();
      }
      const done = await post("/review", { decision, ids: records.map(({ id }) => id), etags: records.map(({ etag }) => etag) });
      if (useful) await post("/records/verdict", { ids: done.decided.map(({ id }) => id), verdict: "useful" });
      choose((was) => new Set([...was].filter((id) => !records.some((each) => each.id === id))));
      if (decision === "approve") toast(said("Approved", records), { action: { label: "Undo", run: () => takeBack(done.positions) } });
      else toast(said("Rejected", records));
    } catch (error) { toastWrong(error); }
    await refresh();
  });
  return html`<div class="decide" role="group" aria-label="Several at once">
      <${Check} label=${there.length ? `${count(there.length, "chosen", "chosen")}` : `${memories(waiting.length)} wait${waiting.length === 1 ? "s" : ""}. Choose all`} checked=${all} onChange=${(on) => choose(on ? new Set(waiting.map(({ id }) => id)) : new Set())} />
      ${there.length > 0 && html`<div class="actions">${ready.length > 0 && html`<${Button} look="primary" icon="check" busy=${busy} onClick=${() => decide("approve", ready)}>${`Approve ${ready.length}`}</${Button}>`}
        <${Button} icon="cross" busy=${busy} onClick=${() => decide("reject", there)}>${`Reject ${there.length}`}</${Button}></div>`}
      <p class="muted small keys"><kbd>j</kbd> <kbd>k</kbd> next, previous · <kbd>a</kbd> approve · <kbd>u</kbd> approve, it is useful · <kbd>x</kbd> or <kbd>w</kbd> reject · <kbd>c</kbd> choose</p></div>
    <${Cards} label="What waits">${waiting.map((each) => html`<${Held} key=${each.id} record=${each} busy=${busy} chosen=${chosen.has(each.id)} choose=${(on) => set(each.id, on)} decide=${(decision, answer, useful) => decide(decision, [each], answer, useful)} />`)}</${Cards}>`;
}

const said = (verb, records) => (records.length === 1 ? `${verb}: “${records[0].text}”` : `${verb} ${memories(records.length)}.`);

const sure = (records) => ask(records.length === 1 ? "Reject this?" : `Reject ${memories(records.length)}?`,
  html`<ul class="plain">${records.slice(0, 8).map(({ id, text }) => html`<li key=${id} dir="auto">“${text}”</li>`)}${records.length > 8 && html`<li>and ${records.length - 8} more</li>`}</ul><p class="muted">Agents are never told it, and it is not asked again. A rejection stays; what is told in your own words stays, too.</p>`, { yes: "Reject" });

async function takeBack(positions) {
  try {
    for (const position of positions) await post("/undo", { position });
    toast("The approval is taken back.");
  } catch (error) { toastWrong(error); }
}

// The keys of a card work while it has the focus itself, or the focus is in it and nobody types.
function Held({ record, chosen, choose, decide, busy }) {
  const { account = {} } = record;
  const [answer, setAnswer] = useState("");
  const isQuestion = record.learned === "asked";
  const approve = (useful = false) => (isQuestion ? answer.trim() && decide("approve", answer.trim()) : decide("approve", "", useful));
  const pressed = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || busy) return;
    if (event.target.matches?.("textarea")) return;
    const does = { a: () => approve(), u: () => approve(true), x: () => decide("reject"), w: () => decide("reject"), c: () => choose(!chosen) }[event.key];
    if (!does) return;
    event.preventDefault();
    event.stopPropagation();
    does();
  };
  return html`<${Card} id=${record.id} class="held" onKeyDown=${pressed}>
    <${Check} hidden label="Choose" checked=${chosen} onChange=${choose} />
    <div class="body">
      <p class="label">${isQuestion ? "You asked" : account.changes ? "Agents would be told" : "It says"}</p>
      <blockquote class="told-text"><${Told} text=${record.text} /></blockquote>
      <${Meta}><${Kind} kind=${record.kind} />${record.when?.length > 0 && html`<span class="moment" dir="auto">told only at ${record.when.join("; ")}</span>`}${record.stood ? html`<span dir="auto">From ${record.stood}</span>` : html`<${Who} by=${record} />`}<${When} at=${record.timestamp} exact />
        ${record.session && account.message && html`<${Link} to=${`/conversations/${encodeURIComponent(record.session)}?at=${encodeURIComponent(account.message)}`}>open the conversation there</${Link}>`}${record.username && html`<span dir="auto">@${record.username}</span>`}</${Meta}>
      <dl class="account">
        <${Why} record=${record} />
        ${account.sentence && html`<dt>You said</dt><dd><q dir="auto">${account.sentence}</q> <span class="muted">${day(account.said_at)}</span><${InMessage} account=${account} record=${record} /></dd>`}
        ${account.times?.length > 0 && html`<dt>Each time</dt><dd><ul class="plain">${account.times.map(([at, session, said]) => html`<li><${When} at=${at} exact /> ${said ? html`<q dir="auto">${said.length > 200 ? `${said.slice(0, 200)}…` : said}</q>` : html`<${Link} to=${`/conversations/${encodeURIComponent(session)}`}>the conversation</${Link}>`}</li>`)}</ul></dd>`}
        ${account.untyped?.length > 0 && html`<dt class="warn"><${Icon} name="warn" size=${16} />You never typed</dt><dd>${account.untyped.map((each) => html`<code dir="auto">${each}</code> `)}</dd>`}
        ${account.read_before?.length > 0 && html`<dt>It had read</dt><dd><ul class="plain">${account.read_before.map(([name, at]) => html`<li><span dir="auto">${name}</span>${at && html` <span class="muted"><${When} at=${at} exact /></span>`}</li>`)}</ul></dd>`}
        ${account.changes && html`<dt>Approving</dt><dd><${Changes} text=${account.changes} own=${record.text} /></dd>`}
        ${account.state && html`<dt>Meanwhile</dt><dd>${meanwhile(account)}</dd>`}
      </dl>
      ${isQuestion && html`<${TextBox} label="Its answer" value=${answer} onInput=${setAnswer} rows="2" />`}
      <div class="actions"><${Button} icon="check" busy=${busy} disabled=${isQuestion && !answer.trim()} onClick=${() => approve()}>${isQuestion ? "Keep with this answer" : "Approve"}</${Button}><${Button} look="quiet" icon="cross" busy=${busy} onClick=${() => decide("reject")}>Reject</${Button}></div>
    </div>
  </${Card}>`;
}

function Why({ record }) {
  const [what, when] = record.why.split(" ");
  const why = what === "forgotten" ? `You forgot it${when ? ` (${day(when)})` : ""}; it does not come back by itself.` : record.why;
  return why && html`<dt>Why it waits</dt><dd dir="auto">${why}</dd>`;
}

// The whole message, where the sentence is only a part of it.
function InMessage({ account }) {
  if (!account.said || account.said.trim() === account.sentence?.trim()) return null;
  return html`<details><summary class="muted small">The whole message</summary><${Told} text=${account.said} /></details>`;
}

// What an approval would do to documents: their names, then lines that go and come.
const Changes = ({ text, own }) => {
  const [names, ...lines] = text.split("\n");
  // Nothing but the text itself, which stands above.
  if (lines.length === 1 && lines[0] === `+ ${own.replace(/\s+/g, " ").trim()}`) return html`<span>keeps it, word for word, in <span dir="auto">${names}</span></span>`;
  return html`<p class="muted small" dir="auto">changes ${names}</p>${lines.length > 0 && html`<div class="diff" tabindex="0" role="group" aria-label="What approving changes">${lines.filter((line) => !line.startsWith("@@")).map((line) => (
    line.startsWith("+") ? html`<ins dir="auto"><span class="hidden">Added: </span>${line.slice(1).trim()}</ins>` : line.startsWith("-") ? html`<del dir="auto"><span class="hidden">Removed: </span>${line.slice(1).trim()}</del>` : html`<span class="same" dir="auto">${line}</span>`))}</div>`}`;
};

function meanwhile({ state, sentence }) {
  if (state.includes("no sentence")) return "Agents are told nothing of it: no sentence of yours says it.";
  if (state.includes("nothing is told")) return "Agents are told nothing of it.";
  return sentence ? "Agents are told your own sentence." : state;
}
