// What Documents uses of other projects: an editor of markdown.
export { Compartment, EditorState } from "@codemirror/state";
export {
  Decoration, EditorView, MatchDecorator, ViewPlugin, WidgetType, drawSelection, highlightActiveLine, keymap, lineNumbers,
} from "@codemirror/view";
export { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
export { markdown } from "@codemirror/lang-markdown";
export { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
export { tags } from "@lezer/highlight";
export { search, searchKeymap } from "@codemirror/search";
