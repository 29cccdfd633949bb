// Trash: what was removed, by whom and when, and the way back. What was erased for good is counted, and no more.

import { useData } from "/assets/data.js";
import { bringBack, Labels } from "/assets/memories.js";
import { setQuery, useQuery } from "/assets/router.js";
import { Told } from "/assets/text.js";
import { Banner, Button, Card, Cards, Check, Empty, Kind, Loaded, Meta, Page, When, Who } from "/assets/ui.js";
import { html, useState } from "/assets/vendor.js";
import { dayOf, memories, number, upper } from "/assets/words.js";

export const sheet = "/assets/places/memory.css";
const PAGE = 50;

export default function Trash() {
  const [query] = useQuery(), page = Math.max(1, Number(query.page) || 1);
  const trash = useData("/trash", { offset: (page - 1) * PAGE, limit: PAGE });
  return html`<${Page} title="Trash" class="trash" lead=${trash.data?.count ? `${memories(trash.data.count)} ${trash.data.count === 1 ? "was" : "were"} removed and can be brought back.` : ""}>
    <${Loaded} of=${trash} cards=${4}>${(told) => html`${told.removed.length ? html`<${List} told=${told} page=${page} />` : html`<${Empty} icon="trash" title="The trash is empty">What you or an agent removes, in Commonplace or in an editor, lies here until you bring it back.</${Empty}>`}
      <${ForGood} forgotten=${told.forgotten} />`}</${Loaded}></${Page}>`;
}

const ForGood = ({ forgotten }) => forgotten.count > 0 && html`<${Banner}>${memories(forgotten.count)} ${forgotten.count === 1 ? "was" : "were"} forgotten for good, the last one <${When} at=${forgotten.last} />. Nothing of ${forgotten.count === 1 ? "it" : "them"} is kept, so there is no way back.</${Banner}>`;

function List({ told, page }) {
  const [chosen, set] = useState(new Set()), there = told.removed.map(({ id }) => id), ids = there.filter((id) => chosen.has(id));
  const choose = (id) => set((was) => { const now = new Set(was); if (!now.delete(id)) now.add(id); return now; });
  const days = [...new Set(told.removed.map(({ change }) => change.day))];
  const back = async (some) => { if (await bringBack(some)) set(new Set()); };
  return html`<div class="row"><${Check} label="Select all on this page" checked=${ids.length === there.length} onChange=${(on) => set(new Set(on ? there : []))} />
      <${Button} icon="undo" disabled=${!ids.length} onClick=${() => back(ids)}>${ids.length ? `Bring back ${memories(ids.length)}` : "Bring back"}</${Button}></div>
    ${days.map((each) => html`<section key=${each} class="group"><h2 class="group-head">${upper(dayOf(each))}</h2><${Cards} label=${`Removed ${dayOf(each)}`}>
      ${told.removed.filter(({ change }) => change.day === each).map((removed) => html`<${Removed} key=${removed.id} removed=${removed} chosen=${chosen.has(removed.id)} choose=${choose} back=${back} />`)}</${Cards}></section>`)}
    ${(page > 1 || told.more) && html`<nav class="pager" aria-label="Pages"><${Button} icon="left" disabled=${page === 1} onClick=${() => turn(page - 1)}>Previous</${Button}>
      <span class="numbers">${number((page - 1) * PAGE + 1)} to ${number((page - 1) * PAGE + there.length)} of ${number(told.count)}</span><${Button} disabled=${!told.more} onClick=${() => turn(page + 1)}>Next</${Button}></nav>`}`;
}
const turn = (to) => { setQuery({ page: to === 1 ? "" : to }, { push: true }); scrollTo(0, 0); };

const HOW = {
  strike: "Removed", edited: "Deleted in an editor", replace: "Left out when the document was saved", undo: "Taken back by an undo", redo: "Removed again by a redo",
  trim: "Moved out to make room", compact: "Summed up in a summary", restore: "Gone when an older document was restored",
};

function Removed({ removed, chosen, choose, back }) {
  const { change } = removed;
  return html`<${Card} id=${removed.id} class=${chosen ? "chosen" : ""}><div class="card-head"><${Check} hidden label=${`Select: ${removed.text.slice(0, 80)}`} checked=${chosen} onChange=${() => choose(removed.id)} />
    <div><${Told} text=${removed.text} /><${Meta}><${Kind} kind=${removed.kind} /><span>${HOW[change.op] || "Removed"}</span>${change.op !== "edited" && html`<${Who} by=${change} icon=${false} />`}<${When} at=${change.at} exact /><${Labels} tags=${removed.tags} /></${Meta}></div>
    <${Button} small icon="undo" label="Bring back" onClick=${() => back([removed.id])}>Bring back</${Button}></div></${Card}>`;
}
