// Days: how much each day brought, the months as a calendar, and the entries of a day to read.

import { get, named } from "/assets/api.js";
import { bare, h, say } from "/assets/dom.js";

const iso = (date) => `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, "0")}-${String(date.getDate()).padStart(2, "0")}`;
const WEEK = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const warmth = (count) => (count === 0 ? "" : count < 3 ? "warm1" : count < 8 ? "warm2" : count < 20 ? "warm3" : "warm4");
// An address may be typed, and a person's line may say any time.
const hasMonth = (text) => /^\d{4}-(0[1-9]|1[0-2])(-|$)/.test(text || "");

export async function show(main, rest) {
  const told = await get("/days");
  const byDay = new Map();
  for (const [name, day] of [...Object.entries(told.daily), ...Object.entries(told.diary)]) {
    const key = day.slice(0, 10);
    byDay.set(key, [...(byDay.get(key) || []), name]);
  }
  const last = [...Object.keys(told.counts), ...byDay.keys()].filter(hasMonth).sort().at(-1) || iso(new Date());
  let month = (hasMonth(rest[0]) ? rest[0] : last).slice(0, 7);
  const title = h("h2", { "aria-live": "polite" });
  const calendar = h("div", { class: "calendar" });
  const reading = h("section", { "aria-live": "polite" });

  async function read(name) {
    try {
      const [{ text }, { rendered }] = await Promise.all([get(`/documents/${named(name)}`), import("/assets/vendor.js")]);
      reading.replaceChildren(h("h2", {}, name), h("div", { class: "paper" }, rendered(bare(text))));
      reading.scrollIntoView({ block: "nearest" });
    } catch (error) { say(error.message, true); }
  }

  // Only what another month changes: the buttons keep the focus, and the strip stays where it was scrolled to.
  function draw() {
    const [year, number] = month.split("-").map(Number);
    const first = new Date(year, number - 1, 1);
    const blanks = (first.getDay() + 6) % 7;
    const count = new Date(year, number, 0).getDate();
    const names = WEEK.map((name) => h("div", { class: "weekday", "aria-hidden": "true" }, name));
    const cells = Array.from({ length: blanks }, () => h("div", { class: "day empty", "aria-hidden": "true" }));
    for (let day = 1; day <= count; day += 1) cells.push(cell(`${month}-${String(day).padStart(2, "0")}`, day));
    title.textContent = first.toLocaleDateString("en", { month: "long", year: "numeric" });
    calendar.replaceChildren(...names, ...cells);
  }

  function turn(by) {
    const [year, number] = month.split("-").map(Number);
    month = iso(new Date(year, number - 1 + by, 1)).slice(0, 7);
    draw();
  }

  function cell(key, day) {
    const count = told.counts[key] || 0;
    return h("div", { class: "day" }, h("strong", {}, String(day)), count > 0 && h("span", { class: "why" }, ` ${count}`, h("span", { class: "unit" }, count === 1 ? " memory" : " memories")),
      (byDay.get(key) || []).map((name) => h("a", { href: `/documents/${name}`, onclick: (event) => { event.preventDefault(); read(name); } },
        name.startsWith("diary") ? `diary ${told.diary[name].slice(11, 16)}` : "log")));
  }

  function heat() {
    const today = new Date(`${last}T12:00:00`);
    const start = new Date(today);
    start.setDate(start.getDate() - 7 * 52 - ((today.getDay() + 6) % 7));
    const cells = [];
    let total = 0;
    for (const day = new Date(start); day <= today; day.setDate(day.getDate() + 1)) {
      const count = told.counts[iso(day)] || 0;
      total += count;
      cells.push(h("span", { class: warmth(count), title: `${iso(day)}: ${count}` }));
    }
    return h("div", { class: "heat", role: "img", tabIndex: 0, "aria-label": `${total} memories over the last year, by day` }, cells);
  }

  const days = heat();
  main.replaceChildren(h("h1", {}, "Days"), days,
    h("div", { class: "row" }, h("button", { type: "button", onclick: () => turn(-1), "aria-label": "Month before" }, "‹"), title,
      h("button", { type: "button", onclick: () => turn(1), "aria-label": "Month after" }, "›")),
    calendar, reading);
  draw();
  days.scrollLeft = days.scrollWidth;
}
