// The page begins here: who comes in, and which frame they see.

import { call, state } from "/assets/api.js";
import { Consent } from "/assets/consent.js";
import { Alone } from "/assets/alone.js";
import { followLinks } from "/assets/router.js";
import { Shell } from "/assets/shell.js";
import { html, render } from "/assets/vendor.js";

const page = document.getElementById("page");

// Who has a cookie is in, whatever became of the link's code.
async function logIn() {
  const code = new URLSearchParams(location.search).get("code");
  if (location.pathname === "/login") history.replaceState(null, "", "/login");
  try { return await call("/api/vaults"); } catch (error) {
    if (location.pathname !== "/login" || error.status === 0) throw error;
  }
  if (!code) throw new Error("Not logged in.");
  await call("/api/login", "POST", { code });
  return call("/api/vaults");
}

async function start() {
  if (location.pathname === "/consent") { render(html`<${Consent} />`, page); return; }
  try { Object.assign(state, await logIn()); } catch (error) { render(html`<${Alone} error=${error} again=${start} />`, page); return; }
  if (["/", "/login"].includes(location.pathname)) history.replaceState(null, "", `/home${location.pathname === "/" ? location.search : ""}`);
  followLinks();
  render(html`<${Shell} />`, page);
}

start();
