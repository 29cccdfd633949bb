"""Every claim of the five seed documents, as a value that tests are tagged with.

Knows neither the tests nor the code that serve a claim: `test_requirements.py` joins them.
"""

from __future__ import annotations

from dataclasses import dataclass

CAPABILITIES = frozenset(
    {"gateway", "heartbeat", "history", "injection", "postgres", "search", "tools", "upkeep"}
)


@dataclass(frozen=True)
class Claim:
    """One testable thing that a seed document says.

    `awaits` names the capability that will serve the claim; it is None once a test proves it.
    Where the document leaves something open, `open_question` says what, and the sentence is the
    choice that was made.
    """

    id: str
    source: str
    sentence: str
    awaits: str | None = None
    open_question: str = ""


EARL = (
    Claim(
        "earl.survives-restart",
        "earl, Memory",
        "A fact saved by one process is found by another that opens the same directory later.",
    ),
    Claim(
        "earl.markdown-files",
        "earl, Memory",
        "Every memory is kept in a `.md` file that can be read without any program of ours.",
    ),
    Claim(
        "earl.default-directory",
        "earl, Directory Structure",
        "An EARL vault that is opened without a path is the directory `~/.config/earl/memory/`.",
    ),
    Claim(
        "earl.soul-file",
        "earl, Directory Structure",
        "The agent's identity is the document `SOUL.md` at the top of the vault.",
    ),
    Claim(
        "earl.user-file",
        "earl, Directory Structure",
        "The notes about users are the document `USER.md` at the top of the vault.",
    ),
    Claim(
        "earl.daily-file-name",
        "earl, Directory Structure",
        "A day's memories are the document `YYYY-MM-DD.md` at the top of the vault, beside "
        "`SOUL.md`, in no subdirectory.",
    ),
    Claim(
        "earl.daily-file-per-day",
        "earl, Directory Structure",
        "Entries made on two different days stand in two different daily files.",
    ),
    Claim(
        "earl.soul-free-markdown",
        "earl, File Formats / SOUL.md",
        "`SOUL.md` may hold any markdown about personality, tone and boundaries and is read "
        "back exactly as written.",
    ),
    Claim(
        "earl.soul-written-by-hand",
        "earl, File Formats / SOUL.md",
        "No tool of the EARL set changes `SOUL.md`; only people write it.",
    ),
    Claim(
        "earl.soul-is-core-identity",
        "earl, File Formats / SOUL.md",
        "The text of `SOUL.md` is injected as the section called Core Identity.",
    ),
    Claim(
        "earl.user-free-markdown",
        "earl, File Formats / USER.md",
        "`USER.md` may hold any markdown about preferences, style and context and is read back "
        "exactly as written.",
    ),
    Claim(
        "earl.user-written-by-hand",
        "earl, File Formats / USER.md",
        "A line that a person types into `USER.md` with an editor counts as memory with no "
        "import step.",
    ),
    Claim(
        "earl.user-written-by-agent",
        "earl, File Formats / USER.md",
        "Besides people the agent can write a note to `USER.md`, and does so through "
        "`save_memory`.",
    ),
    Claim(
        "earl.user-is-user-notes",
        "earl, File Formats / USER.md",
        "The text of `USER.md` is injected as the section called User Notes.",
    ),
    Claim(
        "earl.daily-header",
        "earl, File Formats / Daily Memory",
        "A daily file begins with the line `# Memories for YYYY-MM-DD` of its own date and one "
        "empty line.",
    ),
    Claim(
        "earl.daily-line-format",
        "earl, File Formats / Daily Memory",
        "An entry is the line ``- **HH:MM UTC** | `@username` | text``.",
    ),
    Claim(
        "earl.daily-one-line-each",
        "earl, File Formats / Daily Memory",
        "Every entry is a line of its own that begins with `- `, with no empty lines between "
        "entries.",
    ),
    Claim(
        "earl.daily-time-utc",
        "earl, File Formats / Daily Memory",
        "The time of an entry is hours and minutes of the 24-hour clock, two digits each, in "
        "UTC whatever the machine's time zone.",
    ),
    Claim(
        "earl.daily-several-users",
        "earl, File Formats / Daily Memory",
        "Entries about different users share the day's file, and each line names its own user.",
    ),
    Claim(
        "earl.daily-appended",
        "earl, File Formats / Daily Memory",
        "A new entry goes after the last one and leaves every byte before it as it was.",
    ),
    Claim(
        "earl.daily-file-lock",
        "earl, File Formats / Daily Memory",
        "An append takes a file lock, so that a second writer waits until the first is done.",
    ),
    Claim(
        "earl.daily-concurrent-writes",
        "earl, File Formats / Daily Memory",
        "Processes that append to one daily file at the same time leave every entry there, "
        "whole and once.",
    ),
    Claim(
        "earl.tools-over-mcp",
        "earl, MCP Tools",
        "An agent reaches `save_memory` and `search_memory` as tools of one MCP server.",
    ),
    Claim(
        "earl.save-today",
        "earl, MCP Tools / save_memory",
        "`save_memory` writes its text to the daily file of the current day.",
    ),
    Claim(
        "earl.save-text-required",
        "earl, MCP Tools / save_memory",
        "`save_memory` requires the string `text` and refuses a call without it.",
    ),
    Claim(
        "earl.save-username-optional",
        "earl, MCP Tools / save_memory",
        "`save_memory` takes an optional string `username` and succeeds without one.",
    ),
    Claim(
        "earl.save-username-shown",
        "earl, MCP Tools / save_memory",
        "The `username` given to `save_memory` stands in the entry as `@username`.",
    ),
    Claim(
        "earl.save-timestamped",
        "earl, MCP Tools / save_memory",
        "The entry carries the moment of the `save_memory` call, which the caller does not supply.",
    ),
    Claim(
        "earl.daily-created",
        "earl, MCP Tools / save_memory",
        "The first entry of a day creates that day's file with its date header; later entries "
        "add no second header.",
    ),
    Claim(
        "earl.arguments-as-models-send-them",
        "earl, MCP Tools / search_memory",
        '`null` for an optional argument is the same as none, and `"5"` and `5.0` are taken for '
        "the integer 5, by every tool of every dialect.",
        open_question="What of arguments that are not quite of the type of the table?",
    ),
    Claim(
        "earl.search-all-files",
        "earl, MCP Tools / search_memory",
        "`search_memory` looks through `SOUL.md`, `USER.md` and every daily file, however old.",
    ),
    Claim(
        "earl.search-case-insensitive",
        "earl, MCP Tools / search_memory",
        "`search_memory` finds a word whatever the case of its letters in the query or in the "
        "file.",
    ),
    Claim(
        "earl.search-keywords",
        "earl, MCP Tools / search_memory",
        "`search_memory` matches the keywords of the query against the text of the lines.",
    ),
    Claim(
        "earl.search-query-required",
        "earl, MCP Tools / search_memory",
        "`search_memory` requires the string `query` and refuses a call without it.",
    ),
    Claim(
        "earl.search-limit-optional",
        "earl, MCP Tools / search_memory",
        "`search_memory` takes an optional integer `limit` and returns at most that many lines.",
    ),
    Claim(
        "earl.search-limit-default",
        "earl, MCP Tools / search_memory",
        "Without `limit`, `search_memory` returns at most 20 lines.",
    ),
    Claim(
        "earl.search-as-fast-as-reading",
        "earl, MCP Tools / search_memory",
        "A search reads the files and parses none that hides nothing; one that does is parsed once "
        "as long as it does not change.",
        open_question="How long may a search over years of daily files take?",
    ),
    Claim(
        "earl.search-file-order",
        "earl, MCP Tools / search_memory",
        "`search_memory` lists matches of `SOUL.md` first, then of `USER.md`, then of the daily "
        "files.",
    ),
    Claim(
        "earl.search-newest-day-first",
        "earl, MCP Tools / search_memory",
        "Among daily files, `search_memory` lists matches of a later day before those of an "
        "earlier one.",
    ),
    Claim(
        "earl.search-whole-lines",
        "earl, MCP Tools / search_memory",
        "`search_memory` returns each matching line as it stands in its file, list marker and "
        "columns included.",
    ),
    Claim(
        "earl.search-names-source",
        "earl, MCP Tools / search_memory",
        "Each line of the answer begins with the name of its file in the form `**NAME.md**: `.",
    ),
    Claim(
        "earl.search-count-line",
        "earl, MCP Tools / search_memory",
        "An answer with matches opens with a line that counts them, as in `Found 2 memories:`.",
    ),
    Claim(
        "earl.inject-at-session-start",
        "earl, Memory Injection",
        "Memory is put together as a prompt when a session starts.",
    ),
    Claim(
        "earl.inject-append-argument",
        "earl, Memory Injection",
        "The prompt is one text that can be handed over as the value of `--append-system-prompt`.",
    ),
    Claim(
        "earl.inject-tags",
        "earl, Memory Injection",
        "The injected memory stands between the lines `<earl-memory>` and `</earl-memory>`.",
    ),
    Claim(
        "earl.inject-headings",
        "earl, Memory Injection",
        "The three sections are headed exactly `## Core Identity`, `## User Notes` and `## "
        "Recent Memories`, in this order.",
    ),
    Claim(
        "earl.inject-seven-days",
        "earl, Memory Injection",
        "Recent Memories holds entries of the last 7 days and nothing older.",
    ),
    Claim(
        "earl.inject-fifty-lines",
        "earl, Memory Injection",
        "Recent Memories holds no more than 50 lines.",
    ),
    Claim(
        "earl.inject-closing-words",
        "earl, Memory Injection",
        "After the closing tag the prompt names both tools and asks to save important facts and "
        "to search for what must be recalled, in the document's two lines.",
    ),
    Claim(
        "earl.inject-omits-empty",
        "earl, Memory Injection",
        "A section whose source is empty is left out together with its heading.",
    ),
    Claim(
        "earl.inject-omits-missing",
        "earl, Memory Injection",
        "A section whose source file does not exist is left out together with its heading.",
    ),
)

JOURNAL = (
    Claim(
        "journal.persists-across-runs",
        "journal, Overview",
        "What one short-lived agent run writes to memory is there for the next run.",
    ),
    Claim(
        "journal.history-apart-from-memory",
        "journal, Overview",
        "What was said is kept as conversation history, apart from the documents that hold what "
        "is known.",
    ),
    Claim(
        "journal.markdown-on-disk",
        "journal, Overview",
        "Memory consists of markdown files on disk.",
    ),
    Claim(
        "journal.shell-writes-are-memory",
        "journal, Overview",
        "A file that the agent creates or changes with plain shell commands is memory at once, "
        "as it stands.",
    ),
    Claim(
        "journal.no-tools-of-its-own",
        "journal, Overview",
        "The journal dialect needs no memory tool: everything it offers works with a shell alone.",
    ),
    Claim(
        "journal.two-files-into-context",
        "journal, Overview",
        "Of all memory files exactly `soul.md` and `user.md` are put into context.",
    ),
    Claim(
        "journal.history-in-postgres",
        "journal, Storage",
        "Messages can be kept in PostgreSQL.",
    ),
    Claim(
        "journal.history-beside-files",
        "journal, Storage",
        "The messages of a vault are in PostgreSQL while its memories are files on disk: the "
        "option `history` names the database.",
    ),
    Claim(
        "journal.history-last-hour",
        "journal, Storage",
        "The last hour is asked for in SQL, in PostgreSQL with `now() - interval`, in SQLite with "
        "`datetime('now', …)`.",
    ),
    Claim(
        "journal.history-both-roles",
        "journal, Storage",
        "Every message of the user and every message of the assistant is stored.",
    ),
    Claim(
        "journal.history-written-by-application",
        "journal, Storage",
        "The application records messages through a call of its own, with no action by the agent.",
    ),
    Claim(
        "journal.history-by-sql",
        "journal, Storage",
        "The agent can query stored messages with SQL from a shell.",
    ),
    Claim(
        "journal.memories-directory",
        "journal, Storage",
        "The agent's own knowledge base is the directory `memories/`.",
    ),
    Claim(
        "journal.agent-managed",
        "journal, Storage",
        "Opening and reading the memory leaves every file under `memories/` byte for byte as "
        "the agent left it.",
    ),
    Claim(
        "journal.soul-file",
        "journal, File Layout",
        "Personality is the document `memories/soul.md`, in lower case.",
    ),
    Claim(
        "journal.user-file",
        "journal, File Layout",
        "Facts about the user are the document `memories/user.md`, in lower case.",
    ),
    Claim(
        "journal.diary-directory",
        "journal, File Layout",
        "Diary entries are the files of the directory `memories/diary/`.",
    ),
    Claim(
        "journal.soul-free-markdown",
        "journal, File Layout / soul.md",
        "`soul.md` is free markdown about who the assistant is and what it has learned of "
        "itself, with no schema asked of it.",
    ),
    Claim(
        "journal.soul-rewritten-whole",
        "journal, File Layout / soul.md",
        "An update of `soul.md` replaces the whole document with the new text.",
    ),
    Claim(
        "journal.soul-every-run",
        "journal, File Layout / soul.md",
        "The current text of `soul.md` is in the context of every agent run.",
    ),
    Claim(
        "journal.user-free-markdown",
        "journal, File Layout / user.md",
        "`user.md` is free markdown about the user's preferences, facts, projects and style, "
        "with no schema asked of it.",
    ),
    Claim(
        "journal.user-rewritten-whole",
        "journal, File Layout / user.md",
        "An update of `user.md` replaces the whole document with the new text.",
    ),
    Claim(
        "journal.user-every-run",
        "journal, File Layout / user.md",
        "The current text of `user.md` is in the context of every agent run.",
    ),
    Claim(
        "journal.diary-by-heartbeat",
        "journal, File Layout / diary",
        "A heartbeat tick can write a diary entry.",
    ),
    Claim(
        "journal.diary-after-conversation",
        "journal, File Layout / diary",
        "A diary entry can be written at any other time too, such as after a conversation that "
        "mattered.",
    ),
    Claim(
        "journal.diary-file-per-entry",
        "journal, File Layout / diary",
        "Every diary entry is a new file of its own.",
    ),
    Claim(
        "journal.diary-never-modified",
        "journal, File Layout / diary",
        "A diary entry is never changed once it is written: a rewrite of it or an append to it "
        "is refused.",
    ),
    Claim(
        "journal.diary-file-name",
        "journal, File Layout / diary",
        "A diary file is named `YYYY-MM-DDTHH-MM-SS.md` after its moment, with no character "
        "that a filesystem forbids.",
    ),
    Claim(
        "journal.diary-free-markdown",
        "journal, File Layout / diary",
        "A diary entry is free markdown that sums up recent events, and is kept whole.",
    ),
    Claim(
        "journal.diary-not-in-context",
        "journal, File Layout / diary",
        "No diary entry is put into context automatically.",
    ),
    Claim(
        "journal.diary-on-demand",
        "journal, File Layout / diary",
        "One diary entry can be read by its name when a past event must be recalled.",
    ),
    Claim(
        "journal.context-stage",
        "journal, Context Integration",
        "The memory stage of the context stands after the system prompt and before the status "
        "board.",
    ),
    Claim(
        "journal.context-headings",
        "journal, Context Integration",
        "The contents of `soul.md` follow the heading `## Your Personality`, then those of "
        "`user.md` follow `## About the User`.",
    ),
    Claim(
        "journal.context-omits-missing",
        "journal, Context Integration",
        "If one of the two files does not exist, its section is left out and the other one stays.",
    ),
    Claim(
        "journal.conversation-pipeline",
        "journal, Context Integration / Per-Agent Context Pipelines",
        "A conversation agent's context is system prompt, memory files, status board, "
        "conversation history and trigger signal, in this order.",
    ),
    Claim(
        "journal.system-prompt-instructions",
        "journal, Context Integration / Per-Agent Context Pipelines",
        "The system prompt stage of both agents holds instructions for tools and for memory.",
    ),
    Claim(
        "journal.conversation-last-messages",
        "journal, Context Integration / Per-Agent Context Pipelines",
        "The history stage holds the last N messages of the database, with N an option.",
    ),
    Claim(
        "journal.conversation-trigger-last",
        "journal, Context Integration / Per-Agent Context Pipelines",
        "The conversation context ends with the current message of the user.",
    ),
    Claim(
        "journal.heartbeat-pipeline",
        "journal, Context Integration / Per-Agent Context Pipelines",
        "A heartbeat agent's context is system prompt, memory files, status board and heartbeat "
        "prompt, in this order.",
    ),
    Claim(
        "journal.heartbeat-without-history",
        "journal, Context Integration / Per-Agent Context Pipelines",
        "A heartbeat agent's context holds no conversation history.",
    ),
    Claim(
        "journal.prompt-shows-a-question",
        "journal, Context Integration / Per-Agent Context Pipelines",
        "The prompts of conversation and heartbeat agents show a question in SQL that finds the "
        "messages of the last hour where they are kept.",
    ),
    Claim(
        "journal.heartbeat-queries-history",
        "journal, Context Integration / Per-Agent Context Pipelines",
        "A heartbeat agent can ask for recent messages from the shell when it needs them.",
    ),
    Claim(
        "journal.prompt-without-files",
        "journal, When Memories Get Written",
        "No prompt speaks of files or a shell where the memory is in PostgreSQL. The document "
        "knows files alone; this is ours.",
    ),
    Claim(
        "journal.prompt-asks-to-write",
        "journal, When Memories Get Written",
        "The system prompt asks the agent to rewrite `user.md` or `soul.md` when it learns a "
        "preference, a correction or a new fact.",
    ),
    Claim(
        "journal.no-automated-trigger",
        "journal, When Memories Get Written",
        "Recording messages of a conversation never writes memory by itself; the agent decides "
        "what is worth it.",
    ),
    Claim(
        "journal.heartbeat-reflects",
        "journal, When Memories Get Written",
        "The heartbeat prompt asks the agent to reflect on recent events and put them in a "
        "diary entry.",
    ),
    Claim(
        "journal.heartbeat-updates-files",
        "journal, When Memories Get Written",
        "During a heartbeat tick `soul.md` and `user.md` can be rewritten too.",
    ),
    Claim(
        "journal.gitignored",
        "journal, Conventions",
        "The `.gitignore` that goes with the vault names `memories/`.",
    ),
    Claim(
        "journal.first-run-opens",
        "journal, Edge Cases",
        "A vault in which no memory file exists yet opens and reads as empty, without an error.",
    ),
    Claim(
        "journal.first-run-no-sections",
        "journal, Edge Cases",
        "If neither file exists the context has no memory section at all.",
    ),
    Claim(
        "journal.first-run-prompt",
        "journal, Edge Cases",
        "On a first run the system prompt names the memory files and says that the agent may "
        "create them.",
    ),
    Claim(
        "journal.first-run-creates",
        "journal, Edge Cases",
        "Writing a memory file that does not exist creates it, with the directories that it needs.",
    ),
    Claim(
        "journal.conversation-held-from-shell",
        "journal, Edge Cases",
        "`commonplace conversation -- COMMAND` is a conversation for as long as the command runs; "
        "its exit code and signals are the command's.",
    ),
    Claim(
        "journal.heartbeat-skips-busy",
        "journal, Edge Cases",
        "The heartbeat agent skips its tick while the conversation agent is running.",
    ),
    Claim(
        "journal.concurrent-rewrites",
        "journal, Edge Cases",
        "Two agents that rewrite `soul.md` at once both finish without error and leave an "
        "untorn document in which the later text stands, beside what the other wrote unseen.",
    ),
    Claim(
        "journal.recover-from-history",
        "journal, Edge Cases",
        "Information that a concurrent rewrite displaced can be found again in the conversation "
        "history.",
    ),
    Claim(
        "journal.diary-listing",
        "journal, Edge Cases",
        "Listing the diary directory by name gives its entries in the order of time.",
    ),
    Claim(
        "journal.diary-no-cleanup",
        "journal, Edge Cases",
        "No diary entry is removed for age or number.",
    ),
    Claim(
        "journal.token-usage-tracked",
        "journal, Future Work",
        "The size of the context is counted in tokens against a limit.",
    ),
    Claim(
        "journal.token-budget-trims-history",
        "journal, Future Work",
        "When the context would exceed its token limit, conversation history is trimmed until "
        "it fits.",
    ),
    Claim(
        "journal.new-categories",
        "journal, Future Work",
        "A subdirectory that the agent adds under `memories/` is a memory category whose "
        "documents are listed and read like the rest.",
    ),
    Claim(
        "journal.diary-semantic-search",
        "journal, Future Work",
        "Diary entries can be searched by meaning.",
    ),
)

NOTEBOOK = (
    Claim(
        "notebook.file",
        "notebook, Overview",
        "The memory of the notebook dialect is the one document `data/MEMORY.md`.",
    ),
    Claim(
        "notebook.persistent",
        "notebook, Overview",
        "Text put in `data/MEMORY.md` is there in every later conversation.",
    ),
    Claim(
        "notebook.injected-every-call",
        "notebook, Overview",
        "The memory is part of the system prompt on every call to the model, with no tool call "
        "spent on it.",
    ),
    Claim(
        "notebook.gitignored",
        "notebook, Overview",
        "`data/MEMORY.md` is kept out of git by an ignore rule.",
    ),
    Claim(
        "notebook.beside-the-database",
        "notebook, Overview",
        "Other files in `data/`, such as the SQLite database, are neither taken for memory nor "
        "changed.",
    ),
    Claim(
        "notebook.inject-appended",
        "notebook, Auto-Injection",
        "The memory follows the text of the system prompt.",
    ),
    Claim(
        "notebook.inject-read-each-turn",
        "notebook, Auto-Injection",
        "The file is read anew each turn, so that a change made in one turn is in the prompt of "
        "the next.",
    ),
    Claim(
        "notebook.inject-heading",
        "notebook, Auto-Injection",
        "The injected memory stands under a heading.",
    ),
    Claim(
        "notebook.inject-framing",
        "notebook, Auto-Injection",
        "A brief framing tells the agent what the injected text is.",
    ),
    Claim(
        "notebook.read-whole-file",
        "notebook, Tools",
        "`memory_read` returns the full contents of `MEMORY.md`.",
    ),
    Claim(
        "notebook.read-stays-available",
        "notebook, Tools",
        "`memory_read` stays in the tool set while the memory is injected anyway.",
    ),
    Claim(
        "notebook.update-two-modes",
        "notebook, Tools",
        "`memory_update` has the two modes `append` and `rewrite` and refuses any other.",
    ),
    Claim(
        "notebook.update-append",
        "notebook, Tools",
        "`memory_update` in mode `append` adds its content at the end of the file.",
    ),
    Claim(
        "notebook.update-rewrite",
        "notebook, Tools",
        "`memory_update` in mode `rewrite` puts its content in place of the entire file.",
    ),
    Claim(
        "notebook.rule-at-top",
        "notebook, What Goes in Memory",
        "A new `MEMORY.md` opens with its own rule: keep only what will still matter in about 3 "
        "months or more and also changes behaviour.",
    ),
    Claim(
        "notebook.section-about-me",
        "notebook, What Goes in Memory",
        "A new `MEMORY.md` has the section About Me for name, location, timezone, family and "
        "interests.",
    ),
    Claim(
        "notebook.section-interaction-preferences",
        "notebook, What Goes in Memory",
        "A new `MEMORY.md` has the section Interaction Preferences for communication style, "
        "engineering preferences and tone.",
    ),
    Claim(
        "notebook.section-safety-guardrails",
        "notebook, What Goes in Memory",
        "A new `MEMORY.md` has the section Safety + Guardrails for secrets, shell commands and "
        "file writes.",
    ),
    Claim(
        "notebook.section-machine-runtime",
        "notebook, What Goes in Memory",
        "A new `MEMORY.md` has the section Machine / Runtime for the machine's setup and the "
        "agent's capabilities.",
    ),
    Claim(
        "notebook.section-memory-policy",
        "notebook, What Goes in Memory",
        "A new `MEMORY.md` has the section Memory Management Policy for what to store and how "
        "to maintain the file.",
    ),
    Claim(
        "notebook.operations-elsewhere",
        "notebook, What Goes in Memory",
        "The policy in a new `MEMORY.md` sends operational instructions, such as how to use "
        "tools, to `SYSTEM_PROMPT.md`.",
    ),
    Claim(
        "notebook.free-form-kept",
        "notebook, Current Limitations",
        "Free-form markdown that the agent or a person put in the file is accepted and kept "
        "byte for byte through later appends.",
    ),
    Claim(
        "notebook.duplicate-not-appended",
        "notebook, Current Limitations",
        "Appending a text that the memory already holds adds no second copy and says so.",
    ),
    Claim(
        "notebook.structure-kept",
        "notebook, Current Limitations",
        "Adding to the memory never loses a heading nor moves a line from one section to another.",
    ),
    Claim(
        "notebook.rewrite-guarded",
        "notebook, Current Limitations",
        "A rewrite that would drop a large share of the existing memory is refused, with what "
        "would be lost, until it is confirmed.",
    ),
    Claim(
        "notebook.rewrite-recoverable",
        "notebook, Current Limitations",
        "The text that a rewrite replaced is kept and can be brought back.",
    ),
    Claim(
        "notebook.injected-size-bounded",
        "notebook, Current Limitations",
        "A growing file does not add input tokens without end, because what is injected has a "
        "limit.",
    ),
    Claim(
        "notebook.defined-sections",
        "notebook, Ideas for Future Improvements / Structured sections",
        "`MEMORY.md` is read as defined markdown sections, each a heading with what stands "
        "below it.",
    ),
    Claim(
        "notebook.front-matter-kept",
        "notebook, Ideas for Future Improvements / Structured sections",
        "YAML front matter at the head of a memory document is kept in place and never taken "
        "for a memory.",
    ),
    Claim(
        "notebook.section-updated-alone",
        "notebook, Ideas for Future Improvements / Structured sections",
        "One section can be given new text while every other section stays byte for byte the same.",
    ),
    Claim(
        "notebook.section-last-updated",
        "notebook, Ideas for Future Improvements / Structured sections",
        "Every section carries the date of its last update, which a write to that section sets "
        "and a write to another leaves alone.",
    ),
    Claim(
        "notebook.section-stale-visible",
        "notebook, Ideas for Future Improvements / Structured sections",
        "A section that has not been updated for long is shown as stale.",
    ),
    Claim(
        "notebook.size-cap",
        "notebook, Ideas for Future Improvements / Size limits",
        "The size of the memory file can be capped, for example at 4,000 characters.",
    ),
    Claim(
        "notebook.condense-before-append",
        "notebook, Ideas for Future Improvements / Size limits",
        "An append that would pass the cap is answered with a request to condense the memory "
        "first.",
    ),
    Claim(
        "notebook.truncate-oldest",
        "notebook, Ideas for Future Improvements / Size limits",
        "By option the oldest entries are taken out automatically when the file passes its cap: "
        "those without a day first, the topmost of them first, by whomever they were written.",
        open_question="Which entries of a file that people wrote are the oldest?",
    ),
    Claim(
        "notebook.semantic-entries",
        "notebook, Ideas for Future Improvements / Semantic memory",
        "Single memory entries are indexed as vectors and found by meaning.",
    ),
    Claim(
        "notebook.relevant-at-start",
        "notebook, Ideas for Future Improvements / Semantic memory",
        "At the start of a conversation the memories that fit the current message are retrieved "
        "and injected.",
    ),
    Claim(
        "notebook.append-only-entries",
        "notebook, Ideas for Future Improvements / Append-only log",
        "Memory can be kept as append-only entries, each with its timestamp, in place of rewrites.",
    ),
    Claim(
        "notebook.append-dated",
        "notebook, Ideas for Future Improvements / Append-only log",
        "Each item of a list that is appended ends with its day, `(2026-03-05)`, and the section "
        "it goes into says when it was updated, where it says so; prose stays as it is sent.",
        open_question="Where does an appended entry carry its timestamp?",
    ),
    Claim(
        "notebook.summary-in-prompt",
        "notebook, Ideas for Future Improvements / Append-only log",
        "After a compaction the summaries are in the prompt, below the file.",
        open_question="Are the summaries part of the injected memory?",
    ),
    Claim(
        "notebook.periodic-compaction",
        "notebook, Ideas for Future Improvements / Append-only log",
        "A scheduled task compacts the log of entries.",
    ),
    Claim(
        "notebook.compaction-by-agent",
        "notebook, Ideas for Future Improvements / Append-only log",
        "Compaction lets the agent's model condense the log into a clean state.",
    ),
    Claim(
        "notebook.category-files",
        "notebook, Ideas for Future Improvements / Separate memory files",
        "Memory can be split into files by category, such as `facts.md`, `preferences.md` and "
        "`projects.md`.",
    ),
    Claim(
        "notebook.category-read-alone",
        "notebook, Ideas for Future Improvements / Separate memory files",
        "The agent can read one category's file without getting the others.",
    ),
)

CLAW = (
    Claim(
        "claw.memory-file",
        "claw, 1. Storage",
        "Long-term memory is the document `MEMORY.md` at the root of the workspace.",
    ),
    Claim(
        "claw.memory-append-only",
        "claw, 1. Storage",
        "An append to `MEMORY.md` adds a line at its end and changes nothing before it.",
    ),
    Claim(
        "claw.line-format",
        "claw, 1. Storage",
        "A record is one line: `- ` followed by the record as one JSON object.",
    ),
    Claim(
        "claw.created-on-load",
        "claw, 1. Storage",
        "When a profile is loaded, a `MEMORY.md` that is missing or empty is created from the "
        "template along with the other substrate files.",
    ),
    Claim(
        "claw.created-on-first-append",
        "claw, 1. Storage",
        "If `MEMORY.md` is still missing at the first append, it is created from that same "
        "template.",
    ),
    Claim(
        "claw.gitignored",
        "claw, 1. Storage",
        "`MEMORY.md` is kept out of git by an ignore rule.",
    ),
    Claim(
        "claw.daily-file",
        "claw, 1. Storage",
        "The daily log is the document `memory/YYYY-MM-DD.md`.",
    ),
    Claim(
        "claw.daily-same-format",
        "claw, 1. Storage",
        "A record's line in the daily log is the same as its line in `MEMORY.md`.",
    ),
    Claim(
        "claw.daily-per-calendar-day",
        "claw, 1. Storage",
        "Records of one calendar day share one daily log, and those of another day stand in "
        "another.",
    ),
    Claim(
        "claw.daily-created-on-append",
        "claw, 1. Storage",
        "A daily log comes into being when a record is appended on that day, and not before.",
    ),
    Claim(
        "claw.record-fields",
        "claw, 1. Storage",
        "The JSON of a record has the keys `id`, `sessionId`, `category`, `text` and `provenance`.",
    ),
    Claim(
        "claw.provenance-fields",
        "claw, 1. Storage",
        "The `provenance` of a record has the keys `sourceChannel`, `confidence`, `timestamp` "
        "and `sensitivity`.",
    ),
    Claim(
        "claw.categories-named",
        "claw, 1. Storage",
        "The categories `turn-summary`, `compaction`, `note`, `heartbeat` and `learned` are known.",
    ),
    Claim(
        "claw.categories-open",
        "claw, 1. Storage",
        "A record with a category beyond the named ones is written and read back like any other.",
    ),
    Claim(
        "claw.own-labels",
        "claw, 1. Storage",
        "CursorClaw's labels `private-user` and `operational` are read and kept as written, and "
        "count as personal.",
    ),
    Claim(
        "claw.append-both",
        "claw, 2. MemoryStore (runtime)",
        "One append writes the record to `MEMORY.md` and to today's daily log.",
    ),
    Claim(
        "claw.append-keeps-id-and-time",
        "claw, 2. MemoryStore (runtime)",
        "`append` keeps the `id` and the `timestamp` of the record it is given; without them it "
        "gives its own.",
    ),
    Claim(
        "claw.read-all",
        "claw, 2. MemoryStore (runtime)",
        "`readAll` returns every record of `MEMORY.md`, parsed and in file order, and none that "
        "stands only in a daily log.",
    ),
    Claim(
        "claw.retrieve-by-session",
        "claw, 2. MemoryStore (runtime)",
        "`retrieveForSession` returns the records whose `sessionId` is the one asked for and no "
        "others.",
    ),
    Claim(
        "claw.retrieve-without-secret",
        "claw, 2. MemoryStore (runtime)",
        "`retrieveForSession` leaves out records of sensitivity `secret` unless `allowSecret` "
        "is true.",
    ),
    Claim(
        "claw.retrieve-with-secret",
        "claw, 2. MemoryStore (runtime)",
        "`retrieveForSession` includes the session's `secret` records when `allowSecret` is true.",
    ),
    Claim(
        "claw.flush-pre-compaction",
        "claw, 2. MemoryStore (runtime)",
        "`flushPreCompaction` appends a checkpoint record of category `compaction` for the "
        "session before compaction runs.",
    ),
    Claim(
        "claw.scan-contradictions",
        "claw, 2. MemoryStore (runtime)",
        "`integrityScan` reports records of the same session and category whose texts differ as "
        "a contradiction.",
    ),
    Claim(
        "claw.scan-staleness",
        "claw, 2. MemoryStore (runtime)",
        "`integrityScan` reports a record older than 120 days as stale.",
    ),
    Claim(
        "claw.scan-changes-nothing",
        "claw, 2. MemoryStore (runtime)",
        "`integrityScan` returns its findings and changes no file.",
    ),
    Claim(
        "claw.unbounded-by-default",
        "claw, 2. MemoryStore (runtime)",
        "With no limit set, appending never removes a record from `MEMORY.md`.",
    ),
    Claim(
        "claw.manual-edit",
        "claw, 2. MemoryStore (runtime)",
        "`MEMORY.md` may be edited or shortened by hand, and what then stands in it is the memory.",
    ),
    Claim(
        "claw.key-memory-max-records",
        "claw, 2. MemoryStore (runtime)",
        "The option `continuity.memoryMaxRecords` is accepted as a number of records and is "
        "unset by default.",
    ),
    Claim(
        "claw.key-memory-max-chars",
        "claw, 2. MemoryStore (runtime)",
        "The option `continuity.memoryMaxChars` is accepted as a number of characters and is "
        "unset by default.",
    ),
    Claim(
        "claw.trim-by-records",
        "claw, 2. MemoryStore (runtime)",
        "After an append, `MEMORY.md` holds no more than `continuity.memoryMaxRecords` records.",
    ),
    Claim(
        "claw.trim-by-chars",
        "claw, 2. MemoryStore (runtime)",
        "After an append, `MEMORY.md` holds no more than `continuity.memoryMaxChars` characters.",
    ),
    Claim(
        "claw.trim-leaves-daily",
        "claw, 2. MemoryStore (runtime)",
        "Trimming rewrites `MEMORY.md` only; daily logs keep the trimmed records.",
    ),
    Claim(
        "claw.key-memory-archive-path",
        "claw, 2. MemoryStore (runtime)",
        "The option `continuity.memoryArchivePath` is accepted as a path and is unset by default.",
    ),
    Claim(
        "claw.archive-is-not-a-day",
        "claw, 2. MemoryStore (runtime)",
        "An archive such as `memory/MEMORY-archive.md` is not taken for a daily log.",
    ),
    Claim(
        "claw.trim-archives",
        "claw, 2. MemoryStore (runtime)",
        "With `continuity.memoryArchivePath` set, trimmed lines are appended to that file as "
        "they stood.",
    ),
    Claim(
        "claw.trim-resyncs-index",
        "claw, 2. MemoryStore (runtime)",
        "After a trim the memory embedding index, if enabled, is brought level with `MEMORY.md`.",
    ),
    Claim(
        "claw.key-embeddings-enabled",
        "claw, 2. MemoryStore (runtime)",
        "The option `continuity.memoryEmbeddingsEnabled` is accepted as a boolean and is off by "
        "default.",
    ),
    Claim(
        "claw.index-separate-from-code",
        "claw, 2. MemoryStore (runtime)",
        "The memory embedding index holds records of memory only, never chunks of the "
        "workspace's code.",
    ),
    Claim(
        "claw.inject-main-session",
        "claw, 3. Session-start injection (main session only)",
        "In the main session memory is put into the system prompt at the start of each turn.",
    ),
    Claim(
        "claw.main-session-said",
        "claw, 3. Session-start injection (main session only)",
        "Which session is main is said by `isMainSession`, an argument or the option "
        "`main_sessions`; else it is one without an id, `main`, and a client connected by "
        "`setup`. Every other session gets nothing, through any door.",
    ),
    Claim(
        "claw.inject-sources",
        "claw, 3. Session-start injection (main session only)",
        "The injected sources are `MEMORY.md` and the daily logs of today and of yesterday, and "
        "no older day.",
    ),
    Claim(
        "claw.load-session-context",
        "claw, 3. Session-start injection (main session only)",
        "`loadSessionMemoryContext` takes the profile's root and options and returns the text "
        "to inject.",
    ),
    Claim(
        "claw.inject-needs-wiring",
        "claw, 3. Session-start injection (main session only)",
        "Nothing is injected unless the runtime was given both `getSessionMemoryContext` and a "
        "profile root.",
    ),
    Claim(
        "claw.inject-combined-cap",
        "claw, 3. Session-start injection (main session only)",
        "The sources together are held under one cap of 32,000 characters unless set otherwise.",
    ),
    Claim(
        "claw.inject-truncation-note",
        "claw, 3. Session-start injection (main session only)",
        "Text beyond the cap is cut off, and a note says so.",
    ),
    Claim(
        "claw.inject-not-in-shared",
        "claw, 3. Session-start injection (main session only)",
        "Shared channels and every session but the main one get no memory injected.",
    ),
    Claim(
        "claw.key-session-memory-enabled",
        "claw, 3. Session-start injection (main session only)",
        "The option `continuity.sessionMemoryEnabled` is accepted as a boolean and is `true` by "
        "default.",
    ),
    Claim(
        "claw.inject-disabled",
        "claw, 3. Session-start injection (main session only)",
        "With `continuity.sessionMemoryEnabled` false nothing is injected, whatever the cap.",
    ),
    Claim(
        "claw.key-session-memory-cap",
        "claw, 3. Session-start injection (main session only)",
        "The option `continuity.sessionMemoryCap` is accepted as a number of characters and is "
        "`32000` by default.",
    ),
    Claim(
        "claw.inject-cap-configured",
        "claw, 3. Session-start injection (main session only)",
        "A value of `continuity.sessionMemoryCap` takes the place of the default as the most "
        "characters injected.",
    ),
    Claim(
        "claw.gateway-reads",
        "claw, 4. Gateway (UI)",
        "The gateway has a call that reads a memory file.",
    ),
    Claim(
        "claw.gateway-writes",
        "claw, 4. Gateway (UI)",
        "The gateway has a call that writes a memory file.",
    ),
    Claim(
        "claw.gateway-ui",
        "claw, 4. Gateway (UI)",
        "The UI shows memory files and lets a person edit them.",
    ),
    Claim(
        "claw.gateway-allowed-paths",
        "claw, 4. Gateway (UI)",
        "The gateway's calls accept the paths `MEMORY.md` and `memory/YYYY-MM-DD.md`.",
    ),
    Claim(
        "claw.gateway-other-paths",
        "claw, 4. Gateway (UI)",
        "The gateway's calls reject every other path.",
    ),
    Claim(
        "claw.published-files",
        "claw, 5. Optional vector recall (PM.4)",
        "With the option `cursorclaw_files`, `tmp/memory-embeddings.json` and "
        "`tmp/experience-store.json` are written in the form that CursorClaw publishes.",
    ),
    Claim(
        "claw.index-path",
        "claw, 5. Optional vector recall (PM.4)",
        "The memory embedding index is persisted under the vault's machine state, not in "
        "`tmp/memory-embeddings.json`: state lives under `.commonplace/` by design.",
    ),
    Claim(
        "claw.index-hash-vectors",
        "claw, 5. Optional vector recall (PM.4)",
        "The memory embedding index holds vectors made by hashing the text of records.",
    ),
    Claim(
        "claw.key-embeddings-max-records",
        "claw, 5. Optional vector recall (PM.4)",
        "The option `continuity.memoryEmbeddingsMaxRecords` is accepted as a number of records "
        "and is 3000 by default.",
    ),
    Claim(
        "claw.index-bounded",
        "claw, 5. Optional vector recall (PM.4)",
        "The memory embedding index never holds more than "
        "`continuity.memoryEmbeddingsMaxRecords` records.",
    ),
    Claim(
        "claw.recall-when-enabled",
        "claw, 5. Optional vector recall (PM.4)",
        "`recall_memory` is in the tool set when `continuity.memoryEmbeddingsEnabled` is true "
        "and not otherwise.",
    ),
    Claim(
        "claw.recall-main-session",
        "claw, 5. Optional vector recall (PM.4)",
        "`recall_memory` is offered in the main session only.",
    ),
    Claim(
        "claw.recall-top-k",
        "claw, 5. Optional vector recall (PM.4)",
        "`recall_memory` takes a query in natural language and returns the top k records by "
        "similarity, not the whole of `MEMORY.md`.",
    ),
    Claim(
        "claw.recall-syncs",
        "claw, 5. Optional vector recall (PM.4)",
        "A record appended or removed since the last recall is taken into account by the next "
        "`recall_memory`, which syncs the index first.",
    ),
    Claim(
        "claw.recall-no-background-sync",
        "claw, 5. Optional vector recall (PM.4)",
        "No background process syncs the memory embedding index.",
    ),
    Claim(
        "claw.no-preference-store",
        "claw, 6. Relationship and preferences",
        "Relationship and preference context stands in `USER.md`, `MEMORY.md` and the daily "
        "logs and in no structured store of its own.",
    ),
    Claim(
        "claw.user-file",
        "claw, 6. Relationship and preferences",
        "`USER.md` is a substrate document at the root of the workspace, with who the human is, "
        "what to call them, timezone, pronouns and notes.",
    ),
    Claim(
        "claw.user-edited-by-hand",
        "claw, 6. Relationship and preferences",
        "`USER.md` is edited by people; appending records never changes it.",
    ),
    Claim(
        "claw.user-every-turn",
        "claw, 6. Relationship and preferences",
        "`USER.md` is loaded in every turn of the main session.",
    ),
    Claim(
        "claw.preferences-persist",
        "claw, 6. Relationship and preferences",
        "A preference recorded in a turn summary or with category `note`, `user-preference` or "
        "`learned` is there for later sessions.",
    ),
    Claim(
        "claw.no-dossier",
        "claw, 6. Relationship and preferences",
        "Nothing about the user is recorded beyond what the user or the agent records explicitly.",
    ),
    Claim(
        "claw.remember-this-tool",
        "claw, 6. Relationship and preferences",
        "`remember_this` is a tool of the main session.",
    ),
    Claim(
        "claw.remember-this-appends",
        "claw, 6. Relationship and preferences",
        "`remember_this` appends one record, to `MEMORY.md` and to today's daily log.",
    ),
    Claim(
        "claw.remember-this-recalled",
        "claw, 6. Relationship and preferences",
        "What `remember_this` stored is found by `recall_memory` when embeddings are enabled.",
    ),
    Claim(
        "claw.trim-oldest-first",
        "claw, 7. Rolling window (optional)",
        "When `MEMORY.md` exceeds its limit the oldest records are the ones removed.",
    ),
    Claim(
        "claw.json-configuration",
        "claw, 7. Rolling window (optional)",
        "The keys below `continuity` of CursorClaw's own `openclaw.json`, in the workspace or "
        "where `CURSORCLAW_CONFIG_PATH` says, are options, those in the workspace once its person "
        "has trusted it; `commonplace.toml` outweighs them.",
    ),
    Claim(
        "claw.key-reference",
        "claw, 7. Rolling window (optional)",
        "Every option of the `continuity` group can be looked up with its meaning and its default.",
    ),
    Claim(
        "claw.cache-refilled",
        "claw, 8. Fast memory patterns (in-memory vs persisted)",
        "The in-memory cache is lost when the process ends and is filled again from what is "
        "persisted.",
    ),
    Claim(
        "claw.index-survives-restart",
        "claw, 8. Fast memory patterns (in-memory vs persisted)",
        "The persisted memory embedding index is used again after a restart without being built "
        "anew.",
    ),
    Claim(
        "claw.cache-on-durable",
        "claw, 8. Fast memory patterns (in-memory vs persisted)",
        "A write reaches the durable file before the in-memory cache shows it.",
    ),
    Claim(
        "claw.cache-repeats-faster",
        "claw, 8. Fast memory patterns (in-memory vs persisted)",
        "A `recall_memory` query repeated within a session is answered from memory without "
        "reading the index file.",
    ),
    Claim(
        "claw.cache-key",
        "claw, 8. Fast memory patterns (in-memory vs persisted)",
        "The recall cache is keyed by the query or by the hash of its vector.",
    ),
    Claim(
        "claw.cache-ttl",
        "claw, 8. Fast memory patterns (in-memory vs persisted)",
        "An entry of the recall cache expires after its time to live, if one is set.",
    ),
    Claim(
        "claw.cache-lru",
        "claw, 8. Fast memory patterns (in-memory vs persisted)",
        "A full recall cache gives up the entry that was used least recently.",
    ),
    Claim(
        "claw.cache-bounded",
        "claw, 8. Fast memory patterns (in-memory vs persisted)",
        "The recall cache never exceeds its cap of entries or bytes.",
    ),
    Claim(
        "claw.cache-after-write",
        "claw, 8. Fast memory patterns (in-memory vs persisted)",
        "After a memory is written no recall is answered with a stale cached result.",
    ),
    Claim(
        "claw.cache-after-trim",
        "claw, 8. Fast memory patterns (in-memory vs persisted)",
        "Trimming or compacting `MEMORY.md` empties the recall cache or bypasses it.",
    ),
    Claim(
        "claw.cache-after-resync",
        "claw, 8. Fast memory patterns (in-memory vs persisted)",
        "Syncing the embeddings again empties the recall cache or bypasses it.",
    ),
    Claim(
        "claw.session-context-cached",
        "claw, 8. Fast memory patterns (in-memory vs persisted)",
        "The result of `loadSessionMemoryContext` can be kept for the same profile within a "
        "process.",
    ),
    Claim(
        "claw.session-context-invalidated",
        "claw, 8. Fast memory patterns (in-memory vs persisted)",
        "An append to `MEMORY.md` or a daily log makes a kept session context invalid.",
    ),
    Claim(
        "claw.key-compaction-enabled",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "The option `continuity.memoryCompactionEnabled` is accepted as a boolean.",
    ),
    Claim(
        "claw.compaction-enabled-alone",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "`memoryCompactionEnabled` alone runs: daily, and after an append past 500 records. The "
        "document names no defaults; these are ours.",
    ),
    Claim(
        "claw.compacted-stays-in-prompt",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "What was compacted stays in the prompt: LONGMEMORY.md is included unless "
        "`includeLongMemoryInSession` is false.",
    ),
    Claim(
        "claw.one-checkpoint",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "A run leaves one checkpoint, which no brief, context, recall or summary tells.",
    ),
    Claim(
        "claw.compaction-in-background",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "With compaction enabled a background job runs on a cron or interval schedule.",
    ),
    Claim(
        "claw.compaction-not-blocking",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "A running compaction blocks neither user turns nor the heartbeat.",
    ),
    Claim(
        "claw.compaction-merges",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "Compaction merges old compactable records into one or more records of category "
        "`compaction`.",
    ),
    Claim(
        "claw.longmemory-file",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "Compaction writes long-term summaries to `LONGMEMORY.md`.",
    ),
    Claim(
        "claw.key-long-memory-path",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "The option `continuity.longMemoryPath` is accepted as a path and is `LONGMEMORY.md` by "
        "default.",
    ),
    Claim(
        "claw.longmemory-path-used",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "With `continuity.longMemoryPath` set, the long-term summaries are written to that path "
        "instead.",
    ),
    Claim(
        "claw.key-include-long-memory",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "The option `continuity.includeLongMemoryInSession` is accepted as a boolean.",
    ),
    Claim(
        "claw.longmemory-injected-first",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "With `continuity.includeLongMemoryInSession` true, injection loads `LONGMEMORY.md` "
        "first, then `MEMORY.md`, then the daily logs.",
    ),
    Claim(
        "claw.longmemory-within-cap",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "`LONGMEMORY.md` counts towards the same cap as the other injected sources.",
    ),
    Claim(
        "claw.compaction-archives",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "With `continuity.memoryArchivePath` set, the lines that compaction takes out are "
        "appended to that file.",
    ),
    Claim(
        "claw.compaction-resyncs-index",
        "claw, 9. LONGMEMORY.md and scheduled compaction",
        "After compaction the memory embedding index, if enabled, is brought level with "
        "`MEMORY.md`.",
    ),
    Claim(
        "claw.key-experience-enabled",
        "claw, 10. Experience store (vector store for experiences)",
        "The option `continuity.experienceStoreEnabled` is accepted as a boolean.",
    ),
    Claim(
        "claw.experiences-outlive-compaction",
        "claw, 10. Experience store (vector store for experiences)",
        "An experience is still found when its record was compacted; not when it was erased.",
    ),
    Claim(
        "claw.experience-block",
        "claw, 10. Experience store (vector store for experiences)",
        "Each line of the block of experiences says something, and is alike to the message by "
        "0.2 at least; the document names no bound.",
    ),
    Claim(
        "claw.experience-hash-vectors",
        "claw, 10. Experience store (vector store for experiences)",
        "The experience store holds vectors made by the same hashing as the memory embedding "
        "index.",
    ),
    Claim(
        "claw.experience-path",
        "claw, 10. Experience store (vector store for experiences)",
        "The experience store is persisted under the vault's machine state, not in "
        "`tmp/experience-store.json`: state lives under `.commonplace/` by design.",
    ),
    Claim(
        "claw.key-experience-threshold",
        "claw, 10. Experience store (vector store for experiences)",
        "The option `continuity.experienceUniquenessThreshold` is accepted as a similarity.",
    ),
    Claim(
        "claw.experience-admission",
        "claw, 10. Experience store (vector store for experiences)",
        "A recent record joins the experience store only if its similarity to every experience "
        "in it is below the threshold.",
    ),
    Claim(
        "claw.experience-schedule",
        "claw, 10. Experience store (vector store for experiences)",
        "Experiences are taken in on the same schedule as compaction.",
    ),
    Claim(
        "claw.experience-alone",
        "claw, 10. Experience store (vector store for experiences)",
        "With the experience store enabled and compaction not, experiences are taken in on "
        "schedule all the same.",
    ),
    Claim(
        "claw.query-experiences-sessions",
        "claw, 10. Experience store (vector store for experiences)",
        "`query_experiences` is offered in the main and the heartbeat session.",
    ),
    Claim(
        "claw.query-experiences-top-k",
        "claw, 10. Experience store (vector store for experiences)",
        "`query_experiences` takes a query in natural language and returns the top k "
        "experiences that fit it.",
    ),
    Claim(
        "claw.key-inject-experience",
        "claw, 10. Experience store (vector store for experiences)",
        "The option `continuity.injectExperienceContext` is accepted as a boolean.",
    ),
    Claim(
        "claw.inject-experiences",
        "claw, 10. Experience store (vector store for experiences)",
        "With `continuity.injectExperienceContext` true, the main session's prompt has a block "
        "called Relevant past experiences.",
    ),
    Claim(
        "claw.inject-experiences-hint",
        "claw, 10. Experience store (vector store for experiences)",
        "The experiences in that block are found with the last user message as the query.",
    ),
    Claim(
        "claw.experience-vector-database",
        "claw, 10. Experience store (vector store for experiences)",
        "The experience store can be kept in a dedicated vector database in place of the file.",
    ),
    Claim(
        "claw.memory-is-truth",
        "claw, 11. Long-term memory patterns / Primary + daily",
        "`MEMORY.md` alone is the source of truth: with everything under `tmp/` and all machine "
        "state deleted no record is lost.",
    ),
    Claim(
        "claw.daily-read-alone",
        "claw, 11. Long-term memory patterns / Primary + daily",
        "The records of one day can be loaded from that day's log by itself.",
    ),
    Claim(
        "claw.heartbeat-hygiene",
        "claw, 11. Long-term memory patterns / Vector store",
        "The heartbeat template can ask to see to it that the index is level after a compaction "
        "or trim.",
    ),
    Claim(
        "claw.heartbeat-compaction",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "A heartbeat step can run compaction when compaction is enabled.",
    ),
    Claim(
        "claw.key-compaction-threshold-records",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "The option `continuity.memoryCompactionThresholdRecords` is accepted as a number of "
        "records.",
    ),
    Claim(
        "claw.key-compaction-threshold-chars",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "The option `continuity.memoryCompactionThresholdChars` is accepted as a number of "
        "characters.",
    ),
    Claim(
        "claw.key-compaction-min-age",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "The option `continuity.memoryCompactionMinAgeDays` is accepted as a number of days.",
    ),
    Claim(
        "claw.key-compaction-schedule",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "The option `continuity.memoryCompactionSchedule` is accepted as a cron expression or "
        "as `daily` and may be left out.",
    ),
    Claim(
        "claw.compaction-after-records",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "An append that takes the record count over "
        "`continuity.memoryCompactionThresholdRecords` triggers compaction.",
    ),
    Claim(
        "claw.compaction-after-chars",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "An append that takes the size over `continuity.memoryCompactionThresholdChars` "
        "triggers compaction.",
    ),
    Claim(
        "claw.compaction-on-trigger-only",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "Compaction never runs unless one of its triggers fires.",
    ),
    Claim(
        "claw.compaction-scope",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "Compaction takes in `turn-summary` and `note` records older than "
        "`continuity.memoryCompactionMinAgeDays`.",
    ),
    Claim(
        "claw.compaction-keeps-recent",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "A record younger than the minimum age is still in `MEMORY.md` after compaction.",
    ),
    Claim(
        "claw.compaction-keeps-high-value",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "Records of category `learned` and `user-preference` stay intact or are summed up apart "
        "from the rest.",
    ),
    Claim(
        "claw.compaction-keeps-sensitive",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "No sensitive record is lost by compaction.",
    ),
    Claim(
        "claw.compaction-backup",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "A backup of `MEMORY.md` is made before compaction rewrites it.",
    ),
    Claim(
        "claw.compaction-provenance",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "A compaction record preserves the provenance and category of the records it stands for.",
    ),
    Claim(
        "claw.compaction-fewer-lines",
        "claw, 11. Long-term memory patterns / Compaction / summarization",
        "`MEMORY.md` has fewer lines after a compaction that merged records.",
    ),
    Claim(
        "claw.precheck-threshold",
        "claw, 11. Long-term memory patterns / Pre-compaction check",
        "A run starts by verifying that compaction is enabled and that a threshold is exceeded, "
        "and stops if not.",
    ),
    Claim(
        "claw.precheck-in-scope",
        "claw, 11. Long-term memory patterns / Pre-compaction check",
        "A run stops without writing if no record is in scope.",
    ),
    Claim(
        "claw.lock-file",
        "claw, 11. Long-term memory patterns / Pre-compaction check",
        "A run holds `tmp/memory-compaction.lock`, with the number of its process in it, and is "
        "left out while another program holds it; one that was left a day ago is taken over.",
    ),
    Claim(
        "claw.precheck-lock",
        "claw, 11. Long-term memory patterns / Pre-compaction check",
        "A run takes the single-writer lock before it works on `MEMORY.md`: one of the vault's "
        "machine state that the system frees when the process ends, in place of the file "
        "`tmp/memory-compaction.lock`.",
    ),
    Claim(
        "claw.precheck-lock-taken",
        "claw, 11. Long-term memory patterns / Pre-compaction check",
        "A run that cannot take the lock is skipped, and the log says so.",
    ),
    Claim(
        "claw.precheck-order",
        "claw, 11. Long-term memory patterns / Pre-compaction check",
        "The checks come in the order enabled and threshold, scope, lock, and only then the work.",
    ),
    Claim(
        "claw.compaction-single-writer",
        "claw, 11. Long-term memory patterns / Implementation checklist",
        "A record appended while compaction rewrites `MEMORY.md` is not lost.",
    ),
    Claim(
        "claw.compaction-lock-released",
        "claw, 11. Long-term memory patterns / Implementation checklist",
        "The compaction lock is gone when a run ends, be it in success, failure or exception.",
    ),
    Claim(
        "claw.compaction-lock-after-crash",
        "claw, 11. Long-term memory patterns / Implementation checklist",
        "A run that crashed leaves no lock that keeps the next run out.",
    ),
    Claim(
        "claw.compaction-flushes-first",
        "claw, 11. Long-term memory patterns / Implementation checklist",
        "A run calls `flushPreCompaction` before it reads `MEMORY.md`.",
    ),
    Claim(
        "claw.compaction-leaves-daily",
        "claw, 11. Long-term memory patterns / Implementation checklist",
        "Compaction changes no daily log.",
    ),
    Claim(
        "claw.compaction-rollback",
        "claw, 11. Long-term memory patterns / Implementation checklist",
        "A compaction whose write fails midway restores `MEMORY.md` from the backup, never "
        "leaving it partly written.",
    ),
    Claim(
        "claw.compaction-failure-logged",
        "claw, 11. Long-term memory patterns / Implementation checklist",
        "A failed compaction is logged for the operator.",
    ),
    Claim(
        "claw.compaction-then-scan",
        "claw, 11. Long-term memory patterns / Implementation checklist",
        "A run ends with `integrityScan`, and each finding is fixed or reported.",
    ),
    Claim(
        "claw.validation-count",
        "claw, 11. Long-term memory patterns / Validation after compaction",
        "Validation verifies that the record count went down, or stayed the same where nothing "
        "was in scope.",
    ),
    Claim(
        "claw.validation-kept",
        "claw, 11. Long-term memory patterns / Validation after compaction",
        "Validation verifies that no recent or sensitive record was removed.",
    ),
    Claim(
        "claw.validation-index",
        "claw, 11. Long-term memory patterns / Validation after compaction",
        "Validation verifies that the memory embedding index, if enabled, was synced again.",
    ),
    Claim(
        "claw.validation-scan",
        "claw, 11. Long-term memory patterns / Validation after compaction",
        "Validation verifies that `integrityScan` has no finding that was not there before the "
        "run.",
    ),
    Claim(
        "claw.compaction-stats",
        "claw, 11. Long-term memory patterns / Validation after compaction",
        "Each run logs the number of records before and after it.",
    ),
    Claim(
        "claw.agent-summarization",
        "claw, 12. Possible future improvements",
        "The agent can trigger a summary of middle-aged records into one compaction record, "
        "with or without a rolling window.",
    ),
)

TYPED = (
    Claim(
        "typed.persistent",
        "typed, Memory",
        "A memory stored in one session is found in a later one.",
    ),
    Claim(
        "typed.safety-suggestions",
        "typed, Important: Behavioral Memory Safety",
        "Behavioural memories of earlier sessions are presented as suggestions and not as "
        "commands.",
    ),
    Claim(
        "typed.safety-injection-warning",
        "typed, Important: Behavioral Memory Safety",
        "The framing warns that behavioural memories may come from prompt injection in an "
        "earlier conversation.",
    ),
    Claim(
        "typed.safety-verify",
        "typed, Important: Behavioral Memory Safety",
        "The framing asks to verify unusual behavioural instructions with the user before "
        "following them.",
    ),
    Claim(
        "typed.safety-informational",
        "typed, Important: Behavioral Memory Safety",
        "Facts and context are presented as information, to be judged by age and provenance.",
    ),
    Claim(
        "typed.store-ipc",
        "typed, memory_store / Usage",
        "`ipc tool.invoke.memory_store` with one JSON argument stores a typed entry.",
    ),
    Claim(
        "typed.store-type-required",
        "typed, memory_store / Arguments",
        "`memory_store` requires the string `type`.",
    ),
    Claim(
        "typed.types",
        "typed, memory_store / Arguments",
        "The entry types are `preference`, `fact`, `instruction`, `context` and `correction`.",
    ),
    Claim(
        "typed.store-type-closed",
        "typed, memory_store / Arguments",
        "`memory_store` refuses a `type` that is not one of the five.",
    ),
    Claim(
        "typed.store-content-required",
        "typed, memory_store / Arguments",
        "`memory_store` requires the string `content`.",
    ),
    Claim(
        "typed.content-limit",
        "typed, memory_store / Arguments",
        "The content of an entry may have up to 2000 characters, and one more is refused.",
    ),
    Claim(
        "typed.store-content-summary",
        "typed, memory_store / Arguments",
        "The schema of `content` asks for a clear and self-contained summary.",
    ),
    Claim(
        "typed.store-tags-optional",
        "typed, memory_store / Arguments",
        "`memory_store` takes an optional list of strings `tags`.",
    ),
    Claim(
        "typed.tags-limit",
        "typed, memory_store / Arguments",
        "An entry may have up to 10 tags, and an eleventh is refused.",
    ),
    Claim(
        "typed.tag-length",
        "typed, memory_store / Arguments",
        "A tag may have up to 50 characters, and one more is refused.",
    ),
    Claim(
        "typed.tags-default",
        "typed, memory_store / Arguments",
        "An entry stored without tags has the empty list of tags.",
    ),
    Claim(
        "typed.store-supersedes-optional",
        "typed, memory_store / Arguments",
        "`memory_store` takes an optional string `supersedes`, the id of the entry that the new "
        "one replaces.",
    ),
    Claim(
        "typed.supersedes",
        "typed, memory_store / Arguments",
        "An entry can name the id of an entry that it supersedes, and the older one is then "
        "kept but counts as superseded.",
    ),
    Claim(
        "typed.store-explains-types",
        "typed, memory_store / Entry Types",
        "The description of `memory_store` says what each of the five types is for.",
    ),
    Claim(
        "typed.store-examples",
        "typed, memory_store / Examples",
        "The document's three `memory_store` examples run as printed, the last one where "
        "`mem-abc123` exists.",
    ),
    Claim(
        "typed.behavioral-derived",
        "typed, memory_store / Notes",
        "The behavioural flag follows from the type: true for `preference`, `instruction` and "
        "`correction`, false for `fact` and `context`.",
    ),
    Claim(
        "typed.behavioral-not-settable",
        "typed, memory_store / Notes",
        "`memory_store` has no argument that sets the behavioural flag.",
    ),
    Claim(
        "typed.provenance-automatic",
        "typed, memory_store / Notes",
        "Session, group and timestamp are recorded with every entry without the caller giving "
        "them in its text.",
    ),
    Claim(
        "typed.budget-stores",
        "typed, memory_store / Notes",
        "A session may store about 20 entries, after which `memory_store` refuses and names the "
        "budget.",
    ),
    Claim(
        "typed.budget-without-a-session",
        "typed, memory_store / Notes",
        "A call that names no session is counted with the program that runs it, behind whatever "
        "shells, and where that cannot be seen with the day, by vault.",
        open_question="What is a session to a call of `ipc` that names none?",
    ),
    Claim(
        "typed.budget-not-the-owner",
        "typed, memory_store / Notes",
        "What the owner does, as at a terminal, is not counted.",
        open_question="Does the budget hold for people?",
    ),
    Claim(
        "typed.budget-native",
        "typed, memory_store / Notes",
        "The native tools have the same budgets where an agent calls them (MCP, `tool`, `ipc`); "
        "commands, the page, HTTP, imports and Python are not counted.",
        open_question="Do the budgets hold for the native tools?",
    ),
    Claim(
        "typed.budget-supersedes",
        "typed, memory_store / Notes",
        "A session may supersede at most 5 entries.",
    ),
    Claim(
        "typed.guidance-selective",
        "typed, memory_store / Notes",
        "The instructions ask to be selective and to store the insight, not the conversation.",
    ),
    Claim(
        "typed.search-ranked",
        "typed, memory_search / Usage",
        "`memory_search` with a query returns its results ranked by relevance, the most "
        "relevant first.",
    ),
    Claim(
        "typed.search-ipc",
        "typed, memory_search / Usage",
        "`ipc tool.invoke.memory_search` with one JSON argument searches the entries.",
    ),
    Claim(
        "typed.search-query-optional",
        "typed, memory_search / Arguments",
        "`memory_search` takes an optional string `query` and works without one.",
    ),
    Claim(
        "typed.search-query-limit",
        "typed, memory_search / Arguments",
        "A `query` may have up to 500 characters, and one more is refused.",
    ),
    Claim(
        "typed.search-full-text",
        "typed, memory_search / Arguments",
        "A `query` is free text ranked by full-text search.",
    ),
    Claim(
        "typed.search-by-tags",
        "typed, memory_search / Arguments",
        "`memory_search` takes an optional list `tags` and returns only entries that have all "
        "of them.",
    ),
    Claim(
        "typed.search-tags-many",
        "typed, memory_search / Arguments",
        "A list of more than 100 texts, or with one of more than 2000 characters, is refused in a "
        "sentence by every tool.",
        open_question="How many tags may a search name?",
    ),
    Claim(
        "typed.search-by-type",
        "typed, memory_search / Arguments",
        "`memory_search` takes an optional `type`, one of the five, and returns only entries of "
        "it.",
    ),
    Claim(
        "typed.search-include-superseded",
        "typed, memory_search / Arguments",
        "`memory_search` with `include_superseded` true returns superseded entries too.",
    ),
    Claim(
        "typed.search-superseded-default",
        "typed, memory_search / Arguments",
        "`include_superseded` is `false` by default, which leaves superseded entries out.",
    ),
    Claim(
        "typed.search-limit-default",
        "typed, memory_search / Arguments",
        "Without `limit`, `memory_search` returns at most 20 entries.",
    ),
    Claim(
        "typed.search-limit-max",
        "typed, memory_search / Arguments",
        "The integer `limit` of `memory_search` may be at most 100.",
    ),
    Claim(
        "typed.search-examples",
        "typed, memory_search / Examples",
        "The document's `memory_search` examples, by text, by type, by tags and with no filter, "
        "run as printed.",
    ),
    Claim(
        "typed.result-id",
        "typed, memory_search / Return Format",
        "A search result has `id`, which `memory_delete` and `supersedes` accept.",
    ),
    Claim(
        "typed.result-type",
        "typed, memory_search / Return Format",
        "A search result has `type`, the type of the entry.",
    ),
    Claim(
        "typed.result-content",
        "typed, memory_search / Return Format",
        "A search result has `content`, the text as stored.",
    ),
    Claim(
        "typed.result-behavioral",
        "typed, memory_search / Return Format",
        "A search result has `behavioral`, which says whether the entry influences behaviour.",
    ),
    Claim(
        "typed.result-tags",
        "typed, memory_search / Return Format",
        "A search result has `tags`, the tags of the entry.",
    ),
    Claim(
        "typed.result-created-at",
        "typed, memory_search / Return Format",
        "A search result has `created_at`, an ISO 8601 timestamp.",
    ),
    Claim(
        "typed.result-relevance",
        "typed, memory_search / Return Format",
        "A search result has `relevance_score`, a number from 0.0 to 1.0 that is higher the "
        "better the entry fits the query.",
    ),
    Claim(
        "typed.search-recent",
        "typed, memory_search / Notes",
        "`memory_search` with neither query nor filter returns the most recent entries.",
    ),
    Claim(
        "typed.brief-ipc",
        "typed, memory_brief / Usage",
        "`ipc tool.invoke.memory_brief` with `{}` returns a summary of the stored memories.",
    ),
    Claim(
        "typed.brief-by-relevance",
        "typed, memory_brief / Usage",
        "The entries of a brief are sorted by relevance within the behavioural and the other "
        "group.",
    ),
    Claim(
        "typed.brief-highlights",
        "typed, memory_brief / Usage",
        "Behavioural entries stand out in a brief.",
    ),
    Claim(
        "typed.brief-provenance-default",
        "typed, memory_brief / Arguments",
        "`include_provenance` is `false` by default, which leaves session and group out of the "
        "entries.",
    ),
    Claim(
        "typed.brief-provenance",
        "typed, memory_brief / Arguments",
        "`memory_brief` with `include_provenance` true gives session and group with each entry.",
    ),
    Claim(
        "typed.brief-examples",
        "typed, memory_brief / Examples",
        "The document's two `memory_brief` examples run as printed.",
    ),
    Claim(
        "typed.brief-entries",
        "typed, memory_brief / Return Format",
        "A brief has `entries`, an array of brief entries.",
    ),
    Claim(
        "typed.brief-behavioral-first",
        "typed, memory_brief / Return Format",
        "All behavioural entries of a brief come before all others.",
    ),
    Claim(
        "typed.brief-generated-at",
        "typed, memory_brief / Return Format",
        "A brief has `generated_at`, an ISO 8601 timestamp.",
    ),
    Claim(
        "typed.brief-entry-count",
        "typed, memory_brief / Return Format",
        "A brief has `entry_count`, the number of all entries in storage.",
    ),
    Claim(
        "typed.brief-count",
        "typed, memory_brief / Return Format",
        "A brief has `brief_count`, the number of entries in this brief.",
    ),
    Claim(
        "typed.brief-entry-fields",
        "typed, memory_brief / Return Format",
        "A brief entry has `id`, `type`, `content`, `behavioral`, `tags` and `age_days`.",
    ),
    Claim(
        "typed.brief-single-line",
        "typed, memory_brief / Return Format",
        "The `content` of a brief entry is one line, with newlines taken out.",
    ),
    Claim(
        "typed.brief-at-session-start",
        "typed, memory_brief / Notes",
        "A memory brief is injected automatically at session start.",
    ),
    Claim(
        "typed.brief-share",
        "typed, memory_brief / Notes",
        "Behavioural entries leave 30 in a hundred of a brief to the others, as far as there are "
        "that many, in the answer and in what is injected.",
        open_question="What of a brief of which behavioural entries would fill all?",
    ),
    Claim(
        "typed.short-ids",
        "typed, memory_brief / Notes",
        "The injected brief carries the end of each id, and any part of an id of 6 or more "
        "characters that no other id has stands for it wherever ids are taken.",
        open_question="How does an agent name an entry of the injected brief?",
    ),
    Claim(
        "typed.brief-refreshed",
        "typed, memory_brief / Notes",
        "A brief asked for in mid-session includes the entries stored since the session began.",
    ),
    Claim(
        "typed.delete-ipc",
        "typed, memory_delete / Usage",
        "`ipc tool.invoke.memory_delete` with an `id` deletes that entry and no other.",
    ),
    Claim(
        "typed.delete-id-required",
        "typed, memory_delete / Arguments",
        "`memory_delete` requires the string `id`.",
    ),
    Claim(
        "typed.id-form",
        "typed, memory_delete / Examples",
        "The id of an entry is `mem-` followed by a UUID in lower-case hexadecimal with hyphens.",
    ),
    Claim(
        "typed.delete-example",
        "typed, memory_delete / Examples",
        "The document's `memory_delete` example runs as printed where its entry exists.",
    ),
    Claim(
        "typed.delete-permanent",
        "typed, memory_delete / Notes",
        "A deleted entry never comes back, neither after a restart nor after a rebuild of the "
        "index nor by undo.",
    ),
    Claim(
        "typed.delete-from-storage",
        "typed, memory_delete / Notes",
        "The text of a deleted entry is in no document of the storage any more.",
    ),
    Claim(
        "typed.delete-from-index",
        "typed, memory_delete / Notes",
        "A deleted entry is in the search index no more.",
    ),
    Claim(
        "typed.budget-deletes",
        "typed, memory_delete / Notes",
        "A session may delete at most 5 entries.",
    ),
    Claim(
        "typed.delete-guidance",
        "typed, memory_delete / Notes",
        "The description of `memory_delete` keeps it for a user's explicit wish or a memory "
        "that is clearly wrong.",
    ),
    Claim(
        "typed.guidance-as-learned",
        "typed, When to Store Memories",
        "The instructions ask to store important information as it is learned, during the "
        "conversation.",
    ),
    Claim(
        "typed.guidance-preference",
        "typed, When to Store Memories",
        "The instructions map a preference that the user states to type `preference`.",
    ),
    Claim(
        "typed.guidance-correction",
        "typed, When to Store Memories",
        "The instructions map a correction by the user to type `correction`.",
    ),
    Claim(
        "typed.guidance-fact",
        "typed, When to Store Memories",
        "The instructions map an important fact that the user shares to type `fact`.",
    ),
    Claim(
        "typed.guidance-instruction",
        "typed, When to Store Memories",
        "The instructions map a standing instruction of the user to type `instruction`.",
    ),
    Claim(
        "typed.guidance-supersede",
        "typed, When to Store Memories",
        "The instructions ask to use `supersedes` when a new insight contradicts an existing "
        "memory.",
    ),
    Claim(
        "typed.sweep",
        "typed, Session-End Sweep",
        "The instructions ask for a last review of what was missed before the session ends.",
    ),
    Claim(
        "typed.sweep-context",
        "typed, Session-End Sweep",
        "The sweep asks for context with which a future session can pick up the work.",
    ),
    Claim(
        "typed.sweep-implicit",
        "typed, Session-End Sweep",
        "The sweep asks for preferences that showed themselves but were not stored.",
    ),
    Claim(
        "typed.skip-transient",
        "typed, Session-End Sweep",
        "The instructions forbid storing transient information, such as the weather or the "
        "state of the current task.",
    ),
    Claim(
        "typed.skip-known",
        "typed, Session-End Sweep",
        "The instructions forbid storing what an earlier memory already holds.",
    ),
    Claim(
        "typed.skip-raw",
        "typed, Session-End Sweep",
        "The instructions forbid storing raw conversation and ask for discrete insights instead.",
    ),
)

CLAIMS: tuple[Claim, ...] = EARL + JOURNAL + NOTEBOOK + CLAW + TYPED
