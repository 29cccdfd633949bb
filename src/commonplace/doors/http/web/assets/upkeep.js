// Upkeep: what a scan finds and what would mend it, compaction before it runs, size over time.

import { call, documentAddress, get, post } from "/assets/api.js";
import { ask, drawn, h, say } from "/assets/dom.js";

export async function show(main) {
  async function draw() {
    const [scan, sizes, state, { tokens }] = await Promise.all([get("/scan"), get("/sizes"), get("/upkeep"), call("/api/tokens")]);
    main.replaceChildren(h("h1", {}, "Upkeep"),
      h("h2", {}, "Size over time"), plot(sizes.days),
      h("h2", {}, `Findings (${scan.findings.length})`), findings(scan.findings, draw),
      h("h2", {}, "Compaction"), h("p", { class: "why" }, "Old records become summaries in the long-term document, each naming what it was made from."),
      h("button", { type: "button", onclick: () => preview(draw) }, "Show what it would do…"),
      h("h2", {}, "Schedule"), schedule(state.jobs, draw),
      h("h2", {}, `Access (${tokens.length})`), h("p", { class: "why" }, "Programs that may come in: by a token that you made, or because you allowed it on this page (OAuth)."), access(tokens, draw));
  }
  await draw();
}

function findings(found, draw) {
  if (!found.length) return h("p", { class: "none" }, "Nothing to mend.");
  return h("ul", { class: "cards" }, found.map((finding) => h("li", { class: "card", tabIndex: 0 },
    h("p", {}, finding.sentence), struck(finding), h("div", { class: "meta" }, h("span", { class: "kind" }, finding.kind),
      finding.places.map(placed)),
    finding.command && h("div", { class: "row" }, h("code", { class: "grow" }, finding.command),
      finding.action && h("button", { type: "button", onclick: () => mend(finding, draw) }, "Do it")))));
}

// Which of those that a finding names its command takes out: the command itself has only ids.
const struck = (finding) => finding.strikes.map((text) => h("p", { class: "struck" }, `Strikes “${text}”`));

function placed(place) {
  const [, name, line] = /^(.*?)(?::(\d+))?$/.exec(place);
  return h("a", { href: documentAddress(name, line), "data-go": true }, place);
}

async function mend(finding, draw) {
  const given = await ask("Do this?", h("div", {}, h("p", {}, finding.sentence), struck(finding), h("pre", { class: "text" }, finding.command)), { yes: "Do it" });
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

const schedule = (jobs, draw) => jobs.length === 0 ? h("p", { class: "none" }, "Nothing is scheduled.") : h("div", { class: "wide" }, h("table", {},
  h("thead", {}, h("tr", {}, ["Job", "Last", "How it went", "Next", ""].map((name) => h("th", { scope: "col" }, name)))),
  h("tbody", {}, jobs.map((job) => h("tr", {}, h("th", { scope: "row" }, job.job), h("td", {}, job.last || "never"),
    h("td", {}, `${job.outcome} ${job.what}`), h("td", {}, job.next),
    h("td", {}, h("button", { type: "button", "data-job": job.job, onclick: () => runNow(job.job, draw) }, "Run now")))))));

async function runNow(job, draw) {
  try {
    const { runs } = await post(`/upkeep/${encodeURIComponent(job)}`);
    say(runs.map((run) => `${run.name}: ${run.outcome} ${run.what}`).join("; ") || "Somebody else runs it.");
    await draw();
    document.querySelector(`[data-job="${CSS.escape(job)}"]`)?.focus();
  } catch (error) { say(error.message, true); }
}

const access = (tokens, draw) => tokens.length === 0 ? h("p", { class: "none" }, "No program may come in.") : h("ul", { class: "cards", "aria-label": "Access" }, tokens.map((token) =>
  h("li", { class: "card", "data-token": token.name }, h("p", {}, token.name),
    h("div", { class: "meta" }, h("span", { class: "kind" }, token.oauth ? "OAuth" : "token"), h("span", {}, token.scope), h("span", {}, token.vaults.join(", ") || "all vaults")),
    h("div", { class: "row" }, h("button", { type: "button", class: "bad", onclick: () => end(token, draw) }, "End…")))));

async function end(token, draw) {
  const given = await ask("End this access?", h("p", {}, `${token.name} can then no longer come in. It has to be allowed anew.`), { yes: "End it", bad: true });
  if (!given) return;
  try { await call("/api/tokens/revoke", "POST", { name: token.name }); say(`${token.name} can no longer come in.`); await draw(); } catch (error) { say(error.message, true); }
}

// Two lines over the days, each by a scale of its own: tokens by the left one, memories by the right.
// Their figures begin at the edges of the plot: in a wide font they grow inwards and are not cut.
const LINES = [
  { what: "tokens", name: "tokens", edge: () => 8, anchor: "start", tone: "var(--tone-0)" },
  { what: "records", name: "memories", edge: (width) => width - 8, anchor: "end", tone: "var(--tone-1)" },
];
const HEIGHTS = [0, 0.5, 1];
const high = (share) => 205 - 180 * share;
// It is scaled to the screen with its letters: on a phone they can be read when it is drawn less wide.
const widest = () => (matchMedia("(max-width: 760px)").matches ? 400 : 1000);

function plot(days) {
  if (days.length < 2) return h("p", { class: "none" }, "There is too little yet to draw.");
  const [first, last] = [days[0], days.at(-1)];
  const begun = Date.parse(first.day), span = Date.parse(last.day) - begun || 1;
  const width = widest();
  const across = (day) => 100 + ((width - 200) * (Date.parse(day) - begun)) / span;
  const label = `From ${first.tokens} tokens in ${first.records} memories on ${first.day} to ${last.tokens} in ${last.records} on ${last.day}`;
  return h("figure", {}, drawn("svg", { class: "plot", viewBox: `0 0 ${width} 240`, role: "img", "aria-label": label },
    HEIGHTS.map((share) => drawn("line", { x1: 100, x2: width - 100, y1: high(share), y2: high(share), class: "grid" })),
    LINES.map((line) => drawnLine({ ...line, edge: line.edge(width) }, days, across)),
    [first, last].map((day, at) => drawn("text", { fill: "currentColor", x: at ? width - 8 : 8, y: 230, "text-anchor": at ? "end" : "start" }, day.day))),
  h("figcaption", { class: "why" }, `${label}.`));
}

function drawnLine({ what, name, edge, anchor, tone }, days, across) {
  const most = Math.max(1, ...days.map((day) => day[what]));
  const points = days.map((day) => `${across(day.day)},${high(day[what] / most)}`).join(" ");
  return [
    drawn("polyline", { points, fill: "none", stroke: tone, "stroke-width": 2.5 }),
    days.map((day) => drawn("circle", { cx: across(day.day), cy: high(day[what] / most), r: 4, fill: tone },
      drawn("title", {}, `${day.day}: ${day[what].toLocaleString()} ${name}`))),
    HEIGHTS.map((share) => drawn("text", { x: edge, y: high(share) + 5, "text-anchor": anchor, fill: tone }, Math.round(share * most).toLocaleString())),
    drawn("text", { x: edge, y: 14, "text-anchor": anchor, fill: tone }, name),
  ];
}
