// A box to remember something: what kind it is follows from its words, until the person chooses one.

import { post } from "/assets/api.js";
import { useAction, useData, useDraft } from "/assets/data.js";
import { Input, Select, TextBox, toast } from "/assets/ui.js";
import { undo } from "/assets/undo.js";
import { html, useRef, useState } from "/assets/vendor.js";
import { KINDS } from "/assets/words.js";

// What a text seems to be, by its words; the person sees it and can choose another.
const CUES = [
  ["correction", /^(actually|correction|no longer|not any more)\b|\b(instead of|rather than|is wrong|was wrong)\b/i],
  ["instruction", /^(always|never|please|don['’]t|do not|ask|use|avoid|remind|make sure|before|when)\b|\b(must|should|always|never)\b/i],
  ["preference", /\b(prefer|prefers|like|likes|love|loves|hate|hates|favourite|favorite|rather)\b/i],
  ["context", /\b(currently|working on|in the middle of|this week|this month|right now|project|migrating|moving)\b/i],
  ["fact", /\b(is|are|was|were|has|have|lives|works|costs|weighs|born|called)\b/i],
];
export const kindOf = (text) => CUES.find(([, cue]) => cue.test(text.trim()))?.[0] ?? "note";
export const split = (words) => words.split(/[,\s]+/).map((word) => word.trim().replace(/^#/, "")).filter(Boolean);

export function Remember({ label = "What should be remembered?", done: after = () => {} }) {
  const [text, setText, forget] = useDraft("remember"), [tags, setTags, forgetTags] = useDraft("remember-tags");
  const [chosen, choose] = useState(""), status = useData("/status", {}, { on: false }), box = useRef();
  const kind = chosen || kindOf(text);
  const [save, { busy, error, clear }] = useAction(async () => {
    const stored = await post("/records", { text: text.trim(), kind, tags: split(tags) });
    forget();
    forgetTags();
    choose("");
    box.current?.focus();
    const said = stored.waits ? "It waits for your review." : stored.redacted ? `Remembered without its secrets: ${stored.redacted.join(", ")}.` : "Remembered.";
    toast(said, { action: stored.waits ? null : { label: "Undo", run: undo } });
    after(stored);
  });
  const submit = (event) => { event.preventDefault(); if (text.trim()) save(); };
  const pressed = (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit(event); };
  const type = (next) => { if (error) clear(); setText(next); };
  const options = KINDS.map((each) => [each, each === kindOf(text) && !chosen ? `${each} (by its words)` : each]);
  return html`<form class="sheet remember" onSubmit=${submit} onKeyDown=${pressed}>
    <${TextBox} label=${label} value=${text} onInput=${type} error=${error} limit=${status.data?.text_limit} box=${box} placeholder="Ann prefers tea to coffee…" rows="3" />
    ${(text || tags) && html`<div class="remember-more"><${Select} label="Kind" value=${kind} options=${options} onChange=${choose} /><${Input} label="Tags" value=${tags} onInput=${setTags} placeholder="kitchen, people" /></div>`}
    <div class="actions"><button class="button primary" disabled=${busy || !text.trim()}>Remember</button><span class="muted small keys-too">Ctrl+Enter does it too.</span></div></form>`;
}
