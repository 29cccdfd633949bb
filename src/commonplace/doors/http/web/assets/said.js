// A conversation in a list: what it is called, where it is opened, a row of it.

import { Link } from "/assets/router.js";
import { Card, Meta, When } from "/assets/ui.js";
import { html } from "/assets/vendor.js";
import { count } from "/assets/words.js";

export const conversationAddress = (session, at = "") => `/conversations/${encodeURIComponent(session)}${at ? `?at=${encodeURIComponent(at)}` : ""}`;
export const messages = (many) => count(many, "message");
export const named = ({ title, session }) => title || session || "A conversation without a name";

export const Row = ({ said }) => html`<${Card} class="said-row"><${Link} class="said-title" to=${conversationAddress(said.session)} dir="auto">${named(said)}</${Link}>
  <${Meta}>${said.client && html`<span>${said.client}</span>`}${said.agent && html`<span>${said.agent}</span>`}<span>${messages(said.messages)}</span><${When} at=${said.last} exact /></${Meta}></${Card}>`;
