// A program asks for access: who it is, what it gets, and yes or no. Who is not logged in does that first.

import { Brand } from "/assets/alone.js";
import { call } from "/assets/api.js";
import { useAction } from "/assets/data.js";
import { Button, Wrong } from "/assets/ui.js";
import { html, useEffect, useState } from "/assets/vendor.js";

const given = () => Object.fromEntries(new URLSearchParams(location.search));

export function Consent() {
  const [now, set] = useState({ step: "wait" });
  const look = async () => {
    try { set({ step: "ask", asked: await call(`/api/consent${location.search}`) }); } catch (error) { set({ step: error.status === 401 ? "login" : "wrong", error }); }
  };
  useEffect(() => { document.title = "Access · Commonplace"; look(); }, []);
  const shown = {
    wait: () => null,
    wrong: () => html`<h1>Access</h1><${Wrong} error=${now.error} />`,
    login: () => html`<${LogIn} then=${look} />`,
    ask: () => html`<${Ask} ...${now.asked} answered=${(allowed, where) => set({ step: "done", allowed, where })} out=${() => set({ step: "login" })} />`,
    done: () => html`<h1>${now.allowed ? "Allowed" : "Refused"}</h1><p>You are sent back to ${now.where}. This page can be closed.</p>`,
  };
  return html`<main class="alone"><${Brand} />${shown[now.step]()}</main>`;
}

function Ask({ client, to, local, vault, answered, out }) {
  const where = local ? "a program on the machine that you look at this with" : to;
  const [answer, { busy, error }] = useAction(async (allowed) => {
    try {
      const { to: next } = await call("/api/consent", "POST", { ...given(), allowed });
      answered(allowed, where);
      location.assign(next);
    } catch (wrong) {
      if (wrong.status !== 401) throw wrong;
      out();
    }
  });
  return html`<h1>May it use your memory?</h1>
    <p>A program that calls itself <strong dir="auto">${client}</strong> asks for access to <strong dir="auto">${vault}</strong>.</p>
    <p>It will be able to read, search and write that memory with the tools of MCP, until you take it back. Secrets are not shown to it, and what it writes counts as an agent's.</p>
    <p>The answer goes to <strong>${where}</strong>. Refuse if you did not begin this there.</p>
    <div class="actions"><${Button} look="primary" busy=${busy} onClick=${() => answer(true)}>Allow</${Button}><${Button} busy=${busy} onClick=${() => answer(false)}>Refuse</${Button}></div>
    <${Wrong} error=${error} />
    <p class="muted small">To take it back later: “Access” in Settings, or <code>commonplace token revoke NAME</code>.</p>`;
}

function LogIn({ then }) {
  const [text, set] = useState("");
  const [enter, { busy, error }] = useAction(async () => {
    const code = /[?&]code=([\w-]+)/.exec(text)?.[1] ?? text.trim();
    await call("/api/login", "POST", { code });
    then();
  });
  const submit = (event) => { event.preventDefault(); enter(); };
  return html`<h1>Log in</h1><p>A program asks for access to your memory. First show that it is yours.</p>
    <form onSubmit=${submit} class="field"><label for="code">Run <code>commonplace serve --link</code> where the gateway runs, and put the link that it prints here:</label>
      <div class="row"><input id="code" class="grow" type="text" required autofocus autocomplete="off" autocapitalize="off" spellcheck="false" value=${text} onInput=${(event) => set(event.target.value)} />
        <button class="button primary" disabled=${busy}>Log in</button></div><${Wrong} error=${error} /></form>`;
}
