// The parts that every place is made of. Each has one class in style.css and looks alike everywhere.

import { Icon } from "/assets/icons.js";
import { takeFocus } from "/assets/router.js";
import { html, useEffect, useId, useLayoutEffect, useRef, useState } from "/assets/vendor.js";
import { day, full, isYou, moment, tone, toned, who } from "/assets/words.js";

const classes = (...names) => names.filter(Boolean).join(" ");

/* A place: its heading, a sentence below it, and what can be done with the whole of it.
   <${Page} title="Memory" lead="…" actions=${html`…`}>…</${Page}>. Every place is one Page; `wide` uses the full width. */
export function Page({ title, lead, actions, children, wide = false, heading = title, class: more }) {
  const place = useRef();
  useEffect(() => { takeFocus(place.current); }, []);
  return html`<div class=${classes("place", wide && "wide", more)}>
    <header class="place-head"><div><h1 ref=${place} tabindex="-1" dir="auto">${heading}</h1>${lead && html`<p class="lead">${lead}</p>`}</div>
      ${actions && html`<div class="actions">${actions}</div>`}</header>
    ${children}</div>`;
}

/* A part of a place with its own heading. */
export const Section = ({ title, actions, children, class: more, ...rest }) => html`<section class=${classes("section", more)} ...${rest}>
  ${title && html`<header class="section-head"><h2>${title}</h2>${actions && html`<div class="actions">${actions}</div>`}</header>`}${children}</section>`;

/* look: "primary" (at most one in sight), "quiet" (no border), "danger" (what cannot be undone), or none. */
export const Button = ({ look = "", icon, label, busy = false, disabled = false, small = false, children, class: more, ...rest }) => html`
  <button type="button" class=${classes("button", look, small && "small", icon && !children && "only", more)} aria-label=${label} title=${rest.title ?? (icon && !children ? label : undefined)}
    disabled=${disabled || busy} aria-busy=${busy ? "true" : undefined} ...${rest}>${icon && html`<${Icon} name=${icon} />`}${children && html`<span>${children}</span>`}</button>`;

/* One quiet menu: <${Menu} label="More about this memory" items=${[{ label, icon, run, danger, href }]}/>. Falsy items are left out. */
export function Menu({ label = "More", items, icon = "more", text, look = "quiet" }) {
  const [open, set] = useState(false), id = useId(), place = useRef(), button = useRef();
  const shown = items.filter(Boolean);
  const shut = () => { set(false); button.current?.focus(); };
  useEffect(() => {
    if (!open) return undefined;
    place.current.querySelector("[role=menuitem]")?.focus();
    const away = (event) => { if (!place.current?.parentNode.contains(event.target)) set(false); };
    document.addEventListener("pointerdown", away);
    return () => document.removeEventListener("pointerdown", away);
  }, [open]);
  const step = (event) => {
    const all = [...place.current.querySelectorAll("[role=menuitem]")], at = all.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === "Escape" || event.key === "Tab") { shut(); if (event.key === "Escape") event.preventDefault(); event.stopPropagation(); }
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    all.at(next % all.length)?.focus();
  };
  const chosen = (item) => () => { shut(); item.run?.(); };
  return html`<span class="menu"><button type="button" ref=${button} class=${classes("button", look, !text && "only")} aria-label=${label} title=${label} aria-haspopup="menu"
      aria-expanded=${open} aria-controls=${open ? id : undefined} onClick=${() => set(!open)}><${Icon} name=${icon} />${text && html`<span>${text}</span>`}</button>
    ${open && html`<ul id=${id} role="menu" aria-label=${label} ref=${place} onKeyDown=${step}>${shown.map((item) => html`<li role="none">${item.href
      ? html`<a role="menuitem" tabindex="-1" href=${item.href} download=${item.download} onClick=${() => set(false)}>${item.icon && html`<${Icon} name=${item.icon} />`}${item.label}</a>`
      : html`<button type="button" role="menuitem" tabindex="-1" class=${item.danger ? "danger" : ""} onClick=${chosen(item)}>${item.icon && html`<${Icon} name=${item.icon} />`}${item.label}</button>`}</li>`)}</ul>`}</span>`;
}

/* Things of a list. Cards take the focus: j and k go from one to the next. */
export const Cards = ({ label, children, class: more }) => html`<ul class=${classes("cards", more)} aria-label=${label}>${children}</ul>`;
export const Card = ({ id, children, fresh = false, faded = false, class: more, ...rest }) => html`<li class=${classes("card", fresh && "fresh", faded && "faded", more)} tabindex="0" data-id=${id} ...${rest}>${children}</li>`;
/* The quiet line below a card's text. */
export const Meta = ({ children }) => html`<div class="meta">${children}</div>`;

/* A choice that is on or off, such as a filter: <${Chip} on=${…} onClick=${…}>garden</${Chip}>; `remove` shows a cross. */
export const Chip = ({ on = false, remove = false, tone: number, count, children, ...rest }) => html`<button type="button" class=${classes("chip", on && "on")} aria-pressed=${on} ...${rest}>
  ${number !== undefined && html`<${Dot} tone=${number} />`}<span dir="auto">${children}</span>${count !== undefined && html`<span class="count">${count}</span>`}${remove && html`<${Icon} name="cross" size=${14} />`}</button>`;
export const Dot = ({ tone: number }) => html`<span class="dot" style=${{ background: toned(number) }} aria-hidden="true"></span>`;
export const Kind = ({ kind }) => html`<span class="kind"><${Dot} tone=${tone(kind)} />${kind}</span>`;
export const Tag = ({ children }) => html`<span class="tag" dir="auto">${children}</span>`;

/* <${Tabs} label="Where" value=${value} onChange=${set} options=${[["memory", "Memory"], …]}/> */
export const Tabs = ({ label, value, options, onChange }) => html`<div class="tabs" role="group" aria-label=${label}>${options.map(([name, title, badge]) => html`
  <button type="button" aria-pressed=${name === value} onClick=${() => onChange(name)}>${title}${badge !== undefined && html` <span class="count">${badge}</span>`}</button>`)}</div>`;

/* A field with its label, a hint, and what is wrong with it beside it. The control is the only child, or `render(id, describedby)`. */
export function Field({ label, hint, error, render, children, hidden = false }) {
  const id = useId();
  return html`<div class="field"><label for=${id} class=${hidden ? "hidden" : ""}>${label}</label>${render(id, classes(hint && `${id}-hint`, error && `${id}-wrong`) || undefined)}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}${children}${error && html`<p class="wrong" role="alert" id=${`${id}-wrong`}>${error.message ?? error}</p>`}</div>`;
}
export const Input = ({ label, hint, error, hidden, value, onInput, ...rest }) => html`<${Field} label=${label} hint=${hint} error=${error} hidden=${hidden}
  render=${(id, by) => html`<input id=${id} aria-describedby=${by} dir="auto" value=${value} onInput=${(event) => onInput?.(event.target.value)} ...${rest} />`} />`;
/* A box for text that grows with it. */
export function TextBox({ label, hint, error, hidden, value, onInput, limit = 0, box, ...rest }) {
  const own = useRef(), place = box || own;
  useLayoutEffect(() => {
    const at = place.current;
    at.style.height = "auto";
    at.style.height = `${Math.min(at.scrollHeight + 2, 480)}px`;
  }, [value]);
  const length = [...(value || "")].length;
  const told = limit && length > limit * 0.8 ? `${length.toLocaleString("en")} of ${limit.toLocaleString("en")} characters` : "";
  return html`<${Field} label=${label} hint=${told || hint} error=${error} hidden=${hidden}
    render=${(id, by) => html`<textarea id=${id} ref=${place} aria-describedby=${by} dir="auto" value=${value} onInput=${(event) => onInput?.(event.target.value)} ...${rest}></textarea>`} />`;
}
export const Select = ({ label, hint, hidden, value, options, onChange, ...rest }) => html`<${Field} label=${label} hint=${hint} hidden=${hidden}
  render=${(id, by) => html`<select id=${id} aria-describedby=${by} value=${value} onChange=${(event) => onChange(event.target.value)} ...${rest}>
    ${options.map((each) => { const [name, title] = Array.isArray(each) ? each : [each, each]; return html`<option value=${name} selected=${name === value}>${title}</option>`; })}</select>`} />`;
export const Check = ({ label, checked, onChange, hidden = false, ...rest }) => html`<label class="check"><input type="checkbox" checked=${checked} onChange=${(event) => onChange(event.target.checked)} ...${rest} /><span class=${hidden ? "hidden" : ""}>${label}</span></label>`;

/* What went wrong, beside what it is about. */
export const Wrong = ({ error }) => error && html`<p class="wrong" role="alert"><${Icon} name="warn" />${error.message ?? String(error)}</p>`;

/* Nothing is here yet: what it is for, and the next step. */
export const Empty = ({ icon = "info", title, children, actions }) => html`<div class="empty"><${Icon} name=${icon} size=${32} /><h2>${title}</h2>${children && html`<p>${children}</p>`}${actions && html`<div class="actions">${actions}</div>`}</div>`;

/* In place of what is on its way. Shown after a moment: what comes at once does not flicker. */
export const Skeleton = ({ lines = 3, cards = 0, label = "Loading" }) => html`<div class="skeleton" role="status" aria-label=${label}>${Array.from({ length: cards || 1 }, () => html`<div class=${cards ? "card" : ""} aria-hidden="true">${Array.from({ length: lines }, () => html`<span></span>`)}</div>`)}</div>`;

/* The three states of useData in one: <${Loaded} of=${useData("/review")} cards=${3}>${(data) => html`…`}</${Loaded}> */
export function Loaded({ of, children, cards = 3, lines = 3 }) {
  if (of.data !== undefined) return html`${of.error && html`<${Banner} look="warn">${of.error.message}</${Banner}>`}${children(of.data)}`;
  if (of.error) return html`<${Empty} icon="warn" title="This could not be shown" actions=${html`<${Button} onClick=${of.refresh}>Try again</${Button}>`}>${of.error.message}</${Empty}>`;
  return html`<${Skeleton} cards=${cards} lines=${lines} />`;
}

/* look: "" (plain), "good", "warn", "bad". */
export const Banner = ({ look = "", icon, children, actions, ...rest }) => html`<div class=${classes("banner", look)} ...${rest}><${Icon} name=${icon || (look ? "warn" : "info")} /><div>${children}</div>${actions && html`<div class="actions">${actions}</div>`}</div>`;
export const Badge = ({ look = "", children, ...rest }) => html`<span class=${classes("badge", look)} ...${rest}>${children}</span>`;

/* A share of a whole, such as a score: 0 to 1. `look` as of a banner. */
export const Bar = ({ value, label, look = "" }) => html`<span class=${classes("bar", look)} role="img" aria-label=${label}><span style=${{ width: `${Math.max(0, Math.min(1, value)) * 100}%` }}></span></span>`;
/* Several shares of a whole side by side: parts = [{ name, value, tone }]. A table beside it says the same in words. */
export const Bars = ({ parts }) => html`<div class="bars" aria-hidden="true">${parts.filter(({ value }) => value > 0).map(({ name, value, tone: number }) => html`<span title=${name} style=${{ flexGrow: value, background: toned(number) }}></span>`)}</div>`;

/* A table that scrolls by itself when it is wider than its room. */
export const Table = ({ label, head, children, class: more }) => html`<div class="table" tabindex="0" role="region" aria-label=${label}><table class=${more}>
  ${head && html`<thead><tr>${head.map((each) => { const [title, is] = Array.isArray(each) ? each : [each, ""]; return html`<th scope="col" class=${is}>${title}</th>`; })}</tr></thead>`}<tbody>${children}</tbody></table></div>`;

/* When: in words, the full time on hover. <${When} at=${record.timestamp}/>; `exact` says the hour of the last days. */
export const When = ({ at, exact = false }) => at ? html`<time datetime=${at} title=${full(at)}>${exact ? moment(at) : day(at)}</time>` : null;
/* Who: You, the agent, a client's name. */
export const Who = ({ by, icon = true }) => html`<span class=${classes("who", isYou(by) && "you")}>${icon && html`<${Icon} name=${isYou(by) ? "person" : "agent"} size=${16} />`}${who(by)}</span>`;

/* More of a long list. */
export const More = ({ left, onClick, busy, one = "more", label }) => html`<div class="more"><${Button} onClick=${onClick} busy=${busy}>${label ?? (left ? `Show ${Number(left).toLocaleString("en")} ${one}` : "Show more")}</${Button}></div>`;

// ---- What is said at the bottom, and what is asked in a dialog: one of each, drawn by the shell.

let place = null;
const tellShell = (what) => place?.(what);

/* Says something for a while: toast("Removed.", { action: { label: "Undo", run } }). `wrong` is for errors without a field. */
export function toast(text, { action = null, wrong = false } = {}) { tellShell({ toast: { text, action, wrong, turn: Math.random() } }); }
export const toastWrong = (error) => toast(error.message ?? String(error), { wrong: true });

/* Asks in a dialog, and returns what `run(form)` makes of it, or null when the person turns away. It closes when that is done:
   what is wrong is said beside what was typed. `body` is html; its fields with names are in `form` (FormData). */
export const ask = (title, body, { yes = "OK", no = "Cancel", danger = false, wide = false, run = (form) => form } = {}) => new Promise((settle) => {
  tellShell({ dialog: { title, body, yes, no, danger, wide, run, settle, key: Math.random() } });
});
/* Shows something in a dialog until the person closes it. */
export const tell = (title, body, { wide = false } = {}) => ask(title, body, { yes: "Close", no: "", wide });
export const closeDialog = () => document.getElementById("dialog")?.close("no");

export function Said() {
  const [now, set] = useState({});
  useEffect(() => { place = (what) => set((was) => ({ ...was, ...what })); return () => { place = null; }; }, []);
  return html`<${Toast} ...${now.toast} />${now.dialog && html`<${Asked} key=${now.dialog.key} ...${now.dialog} done=${() => set((was) => ({ ...was, dialog: null }))} />`}`;
}

function Toast({ text = "", action, wrong, turn }) {
  const [shown, set] = useState(false), hold = useRef(0);
  const later = () => { clearTimeout(hold.current); hold.current = setTimeout(() => set(false), wrong ? 12000 : action ? 9000 : 5000); };
  useEffect(() => { if (text) { set(true); later(); } return () => clearTimeout(hold.current); }, [turn]);
  const stay = () => clearTimeout(hold.current);
  return html`<div id="said" class=${classes("toast", wrong && "wrong")} role="status" aria-live="polite" onMouseEnter=${stay} onFocusIn=${stay} onMouseLeave=${later} onFocusOut=${later}>
    ${shown && text && html`<span dir="auto">${text}</span>${action && html`<button type="button" class="linkish" onClick=${() => { set(false); action.run(); }}>${action.label}</button>`}
      <button type="button" class="linkish" aria-label="Close" onClick=${() => set(false)}><${Icon} name="cross" size=${16} /></button>`}</div>`;
}

function Asked({ title, body, yes, no, danger, wide, run, settle, done }) {
  const dialog = useRef(), made = useRef(null), [now, set] = useState({ busy: false, error: null });
  useLayoutEffect(() => {
    const at = dialog.current, was = document.activeElement;
    at.showModal();
    at.scrollTop = 0;
    return () => { if (was?.isConnected) was.focus({ preventScroll: true }); };
  }, []);
  const submit = async (event) => {
    event.preventDefault();
    if (now.busy) return;
    set({ busy: true, error: null });
    try {
      made.current = await run(new FormData(event.target));
      if (dialog.current?.open) dialog.current.close("yes");
    } catch (error) { set({ busy: false, error }); }
  };
  const closed = () => { settle(dialog.current?.returnValue === "yes" ? made.current : null); done(); };
  return html`<dialog id="dialog" ref=${dialog} class=${classes(wide && "wide")} aria-labelledby="dialog-title" onClose=${closed}>
    <form method="dialog" onSubmit=${submit}><h2 id="dialog-title">${title}</h2><div class="dialog-body">${body}</div><${Wrong} error=${now.error} />
      <div class="actions">${no && html`<${Button} onClick=${() => dialog.current.close("no")}>${no}</${Button}>`}
        <button class=${classes("button primary", danger && "danger")} disabled=${now.busy}>${yes}</button></div></form></dialog>`;
}

/* A dialog of a place's own, for what `ask` is too small for: <${Dialog} title=… onClose=${…}>…</${Dialog}>. */
export function Dialog({ title, onClose, wide = false, children }) {
  const place = useRef(), id = useId();
  useLayoutEffect(() => {
    const was = document.activeElement;
    place.current.showModal();
    return () => { if (was?.isConnected) was.focus({ preventScroll: true }); };
  }, []);
  return html`<dialog ref=${place} class=${classes(wide && "wide")} aria-labelledby=${id} onClose=${onClose}>
    <header class="section-head"><h2 id=${id}>${title}</h2><${Button} look="quiet" icon="cross" label="Close" onClick=${() => place.current.close()} /></header>${children}</dialog>`;
}
