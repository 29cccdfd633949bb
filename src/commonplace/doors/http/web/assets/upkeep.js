// Upkeep: what a scan finds and what would mend it, compaction before it runs, size over time.

import { get, post } from "/assets/api.js";
import { ask, drawn, h, say } from "/assets/dom.js";

export async function show(main) {
  async function draw() {
    const [scan, sizes, state] = await Promise.all([get("/scan"), get("/sizes"), get("/upkeep")]);
    main.replaceChildren(h("h1", {}, "Upkeep"),
      h("h2", {}, "Size over time"), plot(sizes.days),
      h("h2", {}, `Findings (${scan.findings.length})`), findings(scan.findings, draw),
      h("h2", {}, "Compaction"), h("p", { class: "why" }, "Old records become summaries in the long-term document, each naming what it was made from."),
      h("button", { type: "button", onclick: () => preview(draw) }, "Show what it would do…"),
      h("h2", {}, "Schedule"), schedule(state.jobs));
  }
  await draw();
}

function findings(found, draw) {
  if (!found.length) return h("p", { class: "none" }, "Nothing to mend.");
  return h("ul", { class: "cards" }, found.map((finding) => h("li", { class: "card", tabIndex: 0 },
    h("p", {}, finding.sentence), h("div", { class: "meta" }, h("span", { class: "kind" }, finding.kind),
      finding.places.map(placed)),
    finding.command && h("div", { class: "row" }, h("code", { class: "grow" }, finding.command),
      finding.action && h("button", { type: "button", onclick: () => mend(finding, draw) }, "Do it")))));
}

function placed(place) {
  const [, name, line] = /^(.*?)(?::(\d+))?$/.exec(place);
  return h("a", { href: `/documents/${name}?line=${line || 0}`, "data-go": true }, place);
}

async function mend(finding, draw) {
  const given = await ask("Do this?", h("div", {}, h("p", {}, finding.sentence), h("pre", { class: "text" }, finding.command)), { yes: "Do it" });
  if (!given) return;
  try { await post("/mend", finding.action); say("Done. Undo takes it back where it can."); await draw(); } catch (error) { say(error.message, true); }
}

async function preview(draw) {
  try {
    const plan = await post("/compact", { dry_run: true });
    if (!plan.difference) { say("There is nothing old enough to compact."); return; }
    const given = await ask("What compaction would do", h("div", {}, h("p", {}, plan.sentence),
      h("div", { class: "diff" }, plan.difference.split("\n").map((line) => h(line.startsWith("+") ? "ins" : "del", {}, line)))), { yes: "Compact now" });
    if (!given) return;
    const done = await post("/compact", { dry_run: false });
    say(done.sentence);
    await draw();
  } catch (error) { say(error.message, true); }
}

const schedule = (jobs) => jobs.length === 0 ? h("p", { class: "none" }, "Nothing is scheduled.") : h("div", { class: "wide" }, h("table", {},
  h("thead", {}, h("tr", {}, ["Job", "Last", "How it went", "Next", ""].map((name) => h("th", { scope: "col" }, name)))),
  h("tbody", {}, jobs.map((job) => h("tr", {}, h("th", { scope: "row" }, job.job), h("td", {}, job.last || "never"),
    h("td", {}, `${job.outcome} ${job.what}`), h("td", {}, job.next),
    h("td", {}, h("button", { type: "button", onclick: () => runNow(job.job) }, "Run now")))))));

async function runNow(job) {
  try { const { runs } = await post(`/upkeep/${encodeURIComponent(job)}`); say(runs.map((run) => `${run.name}: ${run.outcome} ${run.what}`).join("; ") || "Somebody else runs it."); }
  catch (error) { say(error.message, true); }
}

function plot(days) {
  if (days.length < 2) return h("p", { class: "none" }, "There is too little yet to draw.");
  const most = days.at(-1).tokens || 1;
  const points = days.map((day, at) => `${(1000 * at) / (days.length - 1)},${190 - (180 * day.tokens) / most}`).join(" ");
  const label = `From ${days[0].tokens} tokens on ${days[0].day} to ${most} on ${days.at(-1).day}`;
  return h("figure", { style: undefined }, drawn("svg", { class: "plot", viewBox: "0 0 1000 200", preserveAspectRatio: "none", role: "img", "aria-label": label },
    drawn("polyline", { points, fill: "none", stroke: "currentColor", "stroke-width": 2, "vector-effect": "non-scaling-stroke" })),
  h("figcaption", { class: "why" }, `${label}, ${days.at(-1).records} memories.`));
}
