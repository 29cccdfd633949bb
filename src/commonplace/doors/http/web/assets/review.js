// Review: what waits for a person, with where it came from. Nothing gets in unseen.

import { get, post } from "/assets/api.js";
import { age, h, say } from "/assets/dom.js";
import { from } from "/assets/records.js";

export async function show(main) {
  async function draw() {
    const { waiting } = await get("/review");
    main.replaceChildren(h("h1", {}, "Review"),
      h("p", { class: "why" }, "Memories that would tell agents how to behave, and come from where they are not trusted. They do nothing until you approve them."),
      waiting.length ? h("ul", { class: "cards", "aria-label": "Waiting" }, waiting.map(entry)) : h("p", { class: "none" }, "Nothing waits."));
  }

  function entry(record) {
    const decide = (decision) => async () => {
      try { await post(`/review/${encodeURIComponent(record.id)}`, { decision }); say(decision === "approve" ? "Approved." : "Rejected."); await draw(); }
      catch (error) { say(error.message, true); }
    };
    return h("li", { class: "card", tabIndex: 0 }, h("p", {}, record.text),
      h("div", { class: "meta" }, h("span", { class: "kind" }, record.kind), h("span", {}, age(record.timestamp)),
        from(record), record.session && h("span", {}, `session ${record.session}`),
        record.username && h("span", {}, `@${record.username}`)),
      h("div", { class: "row" }, h("button", { class: "main", type: "button", onclick: decide("approve") }, "Approve"),
        h("button", { class: "bad", type: "button", onclick: decide("reject") }, "Reject")));
  }

  await draw();
  return { changed: draw };
}
