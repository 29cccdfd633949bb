// A document as it reads, with boxes that can be ticked and links that lead to other documents.

import { documentAddress, address } from "/assets/router.js";
import { bare, lowered } from "/assets/text.js";
import { html, rendered, useLayoutEffect, useRef } from "/assets/vendor.js";

const TASK = /^(\s*(?:[-*+]|\d+[.)])\s+\[)([ xX])(\]\s)/;
const FENCE = /^\s*(```|~~~)/;

// Where the boxes of a text stand: the number of the line and whether it is ticked.
export function tasks(text) {
  const found = [];
  let fence = "";
  text.split("\n").forEach((line, at) => {
    const mark = line.match(FENCE)?.[1];
    if (mark && (!fence || fence === mark)) fence = fence ? "" : mark;
    const task = !fence && line.match(TASK);
    if (task) found.push({ line: at + 1, column: task[1].length, done: task[2] !== " " });
  });
  return found;
}

// Puts a box in place of each "[ ] " that begins an item. If the text does not say where one stands, it only shows.
function boxed(made, text, onTick) {
  // A comment is not shown, and the lines keep their numbers.
  const known = tasks(text.replace(/<!--[\s\S]*?-->/g, (all) => all.replace(/[^\n]/g, "")));
  const items = [...made.querySelectorAll("li")].map((item) => ({ item, first: firstText(item) })).filter(({ first }) => first && /^\[[ xX]\]\s/.test(first.data));
  items.forEach(({ item, first }, at) => {
    const box = Object.assign(document.createElement("input"), { type: "checkbox", checked: first.data[1] !== " " });
    first.data = first.data.slice(4);
    const task = known.length === items.length ? known[at] : null;
    box.disabled = !task || !onTick;
    box.setAttribute("aria-label", item.textContent.trim().split("\n")[0]);
    box.addEventListener("change", () => onTick(task, box.checked));
    first.before(box, " ");
    item.classList.add("task");
  });
}

function firstText(item) {
  let at = item.firstChild;
  while (at && at.nodeType === Node.TEXT_NODE && !at.data.trim()) at = at.nextSibling;
  return at?.nodeName === "P" ? firstText(at) : at?.nodeType === Node.TEXT_NODE ? at : null;
}

// A link to another document opens it here; one to elsewhere opens beside the page.
function linked(made, name) {
  for (const link of made.querySelectorAll("a[href]")) {
    const href = link.getAttribute("href");
    if (/^https?:/.test(href)) { link.target = "_blank"; link.rel = "noopener noreferrer"; } else if (/^[^:#?]+\.md(#.*)?$/.test(href)) {
      const path = new URL(href, new URL(documentAddress(name), location.origin)).pathname;
      link.setAttribute("href", address(path));
    }
  }
}

/* <${Preview} name text onTick=${({ line, column }, done) => …} />; without `onTick` the boxes only show. */
export function Preview({ name, text, onTick }) {
  const place = useRef(), tick = useRef(onTick);
  tick.current = onTick;
  useLayoutEffect(() => {
    const made = rendered(bare(text));
    boxed(made, text, onTick && ((...given) => tick.current(...given)));
    linked(made, name);
    lowered(made);
    place.current.replaceChildren(made);
  }, [text, name, Boolean(onTick)]);
  return html`<div class="prose paper" dir="auto" ref=${place}></div>`;
}
