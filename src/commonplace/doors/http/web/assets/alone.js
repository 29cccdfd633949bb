// What is shown without the frame: the way in.

import { Button } from "/assets/ui.js";
import { html, useEffect } from "/assets/vendor.js";

export const Brand = () => html`<p class="brand"><img src="/assets/icon.svg" alt="" width="28" height="28" /> <span>Commonplace</span></p>`;

export const Way = () => html`Start <code>commonplace serve</code> again, or run <code>commonplace serve --link</code> beside it, and open the link that it prints`;

// Who is not logged in, and why. A gateway that is away is asked again by itself.
export function Alone({ error, again }) {
  const isAway = error.status === 0;
  useEffect(() => {
    document.title = `${isAway ? "Waiting" : "Log in"} · Commonplace`;
    if (!isAway) return undefined;
    const timer = setInterval(again, 3000);
    return () => clearInterval(timer);
  }, [isAway]);
  if (isAway) return html`<main class="alone"><${Brand} /><h1>The gateway does not answer</h1><p>It may have been stopped. This page tries again by itself.</p><${Button} onClick=${again}>Try now</${Button}></main>`;
  return html`<main class="alone"><${Brand} /><h1>Log in</h1><p>${error.message}</p><p><${Way} />. It works once.</p></main>`;
}
