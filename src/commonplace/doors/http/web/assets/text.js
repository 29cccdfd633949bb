// People's text on the page: markdown made safe, long texts folded, found words marked, two texts compared.
// Text always goes in as text: no string here ever becomes HTML, but for `rendered`, which makes it safe.

import { hunks } from "/assets/lines.js";
import { html, rendered, useId, useLayoutEffect, useRef, useState } from "/assets/vendor.js";

// The data that a record carries behind its text: it is the program's, and long.
export const DATA = /<!-- \{.*?\} -->/g;
// A text to be read, without any comment.
export const bare = (text) => text.replace(/<!--[\s\S]*?-->/g, "");
// A text to be compared, without the data alone, also where a line was cut short inside of it.
export const withoutData = (text) => text.replace(/[ \t]*<!-- \{.*?(?:\} -->|$)/gm, "");

// A text on one line, without the marks of markdown: for a preview.
export const plainly = (text) => bare(text).replace(/^\s*(?:#{1,6}|>|[-*+]|\d+\.)\s+/gm, "").replace(/(\*\*|__|`|~~)(.+?)\1/g, "$2").replace(/\s+/g, " ").trim();

// The page has one first heading, its own: those of people's texts are below it, and look as they would.
export function lowered(made) {
  for (const heading of made.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
    const level = Number(heading.nodeName[1]), lower = document.createElement(`h${Math.min(6, level + 1)}`);
    lower.className = `level-${level}`;
    lower.dir = "auto";
    lower.append(...heading.childNodes);
    heading.replaceWith(lower);
  }
}

// Wraps what an expression finds in the texts of an element, and leaves all else of it as it is.
function markIn(made, found) {
  const texts = document.createTreeWalker(made, NodeFilter.SHOW_TEXT), all = [];
  while (texts.nextNode()) all.push(texts.currentNode);
  for (const each of all) {
    const parts = each.data.split(found);
    if (parts.length > 1) each.replaceWith(...parts.map((part, at) => (at % 2 ? Object.assign(document.createElement("mark"), { textContent: part }) : part)));
  }
}

/* Markdown as it reads. Links to elsewhere open beside the page. `found` is an expression, with one group around it all, for what to mark. */
export function Markdown({ text, found = null, class: more = "" }) {
  const place = useRef();
  useLayoutEffect(() => {
    const made = rendered(bare(text));
    lowered(made);
    for (const link of made.querySelectorAll("a[href^='http']")) { link.target = "_blank"; link.rel = "noopener noreferrer"; }
    if (found) markIn(made, found);
    place.current.replaceChildren(made);
  }, [text, String(found)]);
  return html`<div class=${`prose ${more}`} dir="auto" ref=${place}></div>`;
}

const LONG = 700, LINES = 10;
export const isLong = (text) => text.length > LONG || text.split("\n").length > LINES;

// A memory's text: rendered, and folded when it is long.
export function Told({ text, words = "" }) {
  const [open, set] = useState(false), id = useId();
  const shown = html`<${Markdown} text=${text} found=${words && partsOf(words)} />`;
  if (!isLong(text)) return shown;
  return html`<div class="told"><div id=${id} class=${open ? "" : "folded"}>${shown}</div>
    <button type="button" class="linkish" aria-expanded=${open} aria-controls=${id} onClick=${() => set(!open)}>${open ? "Show less" : "Show all of it"}</button></div>`;
}

const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
const either = (words) => [...new Set(words)].sort((one, other) => other.length - one.length).map(escaped).join("|");
// An expression for parts of words, as a filter finds them, and one for whole words just as they stand.
export const partsOf = (words) => (words.trim() ? new RegExp(`(${either(words.trim().split(/\s+/))})`, "giu") : null);
export const wholeWords = (words) => (words?.length ? new RegExp(`(?<![\\p{L}\\p{N}_])(${either(words)})(?![\\p{L}\\p{N}_])`, "gu") : null);

// A text in which the words that were looked for are marked.
export function Marked({ text, words }) {
  const wanted = (words.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) || []).map((word) => word.slice(0, Math.max(3, word.length - 2)));
  if (!wanted.length) return text;
  const found = new RegExp(`(?<![\\p{L}\\p{N}])((?:${[...new Set(wanted)].join("|")})[\\p{L}\\p{N}]*)`, "giu");
  return text.split(found).map((part, at) => (at % 2 ? html`<mark>${part}</mark>` : part));
}

// Lines that are alike around what differs.
const AROUND = 3;
const same = (line) => html`<span class="same" dir="auto">${line || " "}</span>`;

function alike(lines, head, tail) {
  const left = lines.length - head - tail;
  if (left < 2) return lines.map(same);
  return [lines.slice(0, head).map(same), html`<span class="skipped">${left} lines alike</span>`, lines.slice(head + left).map(same)];
}

const words = (line) => line.split(/(?<=\s)|(?=\s)|(?<=[.,;:!?()"“”])/u);

// A line that was reworded: which words went, which came. Two lines that share little are shown whole.
function reworded(old, now) {
  const before = words(old), after = words(now), found = hunks(before, after);
  const kept = before.length - found.reduce((sum, { from, to }) => sum + to - from, 0);
  if (kept * 3 < Math.max(before.length, after.length)) return [old, now];
  const went = [], came = [];
  let at = 0;
  for (const { from, to, lines } of found) {
    const between = before.slice(at, from).join("");
    went.push(between, to > from && html`<mark>${before.slice(from, to).join("")}</mark>`);
    came.push(between, lines.length > 0 && html`<mark>${lines.join("")}</mark>`);
    at = to;
  }
  const rest = before.slice(at).join("");
  return [[...went, rest], [...came, rest]];
}

// Differences with nothing but a blank between them are one: so people read them.
function joined(old, found) {
  const all = [];
  for (const each of found) {
    const last = all.at(-1), between = last && old.slice(last.to, each.from);
    if (last && between.every((part) => !part.trim())) all[all.length - 1] = { from: last.from, to: each.to, lines: [...last.lines, ...between, ...each.lines] };
    else all.push(each);
  }
  return all;
}

/* A sentence that was reworded, in one piece: the words that went struck out, those that came beside them.
   Two that share little stand one below the other. */
export function Reworded({ before, after }) {
  const old = words(before), found = joined(old, hunks(old, words(after)));
  const kept = old.length - found.reduce((sum, { from, to }) => sum + to - from, 0);
  const went = (text) => html`<del><span class="hidden">Removed: </span>${text}</del>`, came = (text) => html`<ins><span class="hidden">Added: </span>${text}</ins>`;
  if (kept * 3 < old.length) return html`<p class="reworded" dir="auto">${went(before)}</p><p class="reworded" dir="auto">${came(after)}</p>`;
  const shown = [];
  let at = 0;
  for (const { from, to, lines } of found) {
    shown.push(old.slice(at, from).join(""), to > from && went(old.slice(from, to).join("")), lines.length > 0 && came(lines.join("")));
    at = to;
  }
  return html`<p class="reworded" dir="auto">${shown}${old.slice(at).join("")}</p>`;
}

function changed(old, now) {
  const pairs = old.length === now.length ? old.map((line, at) => reworded(line, now[at])) : null;
  return [
    old.map((line, at) => html`<del dir="auto"><span class="hidden">Removed: </span>${pairs ? pairs[at][0] : line || " "}</del>`),
    now.map((line, at) => html`<ins dir="auto"><span class="hidden">Added: </span>${pairs ? pairs[at][1] : line || " "}</ins>`),
  ];
}

/* What differs between two texts, line by line, and within a line word by word. */
export function Diff({ before, after, label = "What differs" }) {
  const old = before.split("\n"), found = hunks(old, after.split("\n")), shown = [];
  let at = 0;
  for (const { from, to, lines } of found) {
    shown.push(alike(old.slice(at, from), at && AROUND, AROUND), changed(old.slice(from, to), lines));
    at = to;
  }
  if (!found.length) return html`<p class="muted">Nothing differs.</p>`;
  shown.push(alike(old.slice(at), at && AROUND, 0));
  return html`<div class="diff" role="group" aria-label=${label} tabindex="0">${shown}</div>`;
}
