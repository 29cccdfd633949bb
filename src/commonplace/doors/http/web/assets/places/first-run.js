// An empty vault: three steps, each done in place. What is done stays done, in whichever order.

import { get, named, post, put } from "/assets/api.js";
import { heard, useAction, useDraft } from "/assets/data.js";
import { Icon } from "/assets/icons.js";
import { Remember } from "/assets/remember.js";
import { Badge, Button, TextBox, toast, Wrong } from "/assets/ui.js";
import { html, useState } from "/assets/vendor.js";

export const lacks = (start, clients) => ({ person: Boolean(start.document) && !start.told, client: !clients.some((each) => each.connected), memory: start.memories === 0 });

export function FirstRun({ start, clients }) {
  const missing = lacks(start.data, clients.data.clients);
  const done = Object.values(missing).filter((each) => !each).length;
  return html`<div class="first-run"><p class="lead">This memory is empty. Three steps make it yours; ${done ? `${done} of 3 done.` : "each takes a minute."}</p>
    <ol class="steps">
      ${start.data.document && html`<${Step} number="1" title="Say who you are" done=${!missing.person} told="Agents know who you are."><${Person} start=${start} /></${Step}>`}
      <${Step} number=${start.data.document ? "2" : "1"} title="Connect a client" done=${!missing.client} told=${connected(clients.data.clients)}><${Connect} clients=${clients} /></${Step}>
      <${Step} number=${start.data.document ? "3" : "2"} title="Remember something" done=${false}><p class="muted">One sentence is enough. Agents find it when it matters.</p><${Remember} label="Your first memory" done=${() => heard()} /></${Step}>
    </ol></div>`;
}

const connected = (clients) => { const names = clients.filter((each) => each.connected).map((each) => each.title); return `${names.join(" and ")} ${names.length > 1 ? "use" : "uses"} this memory.`; };

const Step = ({ number, title, done, told = "", children }) => html`<li class=${done ? "step done" : "step"}><span class="step-mark" aria-hidden="true">${done ? html`<${Icon} name="check" />` : number}</span>
  <div><h2>${title}${done && html`<span class="hidden"> (done)</span>`}</h2>${done ? html`<p class="muted">${told}</p>` : children}</div></li>`;

function Person({ start }) {
  const [text, setText, forget] = useDraft("who"), { document: name } = start.data;
  const [save, { busy, error }] = useAction(async () => {
    const now = await get(`/documents/${named(name)}`).catch((wrong) => { if (wrong.status === 404) return null; throw wrong; });
    await put(`/documents/${named(name)}`, { text: `${text.trim()}\n`, ...(now && { etag: now.etag }) }, now ? {} : { "if-none-match": "*" });
    forget();
    toast("Kept. Every agent that uses this memory is told.");
    start.refresh();
  });
  return html`<p class="muted">Your name, what you do, and anything an agent should always know. It is kept in ${name}, and you can change it whenever you like.</p>
    <${TextBox} label="Who you are" value=${text} onInput=${setText} error=${error} placeholder="I am Ann, a gardener in Utrecht. I write in English and Dutch…" rows="3" />
    <div class="actions"><${Button} look="primary" busy=${busy} disabled=${!text.trim()} onClick=${save}>Keep this</${Button}></div>`;
}

function Connect({ clients }) {
  const here = clients.data.clients.filter((each) => each.installed && !each.connected);
  const others = clients.data.clients.filter((each) => !each.installed).map((each) => each.title);
  const [all, setAll] = useState(false);
  return html`<p class="muted">A client is a program that runs an agent. Connecting one writes to its settings; Settings takes it back.</p>
    ${here.length > 0 ? html`<ul class="facts">${here.map((each) => html`<${Client} key=${each.name} client=${each} refresh=${clients.refresh} />`)}</ul>` : html`<p>No client was found on this machine.</p>`}
    ${others.length > 0 && html`<p class="muted small">${all ? html`Also known: ${others.join(", ")}. <code>commonplace setup NAME</code> sets one up by hand.` : html`<button type="button" class="linkish" onClick=${() => setAll(true)}>Another client?</button>`}</p>`}`;
}

function Client({ client, refresh }) {
  const [connect, { busy, error }] = useAction(async () => {
    const { notes } = await post(`/clients/${client.name}/connect`);
    toast(`${client.title} uses this memory from its next session on.${notes.length ? ` ${notes[0]}` : ""}`);
    refresh();
  });
  return html`<li><${Icon} name="plug" /><span>${client.title}</span>${client.elsewhere && html`<${Badge}>uses another vault</${Badge}>`}<${Button} small busy=${busy} onClick=${connect}>Connect</${Button}><${Wrong} error=${error} /></li>`;
}
