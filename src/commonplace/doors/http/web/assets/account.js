// What a memory rests on: the user's message and sentence, the agent's wording, what was read before.

import { Link } from "/assets/router.js";
import { When } from "/assets/ui.js";
import { html } from "/assets/vendor.js";

const first = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/* As the gateway tells it (`account` of a record or of what waits); nothing for a memory that rests on nothing. */
export function Account({ account, session = "" }) {
  if (!account?.state && !account?.sentence && !account?.read_before?.length) return null;
  const { state, sentence, said_at: at, said, message, wording, untyped, read_before: read, changes } = account;
  return html`<dl class="about">
    ${state && html`<div><dt>State</dt><dd>${first(state)}.</dd></div>`}
    ${sentence && html`<div><dt>You said</dt><dd><q dir="auto">${sentence}</q> <span class="muted"><${When} at=${at} /></span></dd></div>`}
    ${(said || message) && html`<div><dt>In the message</dt><dd dir="auto">${said && said !== sentence ? said : ""} ${session && message ? html`<${Link} to=${`/conversations/${encodeURIComponent(session)}?at=${encodeURIComponent(message)}`}>Open the conversation there</${Link}>` : ""}</dd></div>`}
    ${wording && wording !== sentence && html`<div><dt>The agent's wording</dt><dd dir="auto">${wording}</dd></div>`}
    ${untyped?.length > 0 && html`<div><dt>You did not type</dt><dd dir="auto">${untyped.join(", ")}</dd></div>`}
    ${read?.length > 0 && html`<div><dt>Read before</dt><dd><ul>${read.map(([what, when]) => html`<li dir="auto">${what}${when && html` <span class="muted"><${When} at=${when} exact /></span>`}</li>`)}</ul></dd></div>`}
    ${changes && html`<div><dt>Approving changes</dt><dd><pre class="text">${changes}</pre></dd></div>`}</dl>`;
}
