// Conversations: what was said with agents, word for word. One is opened by its session, and at a message (?at=).

import { get, post } from "/assets/api.js";
import { useData, useSettled } from "/assets/data.js";
import { Icon } from "/assets/icons.js";
import { MemoryCard } from "/assets/memories.js";
import { go, Link, useQuery } from "/assets/router.js";
import { conversationAddress, messages, named, Row } from "/assets/said.js";
import { Markdown, Marked } from "/assets/text.js";
import { ask, Button, Card, Cards, Empty, Input, Loaded, Menu, Meta, More, Page, Section, Skeleton, toast, toastWrong, When } from "/assets/ui.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "/assets/vendor.js";
import { clock, count, day, full, memories, number, upper } from "/assets/words.js";

export const sheet = "/assets/places/conversations.css";

const AT_ONCE = 60, PAGE = 50;

export default function Conversations({ rest, query }) {
  return rest.length ? html`<${Conversation} key=${rest.join("/")} session=${rest.join("/")} at=${query.get("at") || ""} />` : html`<${Listing} />`;
}

// ---- All of them.

function Listing() {
  const [query, setQuery] = useQuery(), [words, type] = useState(query.words), settled = useSettled(words);
  useEffect(() => { setQuery({ words: settled }); }, [settled]);
  const [limit, more] = useState(AT_ONCE), sessions = useData("/history/sessions", { limit });
  const lead = sessions.data?.count > 0 ? `${count(sessions.data.count, "conversation")}, ${messages(sessions.data.messages)}, word for word as your clients recorded them.` : "";
  return html`<${Page} title="Conversations" lead=${lead}>
    <${Loaded} of=${sessions} cards=${6}>${(data) => data.count === 0 ? html`<${Empty} icon="conversations" title="No conversations yet" actions=${html`<${Link} class="button" to="/settings">Connect a client</${Link}>`}>
        Connected clients record what you and the agent say. Recorded messages are history: only what is remembered becomes memory.</${Empty}>`
      : html`<div class="row"><div class="grow"><${Input} label="Search in what was said" hidden type="search" placeholder="Search in what was said" value=${words} onInput=${type} /></div></div>
        ${settled.trim() ? html`<${Found} words=${settled} />` : html`<${Days} sessions=${data.sessions} />
          ${data.more && html`<${More} left=${Math.min(AT_ONCE, data.count - data.sessions.length)} one="older ones" onClick=${() => more(Math.min(500, limit + AT_ONCE))} />`}`}`}</${Loaded}></${Page}>`;
}

const MONTH = new Intl.DateTimeFormat("en-GB", { month: "long", year: "numeric" });
const WEEK = 7 * 864e5;
// Today, yesterday, the last days together, then month by month.
function stretch(time) {
  const said = day(time);
  if (said === "today" || said === "yesterday") return upper(said);
  return Date.now() - Date.parse(time) < WEEK ? "The last seven days" : MONTH.format(new Date(time));
}

// The conversations below the time at which something was last said in them.
function Days({ sessions }) {
  const groups = [];
  for (const each of sessions) {
    const title = stretch(each.last);
    if (groups.at(-1)?.title === title) groups.at(-1).sessions.push(each);
    else groups.push({ title, sessions: [each] });
  }
  return groups.map(({ title, sessions: own }) => html`<${Section} key=${title} class="section said-day" title=${title}><${Cards} label=${`Conversations of ${title}`}>${own.map((each) => html`<${Row} key=${each.session} said=${each} />`)}</${Cards}></${Section}>`);
}

function Found({ words }) {
  const found = useData("/history/search", { text: words, limit: 100 }, { on: false });
  return html`<${Loaded} of=${found}>${({ messages: all, titles }) => all.length === 0 ? html`<${Empty} icon="search" title="Nobody said that">No message has “${words}” in it. Try other words.</${Empty}>`
    : html`<p class="muted" role="status">${all.length === 100 ? "The 100 messages that fit best" : count(all.length, "message fits", "messages fit")}, the best first.</p>
      <${Cards} label="Messages that were found">${all.map((each) => html`<${Card} key=${each.id}><${Excerpt} text=${each.content} words=${words} to=${conversationAddress(each.session, each.id)} />
        <${Meta}><${Speaker} message=${each} /><${When} at=${each.time} exact /><span dir="auto">in ${titles[each.session] || each.session || "a conversation without a name"}</span></${Meta}></${Card}>`)}</${Cards}>`}</${Loaded}>`;
}

const AROUND = 140;

// The part of a message in which the words stand.
function Excerpt({ text, words, to }) {
  const wanted = words.toLowerCase().match(/[\p{L}\p{N}]{2,}/gu) || [], low = text.toLowerCase();
  const at = Math.max(0, Math.min(...wanted.map((word) => low.indexOf(word)).filter((found) => found >= 0), text.length));
  const start = at === text.length ? 0 : Math.max(0, at - AROUND), end = Math.min(text.length, start + 3 * AROUND);
  return html`<${Link} class="excerpt" to=${to} dir="auto">${start > 0 && "… "}<${Marked} text=${text.slice(start, end)} words=${words} />${end < text.length && " …"}</${Link}>`;
}

// ---- One of them.

const ROLES = { user: "You", assistant: "The agent", system: "Instructions", tool: "A tool" };
const isYours = ({ role, channel }) => role === "user" && channel !== "tool";
function Speaker({ message }) {
  const said = message.role === "user" && !isYours(message) ? "You, as the agent noted it" : ROLES[message.role] || upper(message.role);
  return html`<span class=${`who ${isYours(message) ? "you" : ""}`}><${Icon} name=${isYours(message) ? "person" : "agent"} size=${16} />${said}</span>`;
}

// The messages around one place, with those before and after it as they are asked for.
function useMessages(session, at) {
  const [now, set] = useState({ messages: null, earlier: false, later: false, title: "", busy: false, error: null });
  const asked = useRef(0);
  const ask = async (query, join) => {
    const mine = ++asked.current;
    set((was) => ({ ...was, busy: true, error: null }));
    try {
      const found = await get("/history/messages", { session, limit: PAGE, ...query });
      if (mine === asked.current) set((was) => ({ ...was, ...join(was, found), title: found.title || was.title, busy: false }));
    } catch (error) {
      if (mine !== asked.current) return;
      set((was) => ({ ...was, busy: false, error }));
      if (error.passes && !now.messages) setTimeout(() => { if (mine === asked.current) ask(query, join); }, 2000);
    }
  };
  const whole = (_, { messages: found, earlier, later }) => ({ messages: found, earlier, later });
  useEffect(() => { ask(at ? { at } : { end: "first" }, whole); return () => { asked.current += 1; }; }, [session, at]);
  return {
    ...now,
    before: () => ask({ before: now.messages[0].id }, (was, found) => ({ messages: [...found.messages, ...was.messages], earlier: found.earlier })),
    after: () => ask({ after: now.messages.at(-1).id }, (was, found) => ({ messages: [...was.messages, ...found.messages], later: found.later })),
    first: () => ask({ end: "first" }, whole),
    last: () => ask({ end: "last" }, whole),
  };
}

function Conversation({ session, at }) {
  const said = useMessages(session, at), [query, setQuery] = useQuery(), [words, type] = useState(query.words), settled = useSettled(words);
  useEffect(() => { setQuery({ words: settled }); }, [settled]);
  const all = said.messages, title = named({ title: said.title, session });
  const lead = all?.length ? html`${upper(day(all[0].time))}${session && html` · <span class="muted" dir="auto">${session}</span>`}` : "";
  const items = [{ label: "From the beginning", icon: "sort", run: said.first }, { label: "To the end", icon: "down", run: said.last },
    { label: "Forget this conversation…", icon: "warn", danger: true, run: () => forget(session, title) }];
  return html`<${Page} title="Conversation" heading=${title} lead=${lead} class="conversation" actions=${html`<${Link} class="button" to="/conversations">All conversations</${Link}><${Menu} label="More about this conversation" items=${items} />`}>
    <div class="row"><div class="grow"><${Input} label="Search in this conversation" hidden type="search" placeholder="Search in this conversation" value=${words} onInput=${type} /></div></div>
    ${settled.trim() ? html`<${Within} session=${session} words=${settled} leave=${() => type("")} />` : html`<${Told} said=${said} at=${at} />`}
    <${Made} session=${session} /></${Page}>`;
}

function Told({ said, at }) {
  const { messages: all, earlier, later, busy, error } = said;
  if (!all && error) return html`<${Empty} icon="warn" title="This message is not here" actions=${html`<${Button} onClick=${said.first}>Open the conversation</${Button}>`}>${error.message}</${Empty}>`;
  if (!all) return html`<${Skeleton} cards=${5} />`;
  if (!all.length) return html`<${Empty} icon="conversations" title="No message was recorded">Only what was remembered in this session is known.</${Empty}>`;
  return html`${earlier && html`<${More} busy=${busy} label="Show earlier messages" onClick=${said.before} />`}
    <ol class="messages" aria-label="Messages">${all.map((each, number_) => html`${day(each.time) !== day(all[number_ - 1]?.time ?? all[0].time) && html`<li class="new-day">${upper(day(each.time))}</li>`}<${Message} key=${each.id} message=${each} marked=${each.id === at} />`)}</ol>
    ${later && html`<${More} busy=${busy} label="Show later messages" onClick=${said.after} />`}${error && html`<p class="wrong" role="alert">${error.message}</p>`}`;
}

const LONG = 2400;

function Message({ message, marked }) {
  const place = useRef(), [open, set] = useState(marked), isLong = message.content.length > LONG;
  // Where the person was sent to a message, it stands in the middle of the window.
  useLayoutEffect(() => { if (marked) { place.current.scrollIntoView({ block: "center" }); place.current.focus({ preventScroll: true }); } }, [marked]);
  return html`<li class=${`message ${message.role} ${isYours(message) ? "yours" : ""} ${marked ? "marked" : ""}`} ref=${place} tabindex="-1" id=${`message-${message.id}`}>
    <header><${Speaker} message=${message} /><${Link} to=${conversationAddress(message.session, message.id)} class="quiet-link" title=${full(message.time)} aria-label=${`Link to this message of ${full(message.time)}`}>${clock(message.time)}</${Link}></header>
    <div class=${isLong && !open ? "folded" : ""}><${Markdown} text=${message.content} /></div>
    ${isLong && html`<button type="button" class="linkish" aria-expanded=${open} onClick=${() => set(!open)}>${open ? "Show less" : `Show all ${number(message.content.length)} characters`}</button>`}</li>`;
}

function Within({ session, words, leave }) {
  const found = useData("/history/search", { text: words, session, limit: 100 }, { on: false });
  return html`<${Loaded} of=${found}>${({ messages: all }) => all.length === 0 ? html`<${Empty} icon="search" title="Nobody said that here">No message of this conversation has “${words}” in it.</${Empty}>`
    : html`<${Cards} label="Messages that were found" >${all.sort((one, other) => one.time.localeCompare(other.time)).map((each) => html`<${Card} key=${each.id} onClick=${leave}><${Excerpt} text=${each.content} words=${words} to=${conversationAddress(each.session, each.id)} />
      <${Meta}><${Speaker} message=${each} /><${When} at=${each.time} exact /></${Meta}></${Card}>`)}</${Cards}>`}</${Loaded}>`;
}

// What was remembered in it.
function Made({ session }) {
  const found = useData(session && "/records", { session, superseded: true, limit: 50 });
  const records = found.data?.records || [];
  return records.length > 0 && html`<${Section} title=${`${upper(memories(records.length))}${found.data.more ? " and more" : ""} from it`}><${Cards} label="Memories from this conversation">${records.map((each) => html`<${MemoryCard} key=${each.id} record=${each} />`)}</${Cards}></${Section}>`;
}

async function forget(session, title) {
  const done = await ask("Forget this conversation for good?", html`<p>“${title}” is erased, every message of it. <strong>This can't be undone.</strong> Memories that were made of it stay.</p>`,
    { yes: "Forget it for good", danger: true, run: () => post("/history/forget", { session }) }).catch(toastWrong);
  if (!done) return;
  go("/conversations");
  toast(`Forgotten: ${messages(done.erased)}.`);
}
