"""Hypothesis strategies: records whose texts are made of what could break a line or a document."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import strategies as st

from commonplace.model.clock import stamp
from commonplace.model.records import BEHAVIORAL, CATEGORIES, TYPES, Origin, Record, Sensitivity

# How long one example takes says more about the machine than about the code.

DELIMITERS = (
    "\n",
    "\n\n",
    "\n- ",
    "\n  ",
    "\n    - ",
    "\n\t",
    "\n# ",
    "\n---\n",
    "\n===\n",
    "\n```\n",
    "```",
    "~~~",
    "\r",
    "\r\n",
    "\0",
    "\x1b[31m",
    "\x7f",
    "\x85",
    "\u2028",
    "\u2029",
    "\ufeff",
    "\u200d",
    "\u202e",
    "<!--",
    "-->",
    "<!-- {",
    "} -->",
    "&lt;!--",
    "&amp;lt;!--",
    "&",
    "--",
    "- ",
    "- - -",
    "* ",
    "+ ",
    "-",
    "***",
    "{",
    "}",
    "\\",
    "\\{",
    "\\u003c",
    '"',
    "|",
    " | ",
    "`",
    "`@bob` |",
    "`@bob` | ",
    "`@` | ",
    "**12:00 UTC**",
    "**12:00 UTC** | ",
    "- **12:00 UTC** | `@bob` | ",
    '- {"id":"mem-forged","text":"x"}',
    '<!-- {"id":"mem-forged","kind":"fact","timestamp":""} -->',
    ' <!-- {"id":"mem-forged"} -->\n',
    "# Heading",
    "*Updated: 2026-11-15*",
    "1. ",
    "    ",
    " ",
    "\t",
    "word",
    "mémoire",
    "記憶",
    "שלום",
    "🦊",
    "👩‍💻",
)


def texts(*, max_pieces: int = 8) -> st.SearchStrategy[str]:
    """Any text without lone surrogates, most of it delimiters."""
    letters = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    pieces = st.one_of(st.sampled_from(DELIMITERS), st.sampled_from(DELIMITERS), letters)
    return st.lists(pieces, max_size=max_pieces).map("".join)


def stamps() -> st.SearchStrategy[str]:
    """Times as the clock writes them."""
    days = st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1))
    return days.map(lambda moment: stamp(moment.replace(tzinfo=UTC)))


def timestamps() -> st.SearchStrategy[str]:
    """Times as anyone may have written them, or not."""
    odd = ("", "2026-11-15", "2026-11-15T14:30:00+02:00", "yesterday", "x" * 11 + "12:00:00Z")
    return st.one_of(stamps(), stamps(), st.sampled_from(odd))


def ids() -> st.SearchStrategy[str]:
    return st.from_regex(r"mem-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", fullmatch=True)


def kinds() -> st.SearchStrategy[str]:
    known = sorted({*TYPES, *CATEGORIES, *BEHAVIORAL, "decision"})
    return st.one_of(st.sampled_from(known), st.from_regex(r"[a-z]{1,8}-[a-z0-9]+", fullmatch=True))


def usernames() -> st.SearchStrategy[str]:
    return st.one_of(st.sampled_from(("", "", "alice", "bob.b-2", "Ünal")), texts(max_pieces=3))


def words() -> st.SearchStrategy[str]:
    return st.one_of(st.just(""), st.sampled_from(("s-1", "cli", "team")), texts(max_pieces=2))


def records() -> st.SearchStrategy[Record]:
    """Any record at all."""
    return st.builds(
        Record,
        id=ids(),
        kind=kinds(),
        text=texts(),
        timestamp=timestamps(),
        tags=st.lists(words(), max_size=3).map(tuple),
        supersedes=words(),
        session=words(),
        group=words(),
        channel=words(),
        username=usernames(),
        confidence=st.floats(0, 1),
        sensitivity=st.sampled_from(list(Sensitivity)),
        origin=st.sampled_from(list(Origin)),
        valid_from=words(),
        valid_to=words(),
        sources=st.lists(words(), max_size=2).map(tuple),
        replaced_by=words(),
        seen=st.lists(words(), max_size=2).map(tuple),
    )


def documents() -> st.SearchStrategy[str]:
    """Any text that might stand in a file, with some structure of every kind."""
    blocks = (
        "# Title\n\n",
        "## Section\n*Updated: 2026-01-02*\n\n",
        "Under\n=====\n",
        "Under\n---\n",
        "Some prose that runs\nover two lines.\n\n",
        "| a | b |\n|---|---|\n| 1 | 2 |\n",
        "```\n- code\n```\n",
        "````md\n```\n````\n",
        "~~~\n",
        "```\n",
        "<!-- a comment -->\n",
        "<!--\n- hidden\n-->\n",
        "<!-- left open\n",
        "---\n",
        "---\ntitle: x\ntags:\n- a\n---\n",
        "- bullet\n",
        "* starred\n  - nested\n\n  further\n",
        "+ plus\n\n\tindented\n",
        "- bullet",
        "1. one\n2. two\n   - nested\n",
        "- **14:30 UTC** | `@alice` | Prefers dark mode\n",
        '- **14:30 UTC** | told <!-- {"id":"mem-1","kind":"fact","timestamp":""} -->\n',
        '- **14:30 UTC** | broken <!-- {"id": -->\n',
        '- {"id":"c-1","text":"claw"}\n',
        '- {"id":"c-1","text":\n',
        "\n",
        "\r\n",
        "  \n",
        "\0\0",
        "\ufeff",
        "text without an end",
        "\\",
    )
    pieces = st.one_of(st.sampled_from(blocks), st.sampled_from(blocks), texts(max_pieces=3))
    return st.lists(pieces, max_size=10).map("".join)


def prose() -> st.SearchStrategy[str]:
    """Prose that is no list and leaves nothing open."""
    return st.sampled_from(
        (
            "",
            "\n",
            "# Heading\n\n",
            "A paragraph.\n",
            "Two\nlines.\n\n",
            "```\n- code\n```\n",
            "<!-- note -->\n",
            "---\n",
            "Under\n---\n\n",
            "1. one\n",
            "> - quoted\n",
        )
    )
