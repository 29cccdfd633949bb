// A program asks for access: who it is, what it gets, and yes or no. Who is not logged in does that first.

import { call } from "/assets/api.js";
import { $, h } from "/assets/dom.js";

const given = () => Object.fromEntries(new URLSearchParams(location.search));

export async function show() {
  document.body.classList.add("out");
  document.title = "Access · Commonplace";
  try { ask(await call(`/api/consent${location.search}`)); } catch (error) {
    if (error.status === 401) logIn();
    else draw("Access", h("p", { class: "wrong" }, error.message));
  }
}

const draw = (title, ...parts) => $("main").replaceChildren(h("h1", {}, title), ...parts);

function ask({ client, to, local, vault }) {
  const where = local ? "a program on the machine that you look at this with" : to;
  const wrong = h("p", { class: "wrong", role: "alert" });
  const answer = (allowed) => async () => {
    try {
      const { to: next } = await call("/api/consent", "POST", { ...given(), allowed });
      draw(allowed ? "Allowed" : "Refused", h("p", {}, `You are sent back to ${where}. This page can be closed.`));
      location.assign(next);
    } catch (error) {
      if (error.status === 401) logIn();
      else wrong.textContent = error.message;
    }
  };
  draw("May it use your memory?",
    h("div", { class: "card" },
      h("p", {}, "A program that calls itself ", h("strong", {}, client), " asks for access to ", h("strong", {}, vault), "."),
      h("p", {}, "It will be able to read, search and write that memory with the tools of MCP, until you take it back. Secrets are not shown to it, and what it writes counts as an agent's."),
      h("p", {}, "The answer goes to ", h("strong", {}, where), ". Refuse if you did not begin this there.")),
    h("div", { class: "row" },
      h("button", { type: "button", class: "main", onclick: answer(true) }, "Allow"),
      h("button", { type: "button", onclick: answer(false) }, "Refuse")),
    wrong,
    h("p", { class: "why" }, "To take it back later: “Access” on the page Upkeep, or ", h("code", {}, "commonplace token revoke NAME"), "."));
}

function logIn() {
  const wrong = h("p", { class: "wrong", role: "alert" });
  const field = h("input", { id: "code", type: "text", class: "grow", required: true, autocomplete: "off", autocapitalize: "off", spellcheck: "false" });
  const entered = async (event) => {
    event.preventDefault();
    const code = /[?&]code=([\w-]+)/.exec(field.value)?.[1] ?? field.value.trim();
    try { await call("/api/login", "POST", { code }); } catch (error) { wrong.textContent = error.message; return; }
    show();
  };
  draw("Log in",
    h("p", {}, "A program asks for access to your memory. First show that it is yours."),
    h("form", { onsubmit: entered },
      h("label", { for: "code" }, "Run ", h("code", {}, "commonplace serve --link"), " where the gateway runs, and put the link that it prints here:"),
      h("div", { class: "row" }, field, h("button", { class: "main" }, "Log in")), wrong));
  field.focus();
}
