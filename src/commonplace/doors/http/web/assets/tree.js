// The documents as a tree of folders, with a filter by name.

import { useChoice } from "/assets/data.js";
import { Icon } from "/assets/icons.js";
import { documentAddress, Link } from "/assets/router.js";
import { html, useEffect, useRef } from "/assets/vendor.js";
import { clock, day, number } from "/assets/words.js";

const MANY = 25;
// A diary entry is named by its time in UTC: people read their own.
const ENTRY = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)(\.md|-.*)?$/;
function shown(name) {
  const [, date, hours, minutes, seconds] = name.match(ENTRY) || [], time = `${date}T${hours}:${minutes}:${seconds}Z`;
  return date ? `${day(time)} ${clock(time)}` : name.replace(/\.md$/, "");
}
// Days and times as people read a list of them: the newest first.
const DATED = /^\d{4}-\d\d(-\d\d)?/;
const order = (one, other) => (DATED.test(one) && DATED.test(other) ? other.localeCompare(one) : one.localeCompare(other, "en", { numeric: true, sensitivity: "base" }));

// { folders: Map of name to the same, files: [[last part, whole name]], count }
export function treeOf(names) {
  const root = { folders: new Map(), files: [], count: 0 };
  for (const name of names) {
    const parts = name.split("/");
    let at = root;
    at.count += 1;
    for (const part of parts.slice(0, -1)) {
      if (!at.folders.has(part)) at.folders.set(part, { folders: new Map(), files: [], count: 0 });
      at = at.folders.get(part);
      at.count += 1;
    }
    at.files.push([parts.at(-1), name]);
  }
  return root;
}

// The documents that agents are made of come first, in the order in which they matter.
const ROLES = ["memory", "user", "soul", "status"];
const ranked = (files, roles) => files.sort(([one, first], [other, second]) => {
  const ranks = [first, second].map((name) => (roles[name] ? ROLES.indexOf(roles[name]) : ROLES.length));
  return ranks[0] - ranks[1] || order(one, other);
});

function File({ label, name, current, typed }) {
  const place = useRef();
  useEffect(() => { if (name === current) place.current.scrollIntoView({ block: "nearest" }); }, [name === current]);
  return html`<li ref=${place}><${Link} to=${documentAddress(name)} title=${name} aria-current=${name === current ? "page" : undefined} dir="auto">
    <span>${label}</span>${typed.has(name) && html`<span class="unsaved" role="img" aria-label="not saved yet" title="Not saved yet"></span>`}</${Link}></li>`;
}

function Folder({ name, path, branch, at, ...given }) {
  const { open, turn, current } = given;
  const isOpen = open[path] ?? (branch.count <= MANY || current.startsWith(path));
  return html`<li><button type="button" class="folder" aria-expanded=${isOpen} onClick=${() => turn(path, !isOpen)}>
      <${Icon} name=${isOpen ? "down" : "right"} size=${14} /><span dir="auto">${name}</span><span class="count">${number(branch.count)}</span></button>
    ${isOpen && html`<${Branch} branch=${branch} path=${path} ...${given} />`}</li>`;
}

const Branch = ({ branch, path = "", ...given }) => html`<ul>
  ${ranked([...branch.files], path ? {} : given.roles).map(([label, name]) => html`<${File} key=${name} label=${shown(label)} name=${name} ...${given} />`)}
  ${[...branch.folders].sort(([one], [other]) => order(one, other)).map(([name, each]) => html`<${Folder} key=${name} name=${name} path=${`${path}${name}/`} branch=${each} ...${given} />`)}</ul>`;

// What was looked for, with the folder that it stands in beside it.
function Found({ names, words, ...given }) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const found = names.filter((name) => wanted.every((word) => name.toLowerCase().includes(word)));
  if (!found.length) return html`<p class="muted small" role="status">No document has “${words}” in its name.</p>`;
  return html`<ul>${found.slice(0, 200).map((name) => html`<${File} key=${name} label=${shown(name)} name=${name} ...${given} />`)}</ul>`;
}

/* <${Tree} names roles words current typed /> */
export function Tree({ names, roles, words, current, typed }) {
  const [open, set] = useChoice("folders", {});
  const given = { roles, current, typed, open, turn: (path, isOpen) => set({ ...open, [path]: isOpen }) };
  return html`<nav class="tree" aria-label="Documents">${words.trim() ? html`<${Found} names=${names} words=${words} ...${given} />` : html`<${Branch} branch=${treeOf(names)} ...${given} />`}</nav>`;
}
