// How the page says things: days, counts, kinds, who. It draws nothing.

const DAY = 864e5;
const parsed = (time) => { const at = new Date(time); return Number.isNaN(at.getTime()) ? null : at; };
const midnight = (at) => new Date(at.getFullYear(), at.getMonth(), at.getDate()).getTime();
const daysAgo = (at, now) => Math.round((midnight(now) - midnight(at)) / DAY);

const format = (options) => new Intl.DateTimeFormat("en-GB", options);
const WEEKDAY = format({ weekday: "long" });
const SHORT = format({ day: "numeric", month: "long" });
const LONG = format({ day: "numeric", month: "long", year: "numeric" });
const CLOCK = format({ hour: "2-digit", minute: "2-digit" });
const FULL = format({ weekday: "long", day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" });

// A day in words, in the viewer's zone: today, yesterday, Monday, 3 March, 3 March 2024.
export function day(time, now = new Date()) {
  const at = parsed(time);
  if (!at) return "";
  const ago = daysAgo(at, now);
  if (ago === 0) return "today";
  if (ago === 1) return "yesterday";
  if (ago > 1 && ago < 7) return WEEKDAY.format(at);
  return at.getFullYear() === now.getFullYear() ? SHORT.format(at) : LONG.format(at);
}

// A moment in words: just now, 5 minutes ago, today 14:05, yesterday 14:05, then the day alone.
export function moment(time, now = new Date()) {
  const at = parsed(time);
  if (!at) return "";
  const minutes = Math.floor((now - at) / 60000);
  if (minutes >= 0 && minutes < 1) return "just now";
  if (minutes >= 0 && minutes < 60) return count(minutes, "minute ago", "minutes ago");
  const ago = daysAgo(at, now);
  return ago >= 0 && ago < 2 ? `${day(time, now)} ${CLOCK.format(at)}` : day(time, now);
}

// A calendar day as the gateway tells it (2026-03-03), which has no zone.
export const dayOf = (text, now) => day(`${text}T12:00:00`, now);
export const full = (time) => { const at = parsed(time); return at ? FULL.format(at) : ""; };
export const clock = (time) => { const at = parsed(time); return at ? CLOCK.format(at) : ""; };
export const upper = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const number = (value) => Number(value).toLocaleString("en");
// 1 memory, 300 memories.
export const count = (many, one, more = `${one}s`) => `${number(many)} ${many === 1 ? one : more}`;
export const memories = (many) => count(many, "memory", "memories");

// Bytes as people say them.
export function size(bytes) {
  const unit = [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]].find(([, least]) => bytes >= least);
  return unit ? `${(bytes / unit[1]).toFixed(bytes >= 10 * unit[1] ? 0 : 1)} ${unit[0]}` : count(bytes, "byte");
}

// The kinds that Commonplace knows have a colour each that never changes; any other has one by its name.
export const KINDS = ["note", "preference", "fact", "instruction", "context", "correction"];
const TONES = 12;
export function tone(kind) {
  const at = KINDS.indexOf(kind);
  if (at >= 0) return at;
  let sum = 0;
  for (const letter of kind || "") sum = (sum * 31 + letter.codePointAt(0)) % 9973;
  return KINDS.length + (sum % (TONES - KINDS.length));
}
export const toned = (number) => `var(--tone-${number % TONES})`;

// Who did something: you, the agent (with its client's name where that is known), or where it came from.
const ORIGINS = {
  owner: "You", agent: "The agent", system: "Commonplace", import: "Imported", tool: "A tool", web: "A web page",
};
const MAKERS = { you: "You", agent: "The agent", editor: "You, in an editor", import: "Imported", commonplace: "Commonplace" };
export function who({ who: maker = "", origin = "", client = "" } = {}) {
  if (client && (maker === "agent" || (!maker && origin === "agent"))) return client;
  return MAKERS[maker] || ORIGINS[origin] || upper(origin) || "Unknown";
}
export const isYou = ({ who: maker, origin } = {}) => (maker ? maker === "you" || maker === "editor" : origin === "owner");

// Times that a filter offers, each by its first day.
const iso = (at) => `${at.getFullYear()}-${String(at.getMonth() + 1).padStart(2, "0")}-${String(at.getDate()).padStart(2, "0")}`;
const ago = (days) => iso(new Date(Date.now() - days * DAY));
export const TIMES = () => [[ago(0), "Today"], [ago(6), "The last 7 days"], [ago(29), "The last 30 days"], [`${new Date().getFullYear()}-01-01`, "This year"]];
