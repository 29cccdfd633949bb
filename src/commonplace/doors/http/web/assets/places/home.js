// Home.
import { Page } from "/assets/ui.js";
import { html } from "/assets/vendor.js";
export default function Home() { return html`<${Page} title="Home" lead="Hello"></${Page}>`; }
