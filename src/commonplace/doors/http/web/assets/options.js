// Options and the fields that set them, for Settings and Upkeep.

import { post } from "/assets/api.js";
import { useAction, useData } from "/assets/data.js";
import { Button, Check, toast, toastWrong, Wrong } from "/assets/ui.js";
import { html, useEffect, useId, useState } from "/assets/vendor.js";
import { number, upper } from "/assets/words.js";

export const useOptions = () => useData("/options", {}, { on: false });
export const setting = (data, name) => data.options.find((each) => each.name === name);
// memory_max_records as people read it.
export const title = (name) => upper(name.replaceAll("_", " "));
export const shown = (value) => (value === true ? "on" : value === false ? "off" : value === "" ? "empty" : typeof value === "number" ? number(value) : String(value));

// Sets an option and says so; Undo sets what was there. The new list is not waited for: the next value may be typed meanwhile.
export async function setOption(option, value, saved) {
  const send = (given) => post("/options", { option: option.name, ...given });
  await send(value === null ? { unset: true } : { value: String(value) });
  const before = option.source ? { value: String(option.value) } : { unset: true };
  toast(`${title(option.name)}: ${shown(value === null ? option.default : value)}.`, { action: { label: "Undo", run: () => send(before).then(saved, toastWrong) } });
  saved();
}

/* The control of one option, saved when it is left or chosen. Numbers and texts wait for Enter or for the next field. */
export function Control({ option, saved, labelledby, describedby }) {
  const [typed, type] = useState(null);
  const [last, keep] = useState(null), value = last ?? String(option.value);
  const [save, { busy, error }] = useAction(async (next) => { await setOption(option, next, saved); keep(String(next)); type((now) => (now === String(next) ? null : now)); });
  useEffect(() => { keep(null); }, [option]);
  const disabled = Boolean(option.fixed) || busy, common = { disabled, "aria-labelledby": labelledby, "aria-describedby": describedby };
  if (option.type === "bool") return html`<${Check} hidden label=${title(option.name)} checked=${option.value} onChange=${save} ...${common} /><${Wrong} error=${error} />`;
  if (option.choices.length) return html`<select class="input" ...${common} onChange=${(event) => save(event.target.value)}>${option.choices.map((each) => html`<option value=${each} selected=${each === option.value}>${each}</option>`)}</select><${Wrong} error=${error} />`;
  const now = typed ?? value;
  const send = () => { if (typed !== null && typed !== value) save(typed); else type(null); };
  return html`<form class="typed" onSubmit=${(event) => { event.preventDefault(); send(); }}><input class="input" dir="auto" ...${common} inputmode=${option.type === "str" ? undefined : "decimal"} value=${now} onInput=${(event) => type(event.target.value)} onBlur=${send} />
    ${typed !== null && typed !== value && html`<button class="button small primary" disabled=${busy}>Save</button>`}</form><${Wrong} error=${error} />`;
}

const TIMES = [["hourly", "Every hour"], ["daily", "Every night"], ["weekly", "Every week"], ["monthly", "Every month"]];

/* When something is done by itself: never, one of the usual times, or a time of one's own. `enabled` is an option that switches it. */
export function Schedule({ option, enabled = null, title: name, lead, saved }) {
  const id = useId(), off = (enabled && !enabled.value) || !option.value;
  const isUsual = off || TIMES.some(([time]) => time === option.value), [own, setOwn] = useState(null);
  const [save, { busy, error }] = useAction(async (value) => {
    if (enabled && Boolean(value) !== enabled.value) await post("/options", { option: enabled.name, value: String(Boolean(value)) });
    if (value || !enabled) await post("/options", value ? { option: option.name, value } : { option: option.name, unset: true });
    const usual = TIMES.find(([time]) => time === value);
    toast(`${name}: ${value ? (usual ? usual[1].toLowerCase() : value) : "never by itself"}.`);
    setOwn(null);
    saved();
  });
  const choose = (value) => { if (value === "own") setOwn(option.value || "30 3 * * *"); else save(value); };
  const now = own !== null || !isUsual ? "own" : off ? "" : option.value, fixed = option.fixed || enabled?.fixed;
  return html`<div class="setting"><div class="grow"><label for=${id}><strong>${name}</strong></label><p class="hint">${lead}</p>${fixed && html`<p class="hint">${fixed}</p>`}<${Wrong} error=${error} /></div>
    <div class="choice"><select id=${id} class="input" disabled=${busy || Boolean(fixed)} onChange=${(event) => choose(event.target.value)}>
      <option value="" selected=${now === ""}>Never by itself</option>${TIMES.map(([time, words]) => html`<option value=${time} selected=${now === time}>${words}</option>`)}<option value="own" selected=${now === "own"}>At a time of my own…</option></select>
      ${now === "own" && html`<form class="typed" onSubmit=${(event) => { event.preventDefault(); save(own ?? option.value); }}><input class="input" aria-label=${`Time of: ${name}`} disabled=${busy || Boolean(fixed)} value=${own ?? option.value} onInput=${(event) => setOwn(event.target.value)} /><${Button} small busy=${busy} onClick=${() => save(own ?? option.value)}>Save</${Button}></form>
        <p class="hint">An interval such as 6h or 2d, or a cron line: <code>30 3 * * *</code> is half past three each night.</p>`}</div></div>`;
}
