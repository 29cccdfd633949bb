// What a document went through: its versions in words with what each changed, and who wrote which line.

import { get, named, post } from "/assets/api.js";
import { useAction, useData } from "/assets/data.js";
import { Icon } from "/assets/icons.js";
import { plain } from "/assets/lines.js";
import { setQuery } from "/assets/router.js";
import { Diff, withoutData } from "/assets/text.js";
import { Button, Loaded, More, Tabs, toast, toastWrong, When, Who, Wrong } from "/assets/ui.js";
import { html, useEffect, useState } from "/assets/vendor.js";
import { count, full } from "/assets/words.js";

const AT_ONCE = 60;

const lines = (many) => count(many, "line");
// A version in words: 3 lines added, 1 removed.
export function did({ lines_added: added, lines_removed: removed, name_before: before, op }) {
  if (before) return `renamed, from ${before}`;
  if (op === "undo") return `took a change back: ${told(added, removed)}`;
  if (op === "redo") return `made a change again: ${told(added, removed)}`;
  if (op === "restore") return `brought an older version back: ${told(added, removed)}`;
  return told(added, removed);
}
function told(added, removed) {
  if (!added && !removed) return "no line changed";
  if (!removed) return `${lines(added)} added`;
  return added ? `${lines(added)} added, ${removed} removed` : `${lines(removed)} removed`;
}

const Back = () => html`<${Button} look="quiet" icon="left" onClick=${() => setQuery({ view: "" })}>Back to the text</${Button}>`;

const TOGETHER = 10 * 60e3;
// Memories that one session stored one after the other are one step to a person; every other change is its own.
function steps(versions) {
  const found = [];
  for (const each of versions) {
    const last = found.at(-1), before = last?.at(-1);
    const goesOn = before && [before, each].every(({ op, lines_removed: removed }) => op === "add" && !removed)
      && before.origin === each.origin && before.session === each.session && Date.parse(before.at) - Date.parse(each.at) < TOGETHER;
    if (goesOn) last.push(each); else found.push([each]);
  }
  return found;
}
const sum = (step) => ({ ...step[0], lines_added: step.reduce((all, { lines_added: added }) => all + added, 0) });

export function Versions({ name }) {
  const [limit, more] = useState(AT_ONCE), [at, choose] = useState(0);
  const versions = useData(`/versions/${named(name)}`, { limit });
  return html`<section class="pane past" aria-label=${`Versions of ${name}`}><header class="section-head"><h2>Versions</h2><${Back} /></header>
    <${Loaded} of=${versions}>${({ versions: found, count: all }) => html`<${Steps} name=${name} found=${steps(found)} at=${at} choose=${choose} left=${all - found.length} more=${() => more(Math.min(500, limit + AT_ONCE))} />`}</${Loaded}></section>`;
}

const Steps = ({ name, found, at, choose, left, more }) => html`<div class="past-versions">
  <ol class="version-list" aria-label="Versions, the newest first">${found.map((step, number) => html`<li key=${step[0].position}><button type="button" aria-pressed=${number === at} onClick=${() => choose(number)}>
    <span class="version-who"><${Who} by=${step[0]} />, <${When} at=${step[0].at} exact /></span><span class="muted">${did(sum(step))}</span></button></li>`)}
    ${left > 0 && html`<li><${More} left=${Math.min(AT_ONCE, left)} one="older changes" onClick=${more} /></li>`}</ol>
  <${Version} key=${found[at]?.[0].position} name=${name} version=${found[at][0]} before=${found[at + 1]?.[0]} isLast=${at + 1 === found.length && left === 0} isNow=${at === 0} /></div>`;

const textAt = (name, moment) => get(`/texts/${named(name)}`, { moment }).then(({ text }) => withoutData(plain(text)), (error) => {
  // It was not there then.
  if (error.status === 404) return "";
  throw error;
});

// One version beside the one before it, or beside the text of today.
function Version({ name, version, before, isLast, isNow }) {
  const [texts, set] = useState(null), [error, fail] = useState(null), [beside, choose] = useState("before");
  useEffect(() => {
    let left = false;
    const asked = [textAt(name, version.at), before ? textAt(name, before.at) : "", textAt(name, "9999-01-01T00:00:00Z")];
    Promise.all(asked).then(([then, earlier, now]) => { if (!left) set({ then, earlier, now }); }, (wrong) => { if (!left) fail(wrong); });
    return () => { left = true; };
  }, []);
  const [restore, { busy }] = useAction(async () => {
    try {
      await post(`/restore/${named(name)}`, { moment: version.at });
      setQuery({ view: "" });
      toast("That version is back.", { action: { label: "Undo", run: () => post("/undo").catch(toastWrong) } });
    } catch (wrong) { fail(wrong); }
  });
  const options = [["before", isLast ? "What it began with" : "What it changed"], ["now", "Compared with now"]];
  return html`<div class="past-version"><div class="section-head"><h3>${full(version.at)}</h3>${!isNow && html`<${Button} look="primary" icon="undo" busy=${busy} onClick=${restore}>Bring this version back</${Button}>`}</div>
    ${!isNow && html`<${Tabs} label="Compared with" value=${beside} options=${options} onChange=${choose} />`}<${Wrong} error=${error} />
    ${texts && (beside === "before" || isNow ? html`<${Diff} before=${texts.earlier} after=${texts.then} label="What this version changed" />` : html`<${Diff} before=${texts.then} after=${texts.now} label="From this version to now" />`)}</div>`;
}

const ROWS = 400;

// Lines that one change brought stand together below who made it.
function stretches(all) {
  const found = [];
  for (const each of all) {
    const last = found.at(-1);
    if (last && last.change?.position === each.change?.position) last.lines.push(each);
    else found.push({ change: each.change, lines: [each] });
  }
  return found;
}

export function Blame({ name }) {
  const [rows, more] = useState(ROWS), blame = useData(`/blame/${named(name)}`, {}, { on: ({ documents }) => documents.includes(name) });
  return html`<section class="pane past" aria-label=${`Who wrote ${name}`}><header class="section-head"><h2>Who wrote which line</h2><${Back} /></header>
    <${Loaded} of=${blame}>${({ lines: all }) => html`<div class="blame">${stretches(all.slice(0, rows)).map(({ change, lines: own }) => html`<section key=${own[0].line}>
      <p class="blame-who">${change ? html`<${Who} by=${change} />, <${When} at=${change.at} exact />` : html`<span class="who"><${Icon} name="clock" size=${16} />Before the first change that is known</span>`}</p>
      <ol start=${own[0].line}>${own.map(({ line, text }) => html`<li key=${line} value=${line} dir="auto">${withoutData(text) || " "}</li>`)}</ol></section>`)}
      ${all.length > rows && html`<${More} left=${all.length - rows} one="more lines" onClick=${() => more(rows + 4 * ROWS)} />`}</div>`}</${Loaded}></section>`;
}
