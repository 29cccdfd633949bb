// Small helpers to build the page. Text always goes in as text: no string here ever becomes HTML.

import { hunks } from "/assets/lines.js";

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

export const sayWrong = (error) => say(error.message, true);

// Asks, and draws what comes of the last asking alone: answers may overtake each other.
export function latest(ask, draw) {
  let asked = 0;
  return async (...given) => {
    const number = ++asked;
    const told = await ask(...given);
    if (number === asked) draw(told, ...given);
  };
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

// Asks in a dialog. Returns what `run` makes of what the form holds, or null when the person turns away.
// It closes when that is done and not before: what is wrong is said beside what was typed.
export function ask(title, content, { yes = "OK", bad = false, run = (given) => given } = {}) {
  const dialog = $("dialog"), wrong = h("p", { class: "wrong", role: "alert" });
  let busy = false, made = null;
  const form = h("form", { method: "dialog", onsubmit: submit }, h("h2", { id: "dialog-title" }, title), content, wrong,
    h("div", { class: "row" },
      h("button", { type: "button", onclick: () => dialog.close("no") }, "Cancel"),
      h("button", { class: bad ? "main bad" : "main" }, yes)));

  async function submit(event) {
    event.preventDefault();
    if (busy) return;
    busy = true;
    try {
      made = await run(new FormData(form));
      if (form.isConnected && dialog.open) dialog.close("yes");
    } catch (error) { wrong.textContent = error.message; }
    busy = false;
  }

  return new Promise((settle) => {
    dialog.replaceChildren(form);
    dialog.onclose = () => settle(dialog.returnValue === "yes" ? made : null);
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

// The data that a record carries behind its text: it is the program's, and long.
export const DATA = /<!-- \{.*?\} -->/g;
// A text to be read, without any comment.
export const bare = (text) => text.replace(/<!--[\s\S]*?-->/g, "");
// A text to be compared, without the data alone, also where a line was cut short inside of it.
export const withoutData = (text) => text.replace(/[ \t]*<!-- \{.*?(?:\} -->|$)/gm, "");

// Lines that are alike around what differs.
const AROUND = 3;
const same = (line) => h("span", {}, `  ${line}\n`);

function alike(lines, head, tail) {
  const left = lines.length - head - tail;
  if (left < 2) return lines.map(same);
  return [lines.slice(0, head).map(same), h("span", { class: "why" }, `⋯ ${left} lines alike\n`), lines.slice(head + left).map(same)];
}

export function differences(before, after) {
  const old = before.split("\n"), found = hunks(old, after.split("\n")), shown = [];
  let at = 0;
  for (const { from, to, lines } of found) {
    shown.push(alike(old.slice(at, from), at && AROUND, AROUND),
      old.slice(from, to).map((line) => h("del", {}, `- ${line}`)), lines.map((line) => h("ins", {}, `+ ${line}`)));
    at = to;
  }
  shown.push(alike(old.slice(at), at && AROUND, 0));
  return h("div", { class: "diff" }, found.length ? shown : "Nothing differs.");
}
