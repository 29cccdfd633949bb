// Settings: clients, who may come in, copies to carry away, vaults, and options with what they do.

import { below, call, get, post, state } from "/assets/api.js";
import { useAction, useData } from "/assets/data.js";
import { Icon } from "/assets/icons.js";
import { Control, setOption, shown, title, useOptions } from "/assets/options.js";
import { go, useQuery } from "/assets/router.js";
import { ThemeChoice } from "/assets/shell.js";
import { ask, Badge, Banner, Button, Card, Cards, Check, Empty, Input, Loaded, Meta, Page, Section, Select, Skeleton, Tabs, toast, toastWrong, When, Wrong } from "/assets/ui.js";
import { html, useEffect, useId, useState } from "/assets/vendor.js";
import { count, upper } from "/assets/words.js";

export const sheet = "/assets/places/settings.css";

const TABS = [["clients", "Clients"], ["access", "Access"], ["copies", "Export and backup"], ["vaults", "Vaults and look"], ["options", "Options"]];
const VIEWS = { options: Options, clients: Clients, access: Access, copies: Copies, vaults: Vaults };

export default function Settings() {
  const [query, setQuery] = useQuery();
  const tab = VIEWS[query.tab] ? query.tab : query.find ? "options" : "clients", View = VIEWS[tab];
  return html`<${Page} title="Settings">
    <${Tabs} label="Settings" value=${tab} options=${TABS} onChange=${(next) => setQuery({ tab: next === "clients" ? "" : next, find: "" }, { push: true })} />
    <${View} query=${query} setQuery=${setQuery} />
  </${Page}>`;
}

// ---- Options.

const fits = (option, words) => !words || [option.name, title(option.name), option.description].some((each) => each.toLowerCase().includes(words.toLowerCase()));

function Options({ query, setQuery }) {
  const options = useOptions();
  return html`<div class="row"><div class="grow"><${Input} hidden label="Find an option" type="search" placeholder="Find an option" value=${query.find} onInput=${(find) => setQuery({ find })} /></div></div>
    <${Loaded} of=${options} cards=${6}>${({ options: all, file }) => {
      const found = all.filter((each) => fits(each, query.find)), groups = [...Map.groupBy(found, (each) => each.group)];
      if (!groups.length) return html`<${Empty} icon="search" title="No option is called so">Try another word: every option says what it does.</${Empty}>`;
      return html`<p class="muted small">${file ? html`What you change here stands in <code>${file}</code>, beside your own comments, and counts at once.` : "This vault is in PostgreSQL and has no file of its own: your own file sets its options."}</p>
        ${groups.map(([group, each]) => html`<${Section} key=${group} title=${group}><div class="settings">${each.map((option) => html`<${Option} key=${option.name} option=${option} saved=${options.refresh} />`)}</div></${Section}>`)}`;
    }}</${Loaded}>`;
}

function Option({ option, saved }) {
  const id = useId();
  const [reset, { busy, error }] = useAction(() => setOption(option, null, saved));
  const isSet = Boolean(option.source), inFile = option.source.endsWith("commonplace.toml");
  return html`<div class="setting" data-option=${option.name}><div class="grow"><p class="name" id=${`${id}-name`}><strong>${title(option.name)}</strong>${isSet && html` <${Badge} look="accent">Set</${Badge}>`}</p>
      <p class="hint" id=${`${id}-about`}>${sentence(option.description)}</p>
      <p class="hint small">${option.fixed ? html`<${Icon} name="info" size=${14} /> ${option.fixed} <code>${option.name}</code>` : html`<code>${option.name}</code>, ${option.default === "" ? "empty by default" : `by default ${shown(option.default)}`}${isSet && inFile && html` · <button type="button" class="linkish" disabled=${busy} onClick=${reset}>Back to the default</button>`}`}</p><${Wrong} error=${error} /></div>
    <div class="choice">${option.fixed ? html`<p class="fixed" dir="auto">${shown(option.value)}</p>` : html`<${Control} option=${option} saved=${saved} labelledby=${`${id}-name`} describedby=${`${id}-about`} />`}</div></div>`;
}

const sentence = (text) => `${/^\S+:\/\//.test(text) ? text : upper(text)}.`;

// ---- Clients.

function Clients() {
  const clients = useData("/clients", {}, { on: false });
  const list = (label, all) => html`<${Cards} label=${label}>${all.map((each) => html`<${Client} key=${each.name} client=${each} refresh=${clients.refresh} />`)}</${Cards}>`;
  return html`<p class="muted about">A client that is connected tells its agents what this vault remembers, and lets them remember more. Its files are shown before they are written, and can be put back.</p>
    <${Loaded} of=${clients} cards=${4} lines=${2}>${({ clients: all }) => {
      const here = all.filter((each) => each.installed || each.connected || each.elsewhere || each.trouble), others = all.filter((each) => !here.includes(each));
      return html`${here.length ? list("Clients", here) : html`<p class="muted">None of the clients that Commonplace knows was found on this machine.</p>`}
        ${others.length > 0 && html`<details class="others" open=${!here.length}><summary>${count(others.length, here.length ? "other client" : "client")} that Commonplace knows</summary>${list("Other clients", others)}</details>`}`;
    }}</${Loaded}>`;
}

function Client({ client, refresh }) {
  const [turn, { busy, error }] = useAction(async (disconnect) => {
    const plan = await get(`/clients/${client.name}`, { disconnect });
    if (!plan.diff) { toast(disconnect ? `${client.title} is not connected.` : `${client.title} is connected already.`); return; }
    const verb = disconnect ? "Disconnect" : "Connect";
    const done = await ask(`${verb} ${client.title}?`, html`<${Plan} plan=${plan} />`, { yes: verb, wide: true, run: () => post(`/clients/${client.name}/${disconnect ? "disconnect" : "connect"}`) });
    if (done) toast(`${client.title} is ${disconnect ? "no longer connected" : "connected. Start it anew"}.`);
    await refresh();
  });
  const where = client.connected ? "connected to this vault" : client.elsewhere ? `connected to another vault: ${client.elsewhere}` : client.installed ? "on this machine, not connected" : "not found on this machine";
  return html`<${Card} id=${client.name} class="client"><span class="plug" aria-hidden="true"><${Icon} name="plug" /></span><div class="grow"><p class="name"><strong>${client.title}</strong>${client.connected && html` <${Badge} look="good">Connected</${Badge}>`}</p>
      <${Meta}><span dir="auto">${where}</span>${client.files.length > 0 && html`<span>${count(client.files.length, "file")}</span>`}</${Meta}>
      ${client.trouble && html`<p class="wrong">${client.trouble}</p>`}${client.memories.length > 0 && html`<p class="hint"><${Icon} name="warn" size=${14} /> It has another memory switched on: ${client.memories.map((each) => each.title || each.name).join(", ")}. 'commonplace setup ${client.name}' offers to copy it here or to switch it off.</p>`}<${Wrong} error=${error} /></div>
    <div class="actions">${client.connected ? html`<${Button} look="quiet" busy=${busy} onClick=${() => turn(true)}>Disconnect…</${Button}>` : html`<${Button} busy=${busy} disabled=${Boolean(client.trouble)} onClick=${() => turn(false)}>Connect…</${Button}>`}</div></${Card}>`;
}

const Plan = ({ plan }) => html`<p>${typeof plan.files === "string" ? plan.files : count(plan.files, "file")}</p>${plan.notes.map((note) => html`<p class="muted small">${note}</p>`)}
  <details><summary>Every line that changes</summary><div class="diff" tabindex="0" role="group" aria-label="What changes in its files">${plan.diff.split("\n").map((line) => (
    /^(\+\+\+|---) /.test(line) ? html`<span class="skipped">${line.slice(4)}</span>` : line.startsWith("@@") ? null : line.startsWith("+") ? html`<ins>${line.slice(1) || " "}</ins>` : line.startsWith("-") ? html`<del>${line.slice(1) || " "}</del>` : html`<span class="same">${line || " "}</span>`))}</div></details>`;

// ---- Who may come in.

const SCOPES = [["read", "Read: everything but secrets"], ["write", "Write: also remember, edit and use MCP"], ["admin", "Admin: also review and upkeep"]];

function useTokens() {
  const [now, set] = useState({ data: undefined, error: null });
  const refresh = async () => { try { set({ data: await call("/api/tokens"), error: null }); } catch (error) { set((was) => ({ ...was, error })); } };
  useEffect(() => { refresh(); }, []);
  return { ...now, refresh };
}

function Access() {
  const tokens = useTokens();
  const [made, setMade] = useState(null);
  const [make] = useAction(async () => {
    const told = await ask("A new token", html`<${TokenForm} />`, { yes: "Make it", run: (form) => call("/api/tokens", "POST", { name: form.get("name"), scope: form.get("scope"), vaults: form.getAll("vaults") }) });
    if (told) { setMade(told); await tokens.refresh(); }
  });
  return html`<div class="row spread"><p class="lead">Programs that may come in: by a token that you made, or because you allowed it in the browser.</p><${Button} look="primary" icon="add" onClick=${make}>New token</${Button}></div>
    ${made && html`<${Fresh} made=${made} done=${() => setMade(null)} />`}
    <${Loaded} of=${tokens}>${({ tokens: all }) => (all.length === 0 ? html`<${Empty} icon="plug" title="No program may come in">A token lets a program, or an agent over MCP, read or write this memory.</${Empty}>`
      : html`<${Cards} label="Access">${all.map((each) => html`<${Token} key=${each.name} token=${each} refresh=${tokens.refresh} />`)}</${Cards}>`)}</${Loaded}>`;
}

const TokenForm = () => html`<${Input} label="What will use it" name="name" required maxlength="100" autofocus placeholder="phone, backup script, …" />
  <div class="field"><label for="token-scope">What it may do</label><select id="token-scope" name="scope">${SCOPES.map(([name, words]) => html`<option value=${name}>${words}</option>`)}</select></div>
  ${state.vaults.length > 1 && html`<fieldset><legend class="small">In which vaults (none chosen: all)</legend>${state.vaults.map((name) => html`<label class="check"><input type="checkbox" name="vaults" value=${name} /><span dir="auto">${name}</span></label>`)}</fieldset>`}
  <p class="muted small">It is shown once, right after it is made. Only its fingerprint is kept.</p>`;

function Fresh({ made, done }) {
  const copy = async () => { try { await navigator.clipboard.writeText(made.token); toast("Copied."); } catch { toast("Choose the token and copy it by hand.", { wrong: true }); } };
  return html`<${Banner} look="good" icon="check" role="status"><p><strong dir="auto">${made.name}</strong>: copy this token now. It is not shown again.</p><code class="token">${made.token}</code>
    <div class="actions"><${Button} small icon="copy" onClick=${copy}>Copy</${Button}><${Button} small look="quiet" onClick=${done}>I have it</${Button}></div></${Banner}>`;
}

function Token({ token, refresh }) {
  const [end, { busy, error }] = useAction(async () => {
    const agreed = await ask(`End the access of ${token.name}?`, html`<p>It can no longer come in, and has to be allowed anew.</p>`, { yes: "End it", danger: true, run: () => call("/api/tokens/revoke", "POST", { name: token.name }) });
    if (agreed) { toast(`${token.name} can no longer come in.`); await refresh(); }
  });
  return html`<${Card} id=${token.name} class="client" data-token=${token.name}><div class="grow"><p class="name"><strong dir="auto">${token.name}</strong> <${Badge}>${token.oauth ? "OAuth" : token.scope}</${Badge}></p>
    <${Meta}><span dir="auto">${token.vaults.join(", ") || "all vaults"}</span>${token.made && html`<span>made <${When} at=${token.made} /></span>`}<span>${token.used ? html`last used <${When} at=${token.used} exact />` : "never used"}</span></${Meta}><${Wrong} error=${error} /></div>
    <div class="actions"><${Button} look="quiet" busy=${busy} onClick=${end}>End…</${Button}></div></${Card}>`;
}

// ---- Copies to carry away.

function Copies() {
  const link = (path, words) => html`<a class="button" href=${below(path)} download><${Icon} name="download" /><span>${words}</span></a>`;
  return html`<${Section} title="Export"><p class="muted about">Every memory that counts, in one file that anybody can read. Secrets stay here.</p><div class="actions">${link("/export/markdown", "Markdown")}${link("/export/jsonl", "JSONL, with all data")}</div></${Section}>
    <${Section} title="Backup"><p class="muted about">The whole vault in one file: documents, every change, kept versions, conversations and options. It is read back and compared before you get it. 'commonplace restore-backup FILE PATH' makes the vault again.</p>
      <${Backup} /></${Section}>`;
}

// Made while one waits, which takes a while for a large vault; what goes wrong is told here and not in a broken file.
function Backup() {
  const [make, { busy, error }] = useAction(async () => {
    const answer = await fetch(below("/backup"), { credentials: "same-origin" }).catch(() => null);
    if (!answer) throw new Error("The gateway does not answer.");
    if (!answer.ok) throw new Error((await answer.json().catch(() => ({}))).detail || `The gateway answered ${answer.status}.`);
    const name = decodeURIComponent(/filename\*=utf-8''([^;]+)/i.exec(answer.headers.get("content-disposition") || "")?.[1] || "backup.tar.gz");
    const at = URL.createObjectURL(await answer.blob());
    Object.assign(document.createElement("a"), { href: at, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(at), 60000);
    toast(`Kept as ${name}.`);
  });
  return html`<div class="actions"><${Button} icon="download" busy=${busy} onClick=${make}>${busy ? "Copying and comparing…" : "Make a backup"}</${Button}></div><${Wrong} error=${error} />`;
}

// ---- Vaults, and how the page looks.

function Vaults() {
  const [places, setPlaces] = useState(null);
  useEffect(() => { call("/api/vaults").then((told) => setPlaces(told.places || {}), toastWrong); }, []);
  const open = (name) => { state.vault = name; go("/home"); };
  return html`<${Section} title="Vaults"><p class="muted about">This gateway serves these. 'commonplace serve PATH PATH' serves several, and 'commonplace init PATH' makes another.</p>
      ${places === null ? html`<${Skeleton} lines=${2} />` : html`<${Cards} label="Vaults">${state.vaults.map((name) => html`<${Card} key=${name} id=${name} class="client"><span class="plug" aria-hidden="true"><${Icon} name="vault" /></span><div class="grow"><p class="name"><strong dir="auto">${name}</strong>${name === state.vault && html` <${Badge} look="accent">Open</${Badge}>`}</p><${Meta}><code dir="auto">${places[name] || ""}</code></${Meta}></div>
        ${name !== state.vault && html`<div class="actions"><${Button} onClick=${() => open(name)}>Open</${Button}></div>`}</${Card}>`)}</${Cards}>`}</${Section}>
    <${Section} title="Look"><${ThemeChoice} /></${Section}>
    <p class="muted small">Commonplace ${state.version}</p>`;
}
