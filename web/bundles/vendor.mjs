// What every place of the page uses of other projects: components, and markdown made safe.
import { h } from "preact";
import htm from "htm";
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

export { Component, Fragment, createContext, createRef, h, render } from "preact";
export {
  useCallback, useContext, useEffect, useErrorBoundary, useId, useLayoutEffect, useMemo, useReducer, useRef, useState,
} from "preact/hooks";
export const html = htm.bind(h);

const reader = new MarkdownIt({ html: false, linkify: false, breaks: false });
// A picture from elsewhere would tell that site who reads what: its words stand in for it.
reader.renderer.rules.image = (tokens, at) => reader.utils.escapeHtml(`[picture: ${tokens[at].content}]`);

const BLOCKS = "p, li, h1, h2, h3, h4, h5, h6, blockquote, td, th";

export function rendered(text) {
  const made = DOMPurify.sanitize(reader.render(text), {
    RETURN_DOM_FRAGMENT: true,
    ALLOWED_TAGS: ["p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "strong",
      "em", "s", "code", "pre", "blockquote", "a", "table", "thead", "tbody", "tr", "th", "td"],
    ALLOWED_ATTR: ["href", "title"],
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#|[^:]*$)/i,
  });
  // Each block by itself: a text may hold both directions.
  for (const block of made.querySelectorAll(BLOCKS)) block.dir = "auto";
  return made;
}
