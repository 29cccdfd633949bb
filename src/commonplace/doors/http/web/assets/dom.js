// Small helpers to build the page. Text always goes in as text: no string here ever becomes HTML.

export function h(name, given = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else if (key in made && key !== "list" && key !== "form") made[key] = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

export function drawn(name, given = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(given)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat(3));
  return made;
}

// A text without the data that records carry behind theirs: it is the program's.
export const bare = (text) => text.replace(/<!--[\s\S]*?-->/g, "");

export const $ = (id) => document.getElementById(id);

// The colours of kinds and sections, as many as the style sheet has for light and for dark.
const TONES = 12;
export const tone = (number) => `var(--tone-${number % TONES})`;

export function say(text, wrong = false) {
  const place = $("said");
  place.textContent = text;
  place.classList.toggle("wrong", wrong);
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { place.textContent = ""; }, wrong ? 9000 : 4000);
}

export function age(time) {
  const days = (Date.now() - Date.parse(time)) / 864e5;
  if (Number.isNaN(days)) return "";
  if (days < 1 / 24) return "just now";
  if (days < 1) return `${Math.floor(days * 24)} h ago`;
  return days < 60 ? `${Math.floor(days)} d ago` : `${Math.floor(days / 30)} months ago`;
}

// At its top: the first button, which gets the focus, may stand below a long text.
function open(dialog) {
  dialog.showModal();
  dialog.scrollTop = 0;
}

// Asks in a dialog. Returns what the form holds, or null when the person turns away.
export function ask(title, content, { yes = "OK", bad = false } = {}) {
  const dialog = $("dialog");
  return new Promise((settle) => {
    const form = h("form", { method: "dialog" },
      h("h2", { id: "dialog-title" }, title), content,
      h("div", { class: "row" },
        h("button", { type: "button", onclick: () => dialog.close("no") }, "Cancel"),
        h("button", { class: bad ? "main bad" : "main", value: "yes" }, yes)));
    dialog.replaceChildren(form);
    dialog.onclose = () => settle(dialog.returnValue === "yes" ? new FormData(form) : null);
    dialog.returnValue = "no";
    open(dialog);
  });
}

export function tell(title, content) {
  const dialog = $("dialog");
  dialog.replaceChildren(h("form", { method: "dialog" }, h("h2", { id: "dialog-title" }, title), content,
    h("div", { class: "row" }, h("button", { class: "main", autofocus: true }, "Close"))));
  dialog.onclose = null;
  open(dialog);
}

export function differences(before, after) {
  const old = before.split("\n"), now = after.split("\n");
  const known = new Map();
  old.forEach((line) => known.set(line, (known.get(line) || 0) + 1));
  const kept = new Map();
  now.forEach((line) => kept.set(line, (kept.get(line) || 0) + 1));
  const shown = [];
  let at = 0;
  for (const line of now) {
    while (at < old.length && old[at] !== line && !(kept.get(old[at]) > 0)) shown.push(h("del", {}, `- ${old[at++]}`));
    if (at < old.length && old[at] === line) { shown.push(h("span", {}, `  ${line}\n`)); at += 1; }
    else if (known.get(line) > 0) shown.push(h("span", {}, `  ${line}\n`));
    else shown.push(h("ins", {}, `+ ${line}`));
    kept.set(line, kept.get(line) - 1);
  }
  while (at < old.length) { if (!now.includes(old[at])) shown.push(h("del", {}, `- ${old[at]}`)); at += 1; }
  return h("div", { class: "diff" }, shown);
}
