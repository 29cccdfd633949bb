// What the page uses of other projects: an editor, a difference view, markdown made safe.
export { EditorState, Compartment } from "@codemirror/state";
export {
  Decoration, EditorView, MatchDecorator, ViewPlugin, WidgetType, drawSelection, highlightActiveLine, keymap, lineNumbers,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export { markdown } from "@codemirror/lang-markdown";
export { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
export { tags } from "@lezer/highlight";
export { search, searchKeymap } from "@codemirror/search";
import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";

const reader = new MarkdownIt({ html: false, linkify: false, breaks: false });
// A picture from elsewhere would tell that site who reads what: its words stand in for it.
reader.renderer.rules.image = (tokens, at) => reader.utils.escapeHtml(`[picture: ${tokens[at].content}]`);

export function rendered(text) {
  return DOMPurify.sanitize(reader.render(text), {
    RETURN_DOM_FRAGMENT: true,
    ALLOWED_TAGS: ["p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "strong",
      "em", "s", "code", "pre", "blockquote", "a", "table", "thead", "tbody", "tr", "th", "td"],
    ALLOWED_ATTR: ["href", "title"],
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|#|[^:]*$)/i,
  });
}
