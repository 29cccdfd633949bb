from __future__ import annotations

import json
from contextlib import suppress
from datetime import date, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from commonplace.markdown.record_lines import Line, Reading, alone, canonical, noted, read, write
from commonplace.model.clock import stamp_in
from commonplace.model.records import Origin, Record, derived_id
from tests.support.strategies import records, stamps, texts

DAY = date(2026, 11, 15)
READING = Reading("memory/2026-11-15.md", day=DAY, zone="UTC", origin=Origin.OWNER)
RECORD = Record(
    id="mem-1",
    kind="preference",
    text="Prefers dark mode",
    timestamp="2026-11-15T14:30:00.000Z",
    username="alice",
)


def back(line: str, *, reading: Reading = READING) -> Record:
    record = read(line, reading=reading).record
    assert record is not None
    return record


def note(text: str, *, content: str = "", timestamp: str = "2026-11-15T00:00:00.000") -> Record:
    return Record(
        id=derived_id("2026-11-15", content or text, "0"),
        kind="note",
        text=text,
        timestamp=timestamp,
        origin=Origin.OWNER,
    )


@pytest.mark.parametrize(
    ("form", "line"),
    [
        (
            "native",
            "- **14:30 UTC** | `@alice` | Prefers dark mode"
            ' <!-- {"id":"mem-1","kind":"preference","timestamp":"2026-11-15T14:30:00.000Z"} -->\n',
        ),
        (
            "claw",
            '- {"id":"mem-1","sessionId":"","category":"preference","text":"Prefers dark mode",'
            '"provenance":{"sourceChannel":"","confidence":1.0,'
            '"timestamp":"2026-11-15T14:30:00.000Z","sensitivity":"personal"},'
            '"username":"alice"}\n',
        ),
        ("earl", "- **14:30 UTC** | `@alice` | Prefers dark mode\n"),
        ("plain", "- Prefers dark mode\n"),
        (
            "log",
            "- **14:30 UTC** | `@alice` | Prefers dark mode"
            ' <!-- {"id":"mem-1","timestamp":"2026-11-15T14:30:00.000Z"} -->\n',
        ),
        (
            "sentence",
            '- Prefers dark mode (2026-11-15) <!-- {"id":"mem-1",'
            '"timestamp":"2026-11-15T14:30:00.000Z","username":"alice"} -->\n',
        ),
    ],
)
def test_the_six_forms(form: str, line: str) -> None:
    assert write(RECORD, form, kind="preference", day="2026-11-15") == line


def test_what_follows_from_id_and_section_is_left_out_of_the_data() -> None:
    timed = replace(RECORD, id="mem-01a1de94-dbe0-7000-a85d-eff4a7371d13", username="")
    timed = replace(timed, timestamp=stamp_in(timed.id))
    data = f'{{"id":"{timed.id}"}}'
    assert write(timed, "log", kind="preference").endswith(f"Prefers dark mode <!-- {data} -->\n")
    assert write(timed, "sentence", kind="preference", day="2026-11-15") == (
        f"- Prefers dark mode (2026-11-15) <!-- {data} -->\n"
    )


SENTENCE = replace(READING, document="MEMORY.md", day=None, kind="preference")


def sentence(record: Record, *, later: int = 0) -> str:
    """A record as a sentence, with the day that it is where the user lives."""
    shown = record.timestamp[:10]
    with suppress(ValueError, OverflowError):
        shown = str(date.fromisoformat(shown) + timedelta(days=later))
    return write(record, "sentence", kind=SENTENCE.kind, day=shown)


@given(record=records(), later=st.sampled_from((-1, 0, 1)))
@example(replace(RECORD, text="It began (2026-11-15)"), 0)
@example(replace(RECORD, text="It began (2026-11-14)", timestamp=""), 0)
@example(replace(RECORD, text="**12:00 UTC** | x"), 0)
@example(replace(RECORD, text="- -\nx"), 1)
@example(replace(RECORD, text="one \n\n two\n"), -1)
@example(replace(RECORD, text=' <!-- {"id":"mem-2"} -->\n', kind="note"), 0)
def test_any_record_comes_back_exactly_from_a_sentence(record: Record, later: int) -> None:
    line = sentence(record, later=later)
    assert read(line, reading=SENTENCE) == Line(record)
    assert back(line.replace("\n", "\r\n"), reading=SENTENCE) == record
    assert line.count("<!--") == 1
    assert line.splitlines() == line[:-1].split("\n")
    assert all(each.startswith("  ") for each in line[:-1].split("\n")[1:])


@given(record=records())
@example(replace(RECORD, timestamp=""))
def test_any_record_comes_back_exactly_from_a_line_of_a_log(record: Record) -> None:
    assert read(write(record, "log"), reading=READING) == Line(record)


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("dark", "light", {"text": "Prefers light mode"}),
        ("(2026-11-15)", "(2026-11-16)", {"timestamp": "2026-11-16T00:00:00.000"}),
        (" (2026-11-15)", "", {}),
        ("(2026-11-15)", "(2026-99-99)", {"text": "Prefers dark mode (2026-99-99)"}),
    ],
    ids=["its words", "its day", "no day", "no real day"],
)
def test_a_person_changes_a_sentence(old: str, new: str, changed: dict[str, str]) -> None:
    edited = sentence(RECORD).replace(old, new)
    assert back(edited, reading=SENTENCE) == replace(RECORD, **changed)


def test_a_line_that_leaves_its_section_takes_its_kind_with_it() -> None:
    line = sentence(RECORD)
    assert back(line).kind == "note"
    assert back(alone(line, RECORD)) == RECORD
    assert alone(alone(line, RECORD), RECORD) == alone(line, RECORD)


def test_further_lines_are_indented_and_the_data_stands_behind_the_last() -> None:
    line = write(replace(RECORD, text="one\n\ntwo"), "native")
    assert line.startswith("- **14:30 UTC** | `@alice` | one\n  \n  two <!-- {")
    assert line.endswith("} -->\n")


@given(record=records(), form=st.sampled_from(("native", "claw")))
@example(replace(RECORD, text="**12:00 UTC** | x", timestamp=""), "native")
@example(replace(RECORD, text="- -\nx", timestamp=""), "native")
@example(replace(RECORD, text="`@bob` | x", username=""), "native")
@example(replace(RECORD, text="`@bob` | x", username="b o b"), "native")
@example(replace(RECORD, text="&lt;!-- &amp;lt;!-- <!-- &amp;&lt;!--"), "native")
@example(replace(RECORD, text="a\x85b"), "native")
@example(replace(RECORD, text=' <!-- {"id":"mem-2"} -->\n'), "native")
@example(replace(RECORD, session="----><!--"), "native")
@example(replace(RECORD, text="x -->\u2028<!-- y"), "claw")
def test_any_record_comes_back_exactly(record: Record, form: str) -> None:
    assert read(write(record, form), reading=READING) == Line(record)


@given(record=records(), form=st.sampled_from(("native", "claw")))
def test_any_record_comes_back_from_a_file_with_crlf(record: Record, form: str) -> None:
    assert back(write(record, form).replace("\n", "\r\n")) == record


@given(
    text=texts(),
    timestamp=stamps(),
    username=st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="`")),
)
@example("`@bob` | x", "2026-11-15T14:30:00.000Z", "")
@example(' x <!-- {"id":"mem-2"} -->', "2026-11-15T14:30:00.000Z", "")
def test_an_earl_line_gives_back_text_user_and_minute(
    text: str, timestamp: str, username: str
) -> None:
    record = replace(RECORD, text=text, timestamp=timestamp, username=username)
    reading = replace(READING, day=date.fromisoformat(timestamp[:10]))
    found = read(write(record, "earl"), reading=reading)
    assert found.record is not None
    assert (found.problem, found.derived) == ("", True)
    assert found.record.text == canonical(text)
    assert found.record.username == username
    assert found.record.timestamp == timestamp[:17] + "00.000Z"


@given(text=texts())
@example("\n\\{")
def test_a_plain_line_gives_back_its_words_and_carries_nothing_else(text: str) -> None:
    found = read(write(replace(RECORD, text=text), "plain"), reading=READING)
    assert found.problem == ""
    if found.record is None:
        assert not canonical(text).strip()
    else:
        assert found.derived
        assert found.record == note(
            canonical(text).strip(), content=write(replace(RECORD, text=text), "plain")[1:].strip()
        )


@given(record=records(), form=st.sampled_from(("native", "claw", "earl", "plain")))
def test_nothing_in_a_text_starts_at_the_margin(record: Record, form: str) -> None:
    first, *further = write(record, form)[:-1].split("\n")
    assert first.startswith("- ")
    assert all(line.startswith("  ") for line in further)


@given(record=records())
def test_no_program_sees_more_lines_than_there_are(record: Record) -> None:
    for form in ("native", "claw"):
        line = write(record, form)
        assert line.splitlines() == line[:-1].split("\n")


@given(record=records())
def test_a_native_line_holds_one_comment_and_ends_with_it(record: Record) -> None:
    line = write(record, "native")
    assert line.count("<!--") == 1
    data = line[line.index("<!--") + 4 : -len("-->\n")]
    assert not [mark for mark in ("<", ">", "--") if mark in data]
    assert json.loads(data)["id"] == record.id


@given(record=records())
def test_a_claw_line_has_the_keys_of_claw_in_their_order(record: Record) -> None:
    data = json.loads(write(record, "claw")[2:])
    assert list(data)[:5] == ["id", "sessionId", "category", "text", "provenance"]
    assert list(data["provenance"]) == ["sourceChannel", "confidence", "timestamp", "sensitivity"]


@pytest.mark.parametrize("marker", ["-", "*", "+"])
@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("Likes tea", "Likes tea"),
        ("  Likes tea  ", "Likes tea"),
        ("Likes tea\n  and cake", "Likes tea\nand cake"),
        ("Likes\n  - tea\n    - green", "Likes\n- tea\n  - green"),
        ("Likes\n\ttea", "Likes\ntea"),
        ("Likes\r\n  tea\r\n", "Likes\ntea"),
        ("[ ] tea", "[ ] tea"),
        ("{tea}", "{tea}"),
        ("\\{tea}", "{tea}"),
        ("**Tea**: green", "**Tea**: green"),
        ("te\0a", "tea"),
        ("a <!-- hidden -->", "a <!-- hidden -->"),
        ("Likes <!-- not tea -->\n  cake", "Likes <!-- not tea -->\ncake"),
    ],
)
def test_a_bullet_of_a_person_is_a_note(marker: str, content: str, text: str) -> None:
    record = back(f"{marker} {content}")
    assert (record.text, record.kind, record.origin) == (text, "note", "owner")
    assert record.timestamp == "2026-11-15T00:00:00.000"


def test_a_bullet_has_the_same_id_whatever_its_marker_and_line_end() -> None:
    assert len({back(line).id for line in ("- tea", "* tea\n", "+  tea \r\n")}) == 1
    assert back("- tea") != read("- tea", reading=READING, occurrence=1).record


def test_an_empty_bullet_is_nothing() -> None:
    assert read("- \n", reading=READING) == Line(None)


def test_a_bullet_outside_of_a_daily_log_has_no_time() -> None:
    reading = Reading("USER.md", origin=Origin.IMPORT)
    assert back("- tea", reading=reading).timestamp == ""
    assert back("- **14:30 UTC** | tea", reading=reading).timestamp == ""
    assert back("- tea", reading=reading).origin == "import"


@pytest.mark.parametrize(
    ("zone", "clock", "timestamp"),
    [
        ("UTC", "23:30", "2026-11-15T23:30:00.000Z"),
        ("America/New_York", "02:30", "2026-11-16T02:30:00.000Z"),
        ("Asia/Tokyo", "20:00", "2026-11-14T20:00:00.000Z"),
    ],
)
def test_the_time_of_a_line_lies_in_the_local_day(zone: str, clock: str, timestamp: str) -> None:
    reading = replace(READING, zone=zone)
    assert back(f"- **{clock} UTC** | tea", reading=reading).timestamp == timestamp


def test_a_time_at_the_edge_of_the_calendar_is_no_crash() -> None:
    for day in (date.min, date.max):
        reading = replace(READING, day=day, zone="Asia/Tokyo")
        assert back("- **14:30 UTC** | tea", reading=reading).text == "tea"


@pytest.mark.parametrize("user", ["", "`@` | "])
def test_an_earl_line_without_a_user(user: str) -> None:
    content = f"**14:30 UTC** | {user}Dark mode"
    stamp = "2026-11-15T14:30:00.000Z"
    assert back(f"- {content}") == note("Dark mode", content=content, timestamp=stamp)


def test_an_edit_of_what_is_shown_wins() -> None:
    edited = write(RECORD, "native").replace("dark", "light").replace("alice", "bob")
    assert back(edited) == replace(RECORD, text="Prefers light mode", username="bob")


def test_an_edit_of_what_is_shown_wins_over_the_exact_text() -> None:
    line = write(replace(RECORD, text="dark\x07 mode"), "native")
    assert back(line).text == "dark\x07 mode"
    assert back(line.replace("dark", "light", 1)).text == "light␇ mode"


def test_lines_that_a_person_adds_below_the_data_belong_to_the_text() -> None:
    assert back(write(RECORD, "native") + "  \n") == RECORD
    assert back(write(RECORD, "native") + "  } -->\n").id == "mem-1"
    line = write(RECORD, "native") + "  - at night\n\n  and by day\n"
    assert back(line) == replace(RECORD, text="Prefers dark mode\n- at night\n\nand by day")
    other = write(replace(RECORD, id="mem-2"), "native")
    assert back(write(RECORD, "native") + "  " + other).id == "mem-1"
    line = write(RECORD, "claw") + "  - at night\n"
    assert back(line) == replace(RECORD, text="Prefers dark mode\n- at night")


@pytest.mark.parametrize(
    "reformatted",
    [
        "*   **14:30 UTC** | `@alice` | Prefers dark mode <!-- {} -->",
        "- **15:00 UTC** | `@alice` | Prefers dark mode<!--{}-->  ",
        "-\t**14:30 UTC** | `@alice` | Prefers dark mode <!--  {}  -->",
    ],
)
def test_an_editor_may_reformat_a_line(reformatted: str) -> None:
    data = json.dumps(replace(RECORD, username="").data())
    assert back(reformatted.replace("{}", data)) == RECORD


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('- tea <!-- {"id": -->', "its data comment is not valid JSON"),
        ('- tea <!-- {"id":"a"} {} -->', "its data comment is not valid JSON"),
        ('- tea <!-- {"kind":"fact"} -->', "its data comment has no id"),
        ('- tea <!-- {"id":7} -->', "its data comment has no id"),
        ('- {"id":"mem-1","text":"te', "it is not valid JSON"),
        ('- {"id":"mem-1"}', "it is JSON without the id and text of a record"),
        ('- {"text":"tea"}', "it is JSON without the id and text of a record"),
        ("- tea <!-- {" + '"a":[' * 100_000 + " -->", "its data comment is not valid JSON"),
    ],
)
def test_broken_data_is_a_problem_and_the_line_a_bullet(line: str, problem: str) -> None:
    found = read(line, reading=READING)
    assert found == Line(note(line[2:]), problem, derived=True)


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        ('"tags":"tea"', "tags"),
        ('"tags":["tea",1]', "tags"),
        ('"confidence":"high"', "confidence"),
        ('"confidence":NaN', "confidence"),
        ('"confidence":1e999', "confidence"),
        ('"confidence":true', "confidence"),
        ('"session":null', "session"),
        ('"origin":"king"', "origin"),
        ('"origin":["owner"]', "origin"),
        ('"kind":"passage"', "kind"),
        ('"text":1', "text"),
    ],
)
def test_a_value_of_the_wrong_type_is_a_problem_and_ignored(data: str, wrong: str) -> None:
    line = f'- tea <!-- {{"id":"mem-1","timestamp":"",{data}}} -->'
    assert read(line, reading=READING) == Line(
        Record(id="mem-1", kind="note", text="tea", timestamp=""),
        f"it has a wrong value for {wrong}",
    )


def test_unknown_keys_are_no_problem() -> None:
    line = '- tea <!-- {"id":"mem-1","timestamp":"","colour":{"a":[1]}} -->'
    assert read(line, reading=READING).problem == ""


def test_claw_records_of_others_are_read() -> None:
    line = (
        '- {"id":"6f1d","sessionId":"dm:1","category":"turn-summary","text":"We met.",'
        '"provenance":{"sourceChannel":"dm","confidence":1,'
        '"timestamp":"2026-02-01T10:00:00.000Z","sensitivity":"private-user"},"extra":1}\n'
    )
    assert read(line, reading=READING) == Line(
        Record(
            id="6f1d",
            kind="turn-summary",
            text="We met.",
            timestamp="2026-02-01T10:00:00.000Z",
            session="dm:1",
            channel="dm",
            sensitivity="private-user",
        )
    )


def test_a_claw_record_needs_only_id_and_text() -> None:
    line = '- {"id":"a","text":"tea","sessionId":null,"provenance":null}'
    assert read(line, reading=READING) == Line(
        Record(id="a", kind="note", text="tea", timestamp="2026-11-15T00:00:00.000")
    )


@given(item=texts(max_pieces=12), marker=st.sampled_from(("- ", "* ", "- {", "- **12:00 UTC** | ")))
def test_reading_never_raises(item: str, marker: str) -> None:
    read(marker + item, reading=READING)


@given(text=st.text())
def test_even_lone_surrogates_are_written_and_read(text: str) -> None:
    for form in ("native", "claw"):
        line = write(replace(RECORD, text=text), form)
        assert back(line).text.encode("utf-16", "surrogatepass") == text.encode(
            "utf-16", "surrogatepass"
        )
        line.encode()


@given(
    record=records(), form=st.sampled_from(["native", "claw", "earl", "plain"]), crlf=st.booleans()
)
def test_a_note_in_the_data_of_a_line_changes_nothing_else(
    record: Record, form: str, *, crlf: bool
) -> None:
    line = write(record, form)
    line = line.replace("\n", "\r\n") if crlf else line
    was = read(line, reading=READING).record
    if was is None:
        return
    marked = noted(line, was, replaced_by="mem-x", seen=["2026-11-15 s"])
    assert back(marked) == replace(was, replaced_by="mem-x", seen=("2026-11-15 s",))
    assert back(noted(marked, was, replaced_by="", seen=[])) == replace(
        was, replaced_by="", seen=()
    )
    assert marked.endswith("\r\n") == crlf


@pytest.mark.parametrize(
    "line",
    [
        "- Tea at four\n",
        "-   Tea   at four  \n",
        "* Tea\n  at four\n",
        "- Tea <!-- a remark -->\n",
        '- Tea <!-- {"id":"mem-1" -->\n',
        "- {not a record}\n",
        "- **14:30 UTC** | `@alice` | Tea at four\n",
    ],
)
def test_a_hand_written_line_that_is_noted_keeps_its_words_and_its_id(line: str) -> None:
    was = back(line)
    marked = noted(line, was, replaced_by="mem-x")
    assert back(marked) == replace(was, replaced_by="mem-x")
    assert marked.startswith(line.split()[0])
