// Home: what an agent is given at the start of a session, what each part costs, and why it is there.

import { get } from "/assets/api.js";
import { h, latest, tone } from "/assets/dom.js";

export async function show(main) {
  const draw = latest(() => Promise.all([get("/context"), get("/status")]), ([context, status]) => main.replaceChildren(
    h("h1", {}, "What an agent is given"),
    h("p", { class: "why" }, `${status.records} memories in ${status.documents} documents (${status.dialect}). `
      + `At session start an agent gets ${context.characters.toLocaleString()} characters, about ${context.tokens.toLocaleString()} tokens.`),
    bars(context.sections), costs(context.sections),
    h("h2", {}, "Exactly as it is sent"), h("pre", { class: "text", tabIndex: 0, "aria-label": "The text" }, context.text || "Nothing yet: the memory is empty."),
    h("h2", {}, "Why each line is there"), reasons(context.lines, "Reason", (line) => line.reason),
    ...context.left_out.length === 0 ? [] : [h("h2", {}, `Left out (${context.left_out.length})`), reasons(context.left_out, "Why not", (line) => line.why)]));
  await draw();
  return { changed: draw };
}

function bars(sections) {
  const whole = sections.reduce((sum, section) => sum + section.tokens, 0) || 1;
  const parts = sections.map((section, at) => {
    const part = h("span", { title: `${section.name}: ${section.tokens} tokens` });
    part.style.width = `${(100 * section.tokens) / whole}%`;
    part.style.background = tone(at);
    return part;
  });
  return h("div", { class: "bars", "aria-hidden": "true" }, parts);
}

const costs = (sections) => h("div", { class: "wide" }, h("table", {}, h("caption", { class: "hidden" }, "Cost by section"),
  h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Section"), h("th", { scope: "col", class: "number" }, "Lines"), h("th", { scope: "col", class: "number" }, "Tokens"))),
  h("tbody", {}, sections.map((section) => h("tr", {}, h("th", { scope: "row" }, section.name),
    h("td", { class: "number" }, String(section.lines)), h("td", { class: "number" }, String(section.tokens)))))));

const MOST = 300;

function reasons(lines, title, told) {
  const more = lines.length - MOST;
  return h("div", { class: "wide" }, h("table", {},
    h("thead", {}, h("tr", {}, ["Line", "Section", title, "Age"].map((name) => h("th", { scope: "col" }, name)), h("th", { scope: "col", class: "number" }, "Tokens"))),
    h("tbody", {}, lines.slice(0, MOST).map((line) => h("tr", {}, h("td", { class: "text" }, line.text), h("td", {}, line.section), h("td", {}, told(line)),
      h("td", {}, line.age_days === null || line.age_days === undefined ? "" : `${line.age_days} d`), h("td", { class: "number" }, String(line.tokens)))))),
  more > 0 && h("p", { class: "why" }, `${more.toLocaleString()} more: commonplace context --explain lists them all.`));
}
