// The page's own icons: 20 by 20, drawn with one line in the colour of the text around them.

import { html } from "/assets/vendor.js";

const PATHS = {
  home: "M3 9.5 10 4l7 5.5M5 8.5V16h10V8.5M8.5 16v-4.5h3V16",
  memory: "M4 4.5h9a2 2 0 0 1 2 2V16H6a2 2 0 0 1-2-2zM4 14a2 2 0 0 1 2-2h9M7.5 7.5h4",
  documents: "M5 3.5h6l4 4V16.5H5zM11 3.5v4h4M7.5 11h5M7.5 13.5h5",
  days: "M4 5.5h12V16H4zM4 8.5h12M7 3.5v3M13 3.5v3",
  map: "M6 6.5a1.8 1.8 0 1 0 0-.01M14.5 5a1.5 1.5 0 1 0 0-.01M13 14.5a2 2 0 1 0 0-.01M5.5 14a1.2 1.2 0 1 0 0-.01M7.5 7.5l4.2 5.6M13.6 6.3 13 12.5M7 6l6-1",
  trash: "M4 6h12M8 6V4h4v2M5.5 6l.8 10.5h7.4L14.5 6M8.5 9v4.5M11.5 9v4.5",
  agents: "M2.5 10S5.3 5 10 5s7.5 5 7.5 5-2.8 5-7.5 5-7.5-5-7.5-5zM10 12.3a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6z",
  conversations: "M3.5 4.5h10v7h-5.5l-2.5 2.5v-2.5h-2zM15.5 7.5h1.5v6.5h-1.5v2l-2-2h-3",
  review: "M10 3.5 16 6v4c0 3.5-2.5 5.7-6 7-3.5-1.3-6-3.5-6-7V6zM7.5 10l1.8 1.8L12.8 8",
  activity: "M2.5 10.5h3.5l2-5.5 3.5 10 2-4.5h4",
  upkeep: "M12.5 4.2a3.6 3.6 0 0 0-4.3 4.7L3.8 13.3a1.7 1.7 0 0 0 2.4 2.4l4.4-4.4a3.6 3.6 0 0 0 4.7-4.3l-2.2 2.2-2-.4-.4-2z",
  settings: "M4 6h7M14.5 6H16M4 14h2M9.5 14H16M4 10h9M11 4.2v3.6M6 12.2v3.6M13.5 8.2v3.6",
  search: "M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11zM13 13l4 4",
  undo: "M7.5 5 4 8.5 7.5 12M4 8.5h7.5a4 4 0 0 1 0 8H9",
  redo: "M12.5 5 16 8.5 12.5 12M16 8.5H8.5a4 4 0 0 0 0 8H11",
  more: "M4.5 9.6a.4.4 0 1 0 0 .8.4.4 0 0 0 0-.8zM10 9.6a.4.4 0 1 0 0 .8.4.4 0 0 0 0-.8zM15.5 9.6a.4.4 0 1 0 0 .8.4.4 0 0 0 0-.8z",
  menu: "M3.5 5.5h13M3.5 10h13M3.5 14.5h13",
  add: "M10 4v12M4 10h12",
  minus: "M4 10h12",
  edit: "M4 16l.8-3.2L13 4.6a1.4 1.4 0 0 1 2 0l.4.4a1.4 1.4 0 0 1 0 2L7.2 15.2zM11.5 6.2l2.4 2.4",
  replace: "M4 7h9.5M11 4.5 13.5 7 11 9.5M16 13H6.5M9 10.5 6.5 13 9 15.5",
  copy: "M7 7h9v9H7zM13 7V4H4v9h3",
  check: "M4 10.5 8 14.5 16 5.5",
  cross: "M5 5l10 10M15 5 5 15",
  down: "M5 7.5 10 12.5 15 7.5",
  right: "M7.5 5 12.5 10 7.5 15",
  left: "M12.5 5 7.5 10 12.5 15",
  warn: "M10 3.5 17.5 16.5h-15zM10 8.5v3.5M10 14.3v.01",
  info: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 9.5v4M10 6.7v.01",
  clock: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 6v4.2l2.8 1.8",
  tag: "M3.5 3.5h6l7 7-6 6-7-7zM7 7h.01",
  person: "M10 10a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM4 16.5c.6-3 2.8-4.5 6-4.5s5.4 1.5 6 4.5",
  agent: "M5 7.5h10v8H5zM10 7.5V4.5M10 4.5h.01M8 11v1M12 11v1M3 10.5v2.5M17 10.5v2.5",
  folder: "M3 5h5l1.5 2H17v8.5H3z",
  link: "M8.5 11.5a3 3 0 0 0 4.3 0l2.7-2.7a3 3 0 0 0-4.3-4.3L10 5.7M11.5 8.5a3 3 0 0 0-4.3 0L4.5 11.2a3 3 0 0 0 4.3 4.3L10 14.3",
  download: "M10 3.5v9M6.5 9 10 12.5 13.5 9M4 16h12",
  filter: "M3.5 5h13l-5 6v5l-3-1.5V11z",
  sort: "M6 4v12M3.5 13.5 6 16l2.5-2.5M14 16V4M11.5 6.5 14 4l2.5 2.5",
  light: "M10 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM10 2.5v2M10 15.5v2M2.5 10h2M15.5 10h2M4.7 4.7l1.4 1.4M13.9 13.9l1.4 1.4M4.7 15.3l1.4-1.4M13.9 6.1l1.4-1.4",
  dark: "M16 12.3A6.8 6.8 0 0 1 7.7 4 6.8 6.8 0 1 0 16 12.3z",
  auto: "M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 3v14M10 6h3.8M10 9h5M10 12h4.8M10 15h3",
  keys: "M2.5 5.5h15v9h-15zM5.5 8.5h.01M8.5 8.5h.01M11.5 8.5h.01M14.5 8.5h.01M6.5 11.7h7",
  leave: "M8 4H4v12h4M8 10h9M13.5 6.5 17 10l-3.5 3.5",
  pin: "M7.5 3.5h5l-.8 5 2.8 2.5h-9l2.8-2.5zM10 11v5.5",
  plug: "M7.5 3v4M12.5 3v4M5.5 7h9v2.5a4.5 4.5 0 0 1-9 0zM10 14v3.5",
  vault: "M3.5 4h13v12h-13zM10 13a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM10 10l1.5-1.5M5 16v1M15 16v1",
};

// <${Icon} name="search"/>; with a `label` it is read aloud, without one it is decoration.
export const Icon = ({ name, label, size = 20, class: more = "" }) => html`<svg class=${`icon ${more}`} width=${size} height=${size} viewBox="0 0 20 20"
  role=${label ? "img" : undefined} aria-label=${label} aria-hidden=${label ? undefined : "true"} focusable="false"><path d=${PATHS[name] || PATHS.info} /></svg>`;
export const ICONS = Object.keys(PATHS);
