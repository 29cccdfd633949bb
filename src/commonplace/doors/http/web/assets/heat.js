// A year of days as a strip, darker or lighter by how much each brought, with the scale beside it. It knows nothing of memories.

import { html, useLayoutEffect, useRef, useState } from "/assets/vendor.js";
import { number } from "/assets/words.js";

export const iso = (date) => `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, "0")}-${String(date.getDate()).padStart(2, "0")}`;
export const dateOf = (day) => new Date(`${day}T12:00:00`);
const LONG = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" });
export const inWords = (day) => LONG.format(dateOf(day));
const MONTH = new Intl.DateTimeFormat("en-GB", { month: "short" });
const LEVELS = 4;

// From how many on a day is of each level: quarters of what a busy day brings. A single day of thousands does not pale the others.
export function levels(counts) {
  const all = counts.filter(Boolean).sort((one, other) => one - other), busy = all[Math.floor((all.length - 1) * 0.9)] ?? LEVELS;
  return Array.from({ length: LEVELS }, (_, at) => Math.max(at + 1, Math.ceil((busy * at) / LEVELS)));
}
export const levelOf = (count, least) => least.filter((value) => count >= value).length;

// The days of the year that ends with a day, in whole weeks from Monday.
function weeks(last) {
  const end = dateOf(last), start = new Date(end), days = [];
  start.setDate(start.getDate() - 7 * 52 - ((end.getDay() + 6) % 7));
  for (const day = start; day <= end; day.setDate(day.getDate() + 1)) days.push(iso(day));
  return days;
}

const ranges = (least) => least.map((from, at) => (least[at + 1] ? (least[at + 1] - 1 > from ? `${number(from)} to ${number(least[at + 1] - 1)}` : number(from)) : `${number(from)} or more`));

/* <${Heat} counts=${{ "2026-03-01": 4 }} last="2026-03-09" unit=${memories} onOpen=${(day) => …} /> */
export function Heat({ counts, last, unit, onOpen }) {
  const days = weeks(last), least = levels(days.map((day) => counts[day] || 0)), strip = useRef();
  const [at, move] = useState(days.length - 1);
  useLayoutEffect(() => { strip.current.scrollLeft = strip.current.scrollWidth; }, []);
  const total = days.reduce((sum, day) => sum + (counts[day] || 0), 0);
  const steps = { ArrowLeft: -7, ArrowRight: 7, ArrowUp: -1, ArrowDown: 1, Home: -days.length, End: days.length };
  const pressed = (event) => {
    if (!steps[event.key]) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(days.length - 1, at + steps[event.key]));
    move(next);
    strip.current.querySelector(`[data-day="${days[next]}"]`).focus();
  };
  const months = days.filter((day, number_) => day.endsWith("-01") && number_ < days.length - 10).map((day) => ({ day, week: Math.floor(days.indexOf(day) / 7) + 1 }));
  return html`<figure class="heat-figure"><div class="heat" ref=${strip} role="group" aria-label=${`${unit(total)} over the last year, by day`} onKeyDown=${pressed}>
      <div class="heat-months" aria-hidden="true">${months.map(({ day, week }) => html`<span key=${day} style=${{ gridColumn: week }}>${MONTH.format(dateOf(day))}</span>`)}</div>
      <div class="heat-days">${days.map((day, number_) => html`<button key=${day} type="button" data-day=${day} class=${`level-of-${levelOf(counts[day] || 0, least)}`} tabindex=${number_ === at ? 0 : -1}
        title=${`${inWords(day)}: ${unit(counts[day] || 0)}`} aria-label=${`${inWords(day)}: ${unit(counts[day] || 0)}`} onFocus=${() => move(number_)} onClick=${() => onOpen(day)}></button>`)}</div></div>
    <figcaption class="heat-scale"><span>A day with</span><span><i class="level-of-0"></i>none</span>${ranges(least).map((words, number_) => html`<span><i class=${`level-of-${number_ + 1}`}></i>${words}</span>`)}</figcaption></figure>`;
}
