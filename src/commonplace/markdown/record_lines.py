"""A record as one list item: the six forms it is written in, and the reading of them all.

Nothing here knows what stands around the item (`documents`) or which form a vault uses (`layouts`).

    sentence - Prefers dark mode (2026-11-15) <!-- {"id":"mem-…"} -->
    log     - **14:30 UTC** | `@alice` | Prefers dark mode <!-- {"id":"mem-…"} -->
    native  - **14:30 UTC** | `@alice` | Prefers dark mode <!-- {"id":"mem-…","kind":"fact",…} -->
    claw    - {"id":…,"sessionId":…,"category":…,"text":…,"provenance":{…}}
    earl    - **14:30 UTC** | `@alice` | Prefers dark mode
    plain   - Prefers dark mode

Further lines of a text are indented by two spaces. Only a line feed ends a line. A sentence and a
line of a log leave out the data that follow from the id (its time) and from the section (its kind).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, date
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, replace

from commonplace.model.clock import moment_of, parse_stamp, stamp, stamp_in
from commonplace.model.records import (
    BEHAVIORAL,
    DEFAULTS,
    PASSAGE,
    Origin,
    Record,
    derived_id,
)

NAME = re.compile(r"[\w.-]+\Z")
STAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T((?:[01][0-9]|2[0-3]):[0-5][0-9]):[0-9]{2}(?:\.[0-9]+)?Z\Z"
)
HEAD = re.compile(
    r"[-*+][ \t]+\*\*((?:[01][0-9]|2[0-3]):[0-5][0-9]) UTC\*\* \| ?(?:`@([^`\n]*)` \| ?)?"
)
SHOWN_DAY = re.compile(r" \((\d{4}-\d\d-\d\d)\)\Z")
"""The day that the writer of a sentence puts behind it."""
SAID_DAY = re.compile(r"[ \t]*\((\d{4}-\d\d-\d\d)\)\s*\Z")
"""The day at the end of a line that somebody dated."""
USER = re.compile(r"`@[^`\n]*` \|")
# What would change the kind of a line if it stood right behind the bullet: a claw record, the time
# of an EARL line, a horizontal rule.
LEAD = r"\\*(?:\{|\*\*[0-9]{2}:[0-9]{2} UTC\*\*|[-*_][-*_ \t]*(?:\n|\Z))"
LEADING = re.compile(rf"(?=[ \t]*{LEAD})[ \t]*")
LED = re.compile(rf"([ \t]*)\\(?={LEAD})")
INDENT = re.compile(r"\n(?:  |\t)")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f]")
# Not shown as they are: control characters, and what other programs take for the end of a line.
UNSHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]")
NEWLINES = frozenset("\x85\u2028\u2029")
# `<!--` in a text is shown as `&lt;!--`, and what already reads like that gets one `&amp;` more.
OPENING = re.compile(r"<(?=!--)|&(?=(?:amp;)*lt;!--)")
OPENED = re.compile(r"&(?:lt;(?=!--)|amp;(?=(?:amp;)*lt;!--))")
UNSAFE = re.compile(r"[<>\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]|(?<=-)-")
UNSAFE_CLAW = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff]|<(?=!--)")
MARKED = ("--", "<", ">", "\x7f")

CARRIED = re.compile(r"[ \t]*<!-- \{.*\} -->[ \t]*(?=\r?$)", re.MULTILINE)

LISTS = frozenset(
    (
        "tags",
        "sources",
        "seen",
        "evidence",
        "found_by",
        "when",
        "citations",
        "useful",
        "wrong",
    )
)
FIELDS = frozenset(Record.__struct_fields__)
STRINGS = FIELDS - LISTS - {"confidence", "origin"}
ORIGINS = tuple(Origin)
CLAW_KEYS = {"id": "id", "sessionId": "session", "category": "kind", "text": "text"}
CLAW_PROVENANCE = {
    "sourceChannel": "channel",
    "confidence": "confidence",
    "timestamp": "timestamp",
    "sensitivity": "sensitivity",
}
CLAW_EXTRAS = (
    "tags",
    "supersedes",
    "group",
    "username",
    "origin",
    "valid_from",
    "valid_to",
    "sources",
    "replaced_by",
    "seen",
    "evidence",
    "found_by",
    "when",
    "must",
    "pinned",
    "citations",
    "useful",
    "wrong",
)
CLAW_READS = CLAW_KEYS | {name: name for name in CLAW_EXTRAS}

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().raw_decode
_unsaid = Record(id="", kind="note", text="", timestamp="")


class Reading(Struct, frozen=True):
    """What a line does not say itself: where it stands and what follows from that."""

    document: str
    day: date | None = None
    """The day of a daily log."""
    zone: str = ""
    """The zone in which `day` is a day, as `clock.moment_of` takes it."""
    origin: str = Origin.OWNER
    """Of lines that carry none."""
    bullets: bool = True
    """Whether list items are records; False where lists are prose, as in a diary."""
    header: str = ""
    """What such a document starts with before anybody writes in it: its headings say nothing."""
    kind: str = "note"
    """Of lines that carry none."""
    sections: Mapping[str, str] = {}
    """The headings below which lines have a kind of their own, in small letters, and that kind."""


class Line(NamedTuple):
    """What was read: the record, if there is one, and what is wrong with the line, if anything."""

    record: Record | None
    problem: str = ""
    derived: bool = False
    """Whether the line carries no id of its own."""


_made = tuple.__new__
"""How a named tuple is made of all its values at half the price."""


def says_all(item: str, line: Line) -> bool:
    """Whether an item, read as this line, means the same in every document."""
    return not line.derived and '"timestamp"' in item and '"kind"' in item


def write(record: Record, form: str, *, kind: str = "note", day: str = "") -> str:
    """The whole list item with its final line feed.

    A sentence and a line of a log leave out the `kind` that their section says. `day` is that of
    the record on the user's calendar, which a sentence shows.
    """
    if form == "sentence":
        return _write_sentence(record, kind, day)
    return _write_log(record, kind) if form == "log" else WRITERS[form](record)


def plain(text: str) -> str:
    """The text as it reads: without what its lines carry for programs."""
    return CARRIED.sub("", text) if "<!-- {" in text else text


def canonical(text: str) -> str:
    """The text as the forms without data can keep it: line feeds only, no control characters."""
    return CONTROL.sub("", _line_feeds(text)) if CONTROL.search(text) else text


def read(item: str, *, reading: Reading, occurrence: int = 0) -> Line:
    """The record of a list item in whatever form.

    `occurrence` tells equal bullets apart: how many of the same stand before it in the document.
    """
    item = _settled(item) if "\r" in item or "\0" in item else item.removesuffix("\n")
    if (comment := _comment(item)) is not None:
        return _read_native(item, comment, reading, occurrence)
    if _is_object(item):
        return _read_claw(item, reading, occurrence)
    return _read_bare(item, reading, occurrence)


def carries_data(item: str) -> bool:
    """Whether a list item has a data comment."""
    return _comment(item) is not None


def form_of(item: str) -> str:
    """The form in which a list item with data is written."""
    if not _comment(item):
        return "claw" if _is_object(item) else "native"
    if not HEAD.match(item):
        return "sentence"
    return "native" if '"timestamp"' in item else "log"


def noted(item: str, record: Record, **notes: Any) -> str:
    """A list item with some values of its data changed, and all that is shown as it was.

    One that carries no data gets some: its id, whose it is, and these. An empty value is left out.
    """
    body = item.removesuffix("\n").removesuffix("\r")
    end = item[len(body) :]
    start, stop = _comment(body) or (0, 0)
    if stop and (data := _object(body, start + 4, stop - 3)) and data.get("id"):
        return f"{body[:start]}<!-- {_changed(data, notes, UNSAFE)} -->{body[stop:]}{end}"
    first, newline, rest = body.partition("\n")
    at = first.find("{")
    if _is_object(body) and (data := _object(first, at, len(first))) and data.get("id"):
        return f"{first[:at]}{_changed(data, notes, UNSAFE_CLAW)}{newline}{rest}{end}"
    data = {"id": record.id, "origin": str(record.origin)}
    shown = body if HEAD.match(body) else f"{body[0]} {body[1:].strip()}"
    return f"{shown} <!-- {_changed(data, notes, UNSAFE)} -->{end}"


def alone(item: str, record: Record) -> str:
    """A list item that leaves its section, with the kind that the section said of it."""
    said = read(item, reading=Reading("")).record
    if said is None or said.kind == record.kind:
        return item
    return noted(item, record, kind=record.kind)


def _changed(data: dict[str, Any], notes: dict[str, Any], unsafe: re.Pattern[str]) -> str:
    kept = {name: value for name, value in (data | notes).items() if value or name not in notes}
    return _safe(_encode(kept), unsafe)


def _is_object(item: str) -> bool:
    return item[1:].lstrip(" \t").startswith("{")


def _write_sentence(record: Record, kind: str, day: str) -> str:
    data = _short_data(record, kind)
    day = day if day and _is_time(record.timestamp) else ""
    if day and day != record.timestamp[:10]:
        data["day"] = day
    if not _showable(record.text):
        data["text"] = record.text
    first, newline, rest = _led(_shown(record.text)).partition("\n")
    shown = f"{first} ({day})" if day else first
    return f"- {shown} <!-- {_safe(_encode(data), UNSAFE)} -->{newline}{rest}\n"


def _write_log(record: Record, kind: str) -> str:
    return _timed(record, _short_data(record, kind))


def _short_data(record: Record, kind: str) -> dict[str, Any]:
    """The data without the time that the id tells, and the kind that the section does."""
    data = record.data()
    if record.timestamp and record.timestamp == stamp_in(record.id):
        del data["timestamp"]
    if record.kind == kind:
        del data["kind"]
    return data


def _write_native(record: Record) -> str:
    return _timed(record, record.data())


def _timed(record: Record, data: dict[str, Any]) -> str:
    """A line that begins with the time and the user."""
    clock = _clock_of(record.timestamp)
    username = record.username if clock and NAME.match(record.username) else ""
    if username:
        del data["username"]
    if not _showable(record.text):
        data["text"] = record.text
    shown = _shown(record.text)
    head = _head(clock, username, shown) if clock else "- " + _led(shown)
    return f"{head} <!-- {_safe(_encode(data), UNSAFE)} -->\n"


def _write_claw(record: Record) -> str:
    values = asdict(record)
    data: dict[str, Any] = {key: values[name] for key, name in CLAW_KEYS.items()}
    data["provenance"] = {key: values[name] for key, name in CLAW_PROVENANCE.items()}
    data.update({n: values[n] for n in CLAW_EXTRAS if values[n] != DEFAULTS[n]})
    return f"- {_safe(_encode(data), UNSAFE_CLAW)}\n"


def _write_earl(record: Record) -> str:
    clock = _clock_of(record.timestamp)
    if not clock:
        return _write_plain(record)
    username = UNSHOWN.sub("", record.username).replace("`", "").replace("\n", "")
    return _head(clock, username, _escaped(canonical(record.text))) + "\n"


def _write_plain(record: Record) -> str:
    return f"- {_led(_escaped(canonical(record.text).strip()))}\n"


WRITERS = {
    "native": _write_native,
    "claw": _write_claw,
    "earl": _write_earl,
    "plain": _write_plain,
}


def _head(clock: str, username: str, shown: str) -> str:
    if username:
        return f"- **{clock} UTC** | `@{username}` | {shown}"
    # A text that starts like a user's name is kept apart from it by an empty name.
    return f"- **{clock} UTC** | {'`@` | ' if USER.match(shown) else ''}{shown}"


def _shown(text: str) -> str:
    """The text as it stands in a native line."""
    if not _showable(text):
        text = UNSHOWN.sub(_picture, _line_feeds(text))
    return _escaped(text)


def _showable(text: str) -> bool:
    # The first test is there because it is ten times as fast and true of nearly every text.
    return text.isprintable() or not UNSHOWN.search(text)


def _picture(match: re.Match[str]) -> str:
    character = match[0]
    if character in NEWLINES:
        return "\u2424"
    if character < " ":
        return chr(0x2400 + ord(character))
    return "\u2421" if character == "\x7f" else "\ufffd"


def _line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _escaped(text: str) -> str:
    """No comment can start in it, and further lines are indented."""
    if "!--" in text:
        text = OPENING.sub(lambda match: "&lt;" if match[0] == "<" else "&amp;", text)
    return text.replace("\n", "\n  ") if "\n" in text else text


def _unescaped(shown: str) -> str:
    if "\n" in shown:
        shown = INDENT.sub("\n", shown)
    if "!--" in shown:
        shown = OPENED.sub(lambda match: "<" if match[0] == "&lt;" else "&", shown)
    return shown


def _led(shown: str) -> str:
    lead = LEADING.match(shown)
    return f"{lead[0]}\\{shown[lead.end() :]}" if lead else shown


def _unled(shown: str) -> str:
    lead = LED.match(shown)
    return lead[1] + shown[lead.end() :] if lead else shown


def _safe(data: str, unsafe: re.Pattern[str]) -> str:
    """JSON that cannot end its comment or its line early, whoever reads it."""
    # Searching takes longer than all the rest of writing a line, and seldom finds anything.
    if data.isascii() and not any(mark in data for mark in MARKED):
        return data
    return unsafe.sub(_code, data)


def _code(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _clock_of(timestamp: str) -> str:
    """`HH:MM` in UTC; empty when the timestamp tells none."""
    if match := STAMP.match(timestamp):
        return match[1]
    try:
        return parse_stamp(timestamp).astimezone(UTC).strftime("%H:%M")
    except (ValueError, OverflowError):
        return ""


def _is_time(timestamp: str) -> bool:
    """Whether a timestamp tells a time, or at least a day."""
    if STAMP.match(timestamp):
        return True
    try:
        return bool(parse_stamp(timestamp))
    except ValueError:
        return False


def _settled(item: str) -> str:
    """The item with line feeds between its lines and none behind it, and without NUL."""
    item = item.replace("\0", "").removesuffix("\n")
    return item.replace("\r\n", "\n").removesuffix("\r")


def _comment(item: str) -> tuple[int, int] | None:
    """Where the data comment stands: the first that ends a line of the item."""
    at = item.find("<!--")
    if at < 0:
        return None
    # Almost always it is the only comment and ends the item.
    alone = item.find("<!--", at + 4) < 0 and item.find("\n", at) < 0
    if alone and item.startswith("{", at + 5) and item.endswith("} -->"):
        return at, len(item)
    return _comment_among(item)


def _comment_among(item: str) -> tuple[int, int] | None:
    """The same where others have spaced it, or written more comments or further lines."""
    start = 0
    for line in item.split("\n"):
        ended = line.rstrip(" \t")
        at = ended.rfind("<!--") if ended.endswith("-->") else -1
        if at > 0 and ended[at + 4 :].lstrip(" \t").startswith("{"):
            return start + at, start + len(ended)
        start += len(line) + 1
    return None


def _read_native(item: str, comment: tuple[int, int], reading: Reading, occurrence: int) -> Line:
    start, end = comment
    data = _object(item, start + 4, end - 3)
    if data is None:
        return _read_bare(item, reading, occurrence, "its data comment is not valid JSON")
    fields, problem = _fields(data, reading.kind)
    if not fields.get("id"):
        return _read_bare(item, reading, occurrence, "its data comment has no id")
    shown = item[: start - (item[start - 1] == " ")]
    rest = item[end:]
    # A sentence has its data in its first line; whatever stands below the data of another line was
    # added by a person.
    is_sentence = rest.startswith("\n") and not HEAD.match(shown)
    below = rest if is_sentence else rest.rstrip().lstrip(" \t")
    fields.setdefault("timestamp", stamp_in(fields["id"]) or None)
    day = data.get("day")
    text = _behind_head(shown, below, fields, reading, day if isinstance(day, str) else "")
    exact = fields.get("text")
    # Who edits the part that is shown means it, so the exact text counts only beside its own image.
    fields["text"] = exact if exact is not None and _shown(exact) == text else _unescaped(text)
    return _made(Line, (replace(_unsaid, **fields), problem, False))


def _behind_head(shown: str, below: str, fields: dict[str, Any], reading: Reading, day: str) -> str:
    """What is shown as the text, once the time and user before it are among the fields.

    `below` stands behind the data; `day` is the one that was written behind a sentence, where it
    is not that of the time in UTC.
    """
    timestamp = fields["timestamp"]
    if timestamp is None:
        head = HEAD.match(shown)
        fields["timestamp"] = moment(reading, head[1] if head else "")
    else:
        timed = STAMP.match(timestamp) or _clock_of(timestamp)
        head = HEAD.match(shown) if timed else None
    if head is None:
        return _unled(_sentence(shown[2:], fields, day) + below)
    if head[2]:
        fields["username"] = head[2]
    return shown[head.end() :] + below


def _sentence(shown: str, fields: dict[str, Any], day: str) -> str:
    """A sentence without the day behind it. Another day than was written there is a person's word,
    and the record is of that day.
    """
    timestamp = fields["timestamp"]
    found = SHOWN_DAY.search(shown) if _is_time(timestamp) else None
    if found is None or not says_day(found[0]):
        return shown
    if found[1] != (day or timestamp[:10]):
        fields["timestamp"] = f"{found[1]}T00:00:00.000"
    return shown[: found.start()]


def _read_claw(item: str, reading: Reading, occurrence: int) -> Line:
    first, _, rest = item.partition("\n")
    written = first[1:].strip(" \t")
    data = _object(written, 0, len(written))
    if data is None:
        problem = "it is not valid JSON" if written.startswith('{"id"') else ""
        return _read_bare(item, reading, occurrence, problem)
    fields, problem = _fields(_flat(data), "note")
    if not fields.get("id") or "text" not in fields:
        return _read_bare(
            item, reading, occurrence, "it is JSON without the id and text of a record"
        )
    fields.setdefault("timestamp", moment(reading))
    if rest.strip():
        fields["text"] += _unescaped("\n" + rest)
    return Line(replace(_unsaid, **fields), problem)


def _read_bare(item: str, reading: Reading, occurrence: int, problem: str = "") -> Line:
    """A line that carries no data: EARL's, or anyone's."""
    if head := HEAD.match(item):
        clock, username, text = head[1], head[2] or "", _unescaped(item[head.end() :])
    else:
        clock, username, text = "", "", _unescaped(_unled(item[1:].strip()))
        if not text:
            return Line(None, problem)
    day = reading.day.isoformat() if reading.day else ""
    said = "" if day else says_day(item)
    if said and reading.sections:
        first, newline, rest = text.partition("\n")
        text = undated(first) + newline + rest
    record = Record(
        id=derived_id(day, item[1:].strip(), str(occurrence)),
        # No line becomes a rule by a heading that anybody may have put above it.
        kind="note" if reading.kind in BEHAVIORAL else reading.kind,
        text=text,
        timestamp=f"{said}T00:00:00.000" if said else moment(reading, clock),
        username=username,
        origin=reading.origin,
    )
    return Line(record, problem, derived=True)


def shown_day(item: str) -> str:
    """The day that a sentence with data shows; empty for any other line."""
    comment = _comment(item)
    found = SHOWN_DAY.search(item[: comment[0]].rstrip(" ")) if comment else None
    return found[1] if found and not HEAD.match(item) else ""


def says_day(item: str) -> str:
    """The day that an item's first line ends with, as `(2026-11-15)`; empty when it says none."""
    found = SAID_DAY.search(item.partition("\n")[0])
    try:
        return date.fromisoformat(found[1]).isoformat() if found else ""
    except ValueError:
        return ""


def undated(line: str) -> str:
    """A line without the day at its end."""
    return SAID_DAY.sub("", line) if says_day(line) else line


def moment(reading: Reading, clock: str = "") -> str:
    """The stamp of what is written there: of this time in UTC, or else the day that it says.

    That day is the same in every zone, and so not in UTC.
    """
    if not reading.day:
        return ""
    return _stamp_of(reading.day, clock, reading.zone) if clock else f"{reading.day}T00:00:00.000"


@lru_cache(maxsize=2048)
def _stamp_of(day: date, clock: str, zone: str) -> str:
    try:
        return stamp(moment_of(day, clock, zone=zone))
    except OverflowError:
        return f"{day}T{clock}:00.000Z"


def _object(text: str, start: int, end: int) -> dict[str, Any] | None:
    """The JSON object that is all there is between `start` and `end`."""
    try:
        data: dict[str, Any]
        data, last = _decode(text, text.index("{", start))
    except (ValueError, RecursionError):
        return None
    return data if not text[last:end].strip(" \t") else None


def _flat(data: dict[str, Any]) -> dict[str, Any]:
    """A claw record's data under the names of a `Record`; null is the same as nothing."""
    provenance = data.get("provenance")
    flat = {CLAW_READS[key]: value for key, value in data.items() if key in CLAW_READS}
    if isinstance(provenance, dict):
        flat |= {n: provenance[key] for key, n in CLAW_PROVENANCE.items() if key in provenance}
    return {name: value for name, value in flat.items() if value is not None}


def _fields(data: dict[str, Any], kind: str) -> tuple[dict[str, Any], str]:
    """What of the data makes a record, and which of its values cannot. `kind` is the default."""
    fields = {"kind": kind, **data}
    wrong = []
    for name, value in data.items():
        if type(value) is not str or name not in STRINGS:
            del fields[name]
            if not _convert(fields, name, value):
                wrong.append(name)
    if fields.setdefault("kind", kind) in ("", PASSAGE):
        fields["kind"] = kind
        wrong.append("kind")
    return fields, f"it has a wrong value for {', '.join(wrong)}" if wrong else ""


def _convert(fields: dict[str, Any], name: str, value: Any) -> bool:
    """Whether a value that is not just any string is right, or of no interest."""
    if name in LISTS and type(value) is list and {*map(type, value)} <= {str}:
        fields[name] = tuple(value)
    elif name == "confidence" and type(value) in (int, float) and abs(value) < 1e9:
        fields[name] = float(value)
    elif name == "origin" and value in ORIGINS:
        fields[name] = value
    else:
        return name not in FIELDS
    return True
