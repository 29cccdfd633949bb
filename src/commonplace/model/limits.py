"""The rules a value must keep before it is stored: lengths, names, counts.

Each check returns the value or raises an error that says what would be accepted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from commonplace.model.clock import end_of, parse_stamp, stamp, start_of
from commonplace.model.errors import BadValue
from commonplace.model.options import Options
from commonplace.model.records import CATEGORIES, ID, KIND, PASSAGE, TYPES, Sensitivity

DOCUMENT_LIMIT = 10_000_000
"""Characters of one document that are written at once: more is a mistake."""
MOST_LISTED, LONGEST_LISTED = 100, 2000
"""How many texts any list may have, and how many characters each of them."""
HALF = re.compile("[\\ud800-\\udfff]")
UNPLAIN = re.compile("[\\x00-\\x1f\\ud800-\\udfff]")
SPLIT = "Write a shorter, self-contained summary, or split it into several records."
FEWER = "Ask with fewer words: those that tell most."


def too_long(argument: str, *, length: int, limit: int, next_step: str = "") -> BadValue:
    return BadValue(
        argument,
        f"{length:,} characters, and at most {limit:,} are taken",
        next_step=next_step or (FEWER if argument == "query" else SPLIT),
    )


def check_text(text: Any, *, limit: int, argument: str = "text") -> str:
    """A text with something in it that can be written as UTF-8."""
    check_type(text, str, argument)
    if not text.strip():
        raise BadValue(argument, "it is empty", next_step="Say what is to be remembered.")
    if not text.isascii() and HALF.search(text):
        raise BadValue(
            argument,
            "it holds half a character (a lone surrogate)",
            next_step="Send the text as valid Unicode.",
        )
    if len(text) > limit:
        raise too_long(argument, length=len(text), limit=limit)
    return str(text)


def parts(text: str, *, limit: int) -> list[str]:
    """A long text as several within the limit, cut between paragraphs, lines or words if it can be.

    Only the white space at a cut is lost.
    """
    found, rest = [], text.strip()
    while len(rest) > limit:
        ends = (rest.rfind(gap, 1, limit + 1) for gap in ("\n\n", "\n", " "))
        # A cut far from the limit would make many small parts of one long one.
        end = next((end for end in ends if end > limit // 2), limit)
        found.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return [*found, rest] if rest else found


def check_kind(kind: Any, *, argument: str = "kind") -> str:
    """Any plain word is a kind; the known ones are named in the error."""
    check_type(kind, str, argument)
    if kind == PASSAGE or len(kind) > 40 or not KIND.match(kind):
        known = ", ".join((*TYPES, *CATEGORIES))
        raise BadValue(
            argument,
            f"{kind!r} is not a kind",
            next_step=f"Use {known}, or a word of small letters, digits and hyphens.",
        )
    return str(kind)


def check_tags(tags: Any, *, options: Options) -> tuple[str, ...]:
    """A list of short, different words."""
    if isinstance(tags, str) or not isinstance(tags, Sequence):
        raise BadValue("tags", f"{tags!r} is not a list", next_step='Send a list: ["coding"].')
    if len(tags) > options.tag_limit:
        raise BadValue(
            "tags",
            f"{len(tags)} tags, and at most {options.tag_limit} are kept",
            next_step="Keep the ones somebody would search for.",
        )
    return tuple(dict.fromkeys(check_tag(tag, limit=options.tag_length) for tag in tags))


def check_list(texts: Sequence[str], *, argument: str) -> None:
    """A list of texts that is not absurdly long: no database takes any length."""
    if len(texts) > MOST_LISTED:
        raise BadValue(
            argument,
            f"{len(texts):,} of them, and at most {MOST_LISTED} are taken",
            next_step="Send fewer.",
        )
    for text in texts:
        if len(text) > LONGEST_LISTED:
            raise too_long(argument, length=len(text), limit=LONGEST_LISTED)


def check_tag(tag: Any, *, limit: int) -> str:
    check_type(tag, str, "tags")
    if len(tag) > limit:
        raise too_long("tags", length=len(tag), limit=limit, next_step="Shorten it.")
    if not tag.strip() or _is_unplain(tag):
        raise BadValue(
            "tags", f"{tag!r} is not a tag", next_step="A tag is a word or two on one line."
        )
    return str(tag.strip())


def check_id(record_id: Any, *, argument: str = "id") -> str:
    check_type(record_id, str, argument)
    if not ID.match(record_id):
        raise BadValue(
            argument,
            f"{record_id!r} is not a record id",
            next_step="Use the id of a search result, such as mem-0190….",
        )
    return str(record_id)


def check_sensitivity(value: Any) -> str:
    known = [str(level) for level in Sensitivity]
    if value not in known:
        raise BadValue(
            "sensitivity", f"{value!r} is not a level", next_step=f"Use {', '.join(known)}."
        )
    return str(value)


def check_confidence(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise BadValue("confidence", f"{value!r} is no share", next_step="Use 0 to 1.")
    return float(value)


def check_limit(limit: Any, *, most: int) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= most:
        raise BadValue("limit", f"{limit!r} is no number of results", next_step=f"Use 1 to {most}.")
    return limit


def check_word(value: Any, *, argument: str, limit: int = 200) -> str:
    """A name on one line, or nothing: a session, a channel, a user."""
    check_type(value, str, argument)
    if len(value) > limit:
        raise too_long(argument, length=len(value), limit=limit, next_step="Shorten it.")
    if _is_unplain(value):
        raise BadValue(argument, "it holds control characters", next_step="Use one plain line.")
    return str(value)


def _is_unplain(text: str) -> bool:
    # Nearly every text is printable, and to see that takes no pattern.
    return not text.isprintable() and UNPLAIN.search(text) is not None


def check_type(value: Any, kind: type, argument: str) -> None:
    if not isinstance(value, kind):
        raise BadValue(
            argument,
            f"{value!r} is {_a(type(value))}, not {_a(kind)}",
            next_step=f"Send {_a(kind)}.",
        )


def check_time(text: str, argument: str, *, zone: str, last: bool = False) -> str:
    """A time as it is written down; nothing stays nothing.

    Of a day it is the beginning in a zone, or the last moment where that is wanted.
    """
    if not text:
        return ""
    try:
        return stamp(_moment(text, zone, last=last))
    except (ValueError, TypeError):
        raise BadValue(
            argument, f"{text!r} is no time", next_step="Use ISO 8601, such as 2026-11-15."
        ) from None


def _moment(text: str, zone: str, *, last: bool) -> datetime:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return parse_stamp(text)
    return end_of(day, zone=zone) if last else start_of(day, zone=zone)


def _a(kind: type) -> str:
    names = {str: "a text", int: "a number", bool: "true or false", list: "a list"}
    return names.get(kind, f"a {kind.__name__}")
