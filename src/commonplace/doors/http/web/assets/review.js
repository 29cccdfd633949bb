// Review: what waits for a person, with where it came from. Nothing gets in unseen.

import { get, post } from "/assets/api.js";
import { age, h, latest, say, sayWrong } from "/assets/dom.js";
import { from, refill } from "/assets/records.js";

export async function show(main) {
  const list = h("ul", { class: "cards", "aria-label": "Waiting" });
  const draw = latest(() => get("/review"), ({ waiting }) => {
    refill(list, waiting.map(entry));
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
    return h("li", { class: "card", tabIndex: 0, "data-id": record.id }, h("p", {}, record.text),
      h("div", { class: "meta" }, h("span", { class: "kind" }, record.kind), h("span", {}, age(record.timestamp)),
        from(record), record.session && h("span", {}, `session ${record.session}`),
        record.username && h("span", {}, `@${record.username}`), record.why && h("span", {}, record.why)),
      h("div", { class: "row" }, h("button", { class: "main", type: "button", onclick: decide("approve") }, "Approve"),
        h("button", { class: "bad", type: "button", onclick: decide("reject") }, "Reject")));
  }

  await draw();
  main.replaceChildren(h("h1", {}, "Review"),
    h("p", { class: "why" }, "Memories that would tell agents how to behave and come from where they are not trusted, and what you forgot before. They do nothing until you approve them."),
    list);
  return { changed: draw };
}
