// Review: what waits for a person, with where it came from. Nothing gets in unseen.

import { get, post } from "/assets/api.js";
import { age, h, latest, say, sayWrong } from "/assets/dom.js";
import { accountOf, from, refill } from "/assets/records.js";

const MOST = 100; // ids that the gateway takes at once

export async function show(main) {
  const list = h("ul", { class: "cards", "aria-label": "Waiting" });
  const chosen = () => [...list.querySelectorAll("input[name=chosen]:checked")].map((box) => box.value);
  const decideOnMany = (decision) => async () => {
    const ids = chosen();
    if (!ids.length) return say("Choose what to decide on first.");
    try {
      for (let at = 0; at < ids.length; at += MOST) await post("/review", { ids: ids.slice(at, at + MOST), decision });
      say(`${decision === "approve" ? "Approved" : "Rejected"}: ${ids.length}.`);
      await draw();
    } catch (error) { sayWrong(error); }
  };
  const many = h("div", { class: "row" });
  const ways = [h("button", { type: "button", onclick: () => list.querySelectorAll("input[name=chosen]").forEach((box) => { box.checked = true; }) }, "Choose all"),
    h("button", { class: "main", type: "button", onclick: decideOnMany("approve") }, "Approve chosen"),
    h("button", { class: "bad", type: "button", onclick: decideOnMany("reject") }, "Reject chosen")];
  const draw = latest(() => get("/review"), ({ waiting }) => {
    refill(list, waiting.map(entry));
    many.replaceChildren(...(waiting.length > 1 ? ways : []));
    if (!waiting.length) list.append(h("li", { class: "none" }, "Nothing waits."));
  });

  function entry(record) {
    const decide = (decision) => async () => {
      try {
        await post(`/review/${encodeURIComponent(record.id)}`, { decision });
        say(decision === "approve" ? "Approved." : "Rejected.");
        await draw();
      } catch (error) { sayWrong(error); }
    };
    return h("li", { class: "card", tabIndex: 0, "data-id": record.id }, h("p", {}, h("label", {}, h("input", { type: "checkbox", name: "chosen", value: record.id, "aria-label": "Choose" }), " ", record.text)),
      accountOf(record.account),
      h("div", { class: "meta" }, h("span", { class: "kind" }, record.kind), h("span", {}, age(record.timestamp)),
        from(record), record.session && h("span", {}, `session ${record.session}`),
        record.username && h("span", {}, `@${record.username}`), record.why && h("span", {}, record.why)),
      h("div", { class: "row" }, h("button", { class: "main", type: "button", onclick: decide("approve") }, "Approve"),
        h("button", { class: "bad", type: "button", onclick: decide("reject") }, "Reject")));
  }

  await draw();
  main.replaceChildren(h("h1", {}, "Review"),
    h("p", { class: "why" }, "Memories that would tell agents how to behave and come from where they are not trusted, and what you forgot before. They do nothing until you approve them. Where the user said something like it, that sentence is told meanwhile."),
    many, list);
  return { changed: draw };
}
