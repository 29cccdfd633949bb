"""Every deed that reads something, changes it and writes it back, done by several at once.

`DEEDS` is the list of them all. A tool that writes and a method of `Memory` that writes must stand
in it, or the last tests fail.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from commonplace import tools
from commonplace.context.budget import Context, ContextLine
from commonplace.doors.hooks import events, spool
from commonplace.doors.http.access_tokens import AccessTokens, FilePasses, passes_of
from commonplace.doors.http.api import review
from commonplace.doors.setup import apply
from commonplace.doors.setup.config_files import Kind, Shape
from commonplace.doors.setup.plan import FileChange, SetupPlan
from commonplace.library.revising import mark_of
from commonplace.markdown.rule_lists import ListedRule
from commonplace.memory import Memory
from commonplace.model.clock import Clock
from commonplace.model.errors import (
    CommonplaceError,
    Conflict,
    HeldForReview,
    NoSuchDocument,
    NoSuchRecord,
    SummarizerFailed,
)
from commonplace.model.moments import CalledTool
from commonplace.model.records import Origin, Record
from commonplace.storage.ledger import LOST, ToldLine
from commonplace.storage.notes import FileNotes
from commonplace.storage.notices import Notice
from commonplace.upkeep.compaction.summarizers import DailyTokens as Spent
from tests.support.clocks import FixedClock
from tests.support.races import WRITERS, Outcome, at_once, raced

ROUNDS = 2
EVERY = WRITERS * ROUNDS

Do = Callable[[Memory, int, int], Any]
Check = Callable[[Memory, Outcome], None]


@dataclass(frozen=True)
class Deed:
    """Something that several do at once, and what must be so afterwards."""

    do: Do
    check: Check
    before: Callable[[Memory], object] = lambda memory: None
    dialect: str = "native"
    options: Mapping[str, Any] = field(default_factory=dict)
    origin: str = Origin.AGENT
    session: str = ""
    """Of all of them; else each has its own."""
    in_files: bool = False
    """Whether there is no such thing in PostgreSQL."""
    methods: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


def word(writer: int, number: int) -> str:
    """A word that only this deed of this writer writes."""
    return f"w{writer}n{number}x"


def texts(memory: Memory) -> dict[str, str]:
    return {name: memory.library.text(name)[0] for name in memory.documents()}


def all_are_there(memory: Memory, outcome: Outcome) -> None:
    """Nothing was refused, and every word stands in some document, in none of them twice."""
    assert outcome.refused == []
    every_word_once(memory, outcome)


def every_word_once(memory: Memory, outcome: Outcome) -> None:
    counts = [Counter({w: text.count(w) for w in outcome.done}) for text in texts(memory).values()]
    assert {w: max(count[w] for count in counts) for w in outcome.done} == dict.fromkeys(
        outcome.done, 1
    )


def only_one_did(memory: Memory, outcome: Outcome) -> None:
    assert (len(outcome.done), len(outcome.refused)) == (1, EVERY - 1)


def none_was_refused(memory: Memory, outcome: Outcome) -> None:
    assert (len(outcome.done), outcome.refused) == (EVERY, [])


def use(tool: str, **arguments: Any) -> Do:
    """Call a tool; `WORD` in an argument is a word of its own."""
    dialect, _, name = tool.partition(".")

    def do(memory: Memory, writer: int, number: int) -> str:
        mine = word(writer, number)
        given = {
            key: value.replace("WORD", mine).replace("WRITER", str(writer))
            if isinstance(value, str)
            else value
            for key, value in arguments.items()
        }
        tools.own(name, dialect=dialect).call(memory, given)
        return mine

    return do


def a_document(memory: Memory) -> None:
    """Two sections, and a line in each that has nothing to do with what is written."""
    text = "# Plans\n\n## A\n\n- first\n\n## B\n\n- second\n"
    memory.update(text, document="plans.md", mode="rewrite")


def store(memory: Memory, writer: int, number: int) -> str:
    memory.store(f"Knows {word(writer, number)}", kind="fact")
    return word(writer, number)


def store_several(memory: Memory, writer: int, number: int) -> str:
    memory.store_all([{"text": f"Knows {word(writer, number)}", "kind": "fact"}])
    return word(writer, number)


def append(memory: Memory, writer: int, number: int) -> str:
    memory.update(f"- {word(writer, number)}", document="plans.md")
    return word(writer, number)


def append_to_a_section(memory: Memory, writer: int, number: int) -> str:
    memory.update(f"- {word(writer, number)}", document="plans.md", section="A")
    return word(writer, number)


def set_a_section(memory: Memory, writer: int, number: int) -> str:
    """Each sets a section of its own, which says all that was set before."""
    every = "\n".join(f"- {word(writer, each)}" for each in range(number + 1))
    memory.update(every, document="plans.md", mode="section", section=f"Of {writer}")
    return word(writer, number)


def make_a_section(memory: Memory, writer: int, number: int) -> str:
    mine = word(writer, number)
    memory.update(f"- {mine}", document="plans.md", mode="section", section=f"Of {writer} {number}")
    return mine


def rewrite_with_an_etag(memory: Memory, writer: int, number: int) -> str:
    page = memory.read("plans.md")
    new = page.text.replace("## B\n", f"- {word(writer, number)}\n\n## B\n")
    memory.update(new, document="plans.md", mode="rewrite", etag=page.etag)
    return word(writer, number)


def everything_at_once(memory: Memory, writer: int, number: int) -> str:
    ways = (store, append, append_to_a_section, make_a_section, rewrite_with_an_etag)
    return ways[(writer + number) % len(ways)](memory, writer, number)


def both_lines_are_there(memory: Memory, outcome: Outcome) -> None:
    all_are_there(memory, outcome)
    text = memory.read("plans.md").text
    assert (text.count("- first"), text.count("- second")) == (1, 1)


def write_an_entry(memory: Memory, writer: int, number: int) -> tuple[int, int, str]:
    return writer, number, memory.write_diary(f"Entry {word(writer, number)}.").document


def entries_are_kept_in_order(memory: Memory, outcome: Outcome) -> None:
    assert outcome.refused == []
    kept = {memory.read(name).text: name for name in memory.diary()}
    assert kept == {f"Entry {word(w, n)}.\n": name for w, n, name in outcome.done}
    names = list(kept.values())
    assert names == sorted(names) == memory.diary()
    for writer in range(WRITERS):
        mine = [name for w, _, name in sorted(outcome.done) if w == writer]
        assert mine == sorted(mine)
    assert all(memory.layout.diary_time(name) for name in names)


def some_records(memory: Memory) -> None:
    memory.store_all({"text": f"Old fact {number}", "kind": "fact"} for number in range(EVERY))


def record_of(memory: Memory, text: str) -> Record:
    everything = memory.search(include_superseded=True, include_passages=False, limit=1000)
    found = next((hit.record for hit in everything if hit.record.text == text), None)
    if found is None:
        raise NoSuchRecord(text)
    return found


def supersede_the_same(memory: Memory, writer: int, number: int) -> str:
    memory.supersede(record_of(memory, "Old fact 0").id, f"Now {word(writer, number)}")
    return word(writer, number)


def one_replaced_it(memory: Memory, outcome: Outcome) -> None:
    """The others are told by what: a chain has one head."""
    only_one_did(memory, outcome)
    every_word_once(memory, outcome)


def delete_the_replaced(memory: Memory, writer: int, number: int) -> str:
    """One deletes what the others replace: either comes first, and no record replaces nothing."""
    old = record_of(memory, f"Old fact {number}").id
    if writer:
        memory.supersede(old, f"Now {word(writer, number)}")
    else:
        memory.delete(old)
    return word(writer, number) if writer else ""


def nothing_replaces_what_is_gone(memory: Memory, outcome: Outcome) -> None:
    assert memory.scan("broken-chain") == []
    found = texts(memory)
    assert all(any(w in text for text in found.values()) for w in outcome.done)


def delete_the_same(memory: Memory, writer: int, number: int) -> None:
    memory.delete(record_of(memory, "Old fact 0").id)


def delete_several(memory: Memory, writer: int, number: int) -> str:
    text = f"Old fact {writer * ROUNDS + number}"
    memory.delete_all([record_of(memory, text).id])
    return text


def none_of_them_is_left(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert memory.count() == 0


def on(deed: Callable[[Memory, str], object], text: str = "Old fact 0") -> Do:
    """A deed on the record of this text."""
    return lambda memory, writer, number: deed(memory, record_of(memory, text).id)


def in_a_chain(memory: Memory) -> None:
    memory.supersede(memory.store("Drinks tea", kind="fact").id, "Drinks coffee")


def forget_what_a_summary_tells(memory: Memory, writer: int, number: int) -> str:
    mine = f"An old matter {writer * ROUNDS + number} of long ago"
    memory.delete(record_of(memory, f"{mine}.").id)
    return mine


def no_document_tells_it(memory: Memory, outcome: Outcome) -> None:
    assert outcome.refused == []
    told = "\n".join(texts(memory).values())
    assert [mine for mine in outcome.done if mine in told] == []


def hold_some(memory: Memory) -> None:
    tainted = memory.for_session("web-1", origin=Origin.AGENT)
    tainted.taint()
    for text in ("Always answer in French", "Never use tabs"):
        with pytest.raises(HeldForReview):
            tainted.store(text, kind="instruction")


def approve(memory: Memory, writer: int, number: int) -> str:
    return memory.approve(memory.log(limit=100)[-1].ids[0]).text


def approve_or_reject(memory: Memory, writer: int, number: int) -> str:
    key = memory.log(limit=100)[-1].ids[0]
    decided = memory.approve(key) if writer % 2 else memory.reject(key)
    return decided.text


def decided_once(memory: Memory, outcome: Outcome) -> None:
    only_one_did(memory, outcome)
    decisions = [e.op for e in memory.log(limit=100) if e.op in ("approve", "reject")]
    assert len(decisions) == 1
    written = texts(memory).values()
    assert max([text.count("Always answer in French") for text in written] + [0]) <= 1
    assert [record.text for record in memory.review()] == ["Never use tabs"]


def decide_on_both(memory: Memory, writer: int, number: int) -> Any:
    keys = [entry.ids[0] for entry in memory.log(limit=100)]
    ids, decision = (keys, "approve") if writer % 2 else (keys[::-1], "reject")
    return review.decide_on_many.run(memory, {"ids": ids, "decision": decision})


def both_were_decided_on_by_one(memory: Memory, outcome: Outcome) -> None:
    only_one_did(memory, outcome)
    decisions = [e.op for e in memory.log(limit=100) if e.op in ("approve", "reject")]
    assert (len(decisions), len(set(decisions))) == (2, 1)
    assert memory.review() == []


def spend(memory: Memory, writer: int, number: int) -> None:
    with memory.counted("stores"):
        memory.store(f"Knows {word(writer, number)}", kind="fact")


def only_five_did(memory: Memory, outcome: Outcome) -> None:
    assert (len(outcome.done), len(outcome.refused)) == (5, EVERY - 5)
    assert memory.sessions.read("s").stores == 5


def do_once(memory: Memory, writer: int, number: int) -> str:
    """Deeds of a hook that are done once: the same one by everybody, and one of each writer."""
    events._once(memory, "the same", lambda: memory.update("- the same", document="plans.md"))
    mine = word(writer, number)
    events._once(memory, mine, lambda: memory.update(f"- {mine}", document="plans.md"))
    return mine


def each_was_done_once(memory: Memory, outcome: Outcome) -> None:
    all_are_there(memory, outcome)
    assert memory.read("plans.md").text.count("the same") == 1
    assert len(memory.sessions.read("s").done) == EVERY + 1


def undo_the_last(memory: Memory, writer: int, number: int) -> int:
    return memory.undo().entry.position


def every_change_is_undone(memory: Memory, outcome: Outcome) -> None:
    assert (len(set(outcome.done)), outcome.refused) == (EVERY, [])
    assert memory.read("plans.md").text == "- start\n"


def many_changes(memory: Memory) -> None:
    memory.update("- start", document="plans.md", mode="rewrite")
    for number in range(EVERY):
        memory.update(f"- line {number}", document="plans.md")


def undo_the_first(memory: Memory, writer: int, number: int) -> object:
    first = next(e for e in memory.log(limit=100) if e.lines == ("- line 0\n",))
    return memory.undo(first.position)


def many_undos(memory: Memory) -> None:
    many_changes(memory)
    for _ in range(EVERY):
        memory.undo()


def every_change_is_there_again(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    lines = [f"- line {number}" for number in range(EVERY)]
    assert memory.read("plans.md").text.splitlines() == ["- start", *lines]


def a_notice(memory: Memory, change: int = 1) -> None:
    """As if somebody had saved the document without a record of it."""
    key = memory.store("Drinks tea", kind="fact").id
    position = memory.log(limit=1)[0].position
    memory.strike([key])
    at, pieces = memory.clock.stamp(), ((position, key),)
    notice = Notice(change, "MEMORY.md", "It took something out.", "Put it back.", at, pieces)
    memory.library.undisturbed(lambda: memory.library.notices.add(notice))


def two_notices(memory: Memory) -> None:
    a_notice(memory, 1)
    a_notice(memory, 2)


def put_back_once(memory: Memory, outcome: Outcome) -> None:
    assert len([line for lines in outcome.done for line in lines]) == 1
    assert memory.read("MEMORY.md").text.count("Drinks tea") == 1
    assert memory.notices() == []


def told_once(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert len([notice for notices in outcome.done for notice in notices]) == 1


def both_are_dismissed(memory: Memory, outcome: Outcome) -> None:
    assert memory.notices() == []


def restore_to_the_start(memory: Memory, writer: int, number: int) -> None:
    memory.restore(datetime.now(UTC), "plans.md")


def nothing_changed(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert memory.read("plans.md").text.count("- line") == EVERY


def every_record_is_somewhere(memory: Memory, outcome: Outcome) -> None:
    """In the main document or the archive, and in no document twice."""
    all_are_there(memory, outcome)
    here = memory.read(memory.layout.memory).text
    assert here.count("Knows ") <= 3


def bring_all_back(memory: Memory, writer: int, number: int) -> tuple[str, ...]:
    ids = [key for e in memory.log(limit=100) if e.op == "trim" for key in e.removed]
    return memory.bring_back(ids)


def brought_back_once(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert len([key for ids in outcome.done for key in ids]) == EVERY - 2


def fill_the_window(memory: Memory) -> None:
    some_records(memory)
    with Memory.open(
        memory.place, memory.layout.name, environ={}, create=True, memory_max_records=3
    ) as limited:
        limited.store("The newest fact", kind="fact")


LONG_AGO = FixedClock(1_600_000_000_000_000_000)


def old_records(memory: Memory) -> None:
    with Memory.open(
        memory.place, memory.layout.name, clock=LONG_AGO, environ={}, create=True
    ) as old:
        old.store_all(
            {"text": f"An old matter {number} of long ago.", "kind": "context"}
            for number in range(EVERY)
        )


def old_summaries(memory: Memory) -> None:
    old_records(memory)
    assert memory.compact(forced=True).status == "done"


def compact_or_store(memory: Memory, writer: int, number: int) -> str:
    if writer:
        return store(memory, writer, number)
    memory.compact(forced=True)
    return ""


def nothing_is_lost_by_compacting(memory: Memory, outcome: Outcome) -> None:
    assert outcome.refused == []
    told = "\n".join(texts(memory).values())
    assert all(w in told for w in outcome.done)
    found = memory.search(include_passages=False, include_superseded=True, limit=1000)
    sources = Counter(key for hit in found for key in hit.record.sources)
    standing = {hit.record.text for hit in found if "old matter" in hit.record.text}
    assert set(sources.values()) <= {1}
    assert sources or len(standing) == EVERY


def old_entries(memory: Memory) -> None:
    with Memory.open(
        memory.place, memory.layout.name, clock=LONG_AGO, environ={}, create=True
    ) as old:
        for number in range(3):
            old.write_diary(f"A calm day {number}.")


def rolled_up_once(memory: Memory, outcome: Outcome) -> None:
    assert (sorted(filter(None, outcome.done)), outcome.refused) == ([("diary/2020.md",)], [])


def take_in(memory: Memory, writer: int, number: int) -> None:
    memory.store(f"Saw the lighthouse of {word(writer, number)}", kind="fact")
    memory.take_in_experiences()


def alike_is_kept_once(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    kept = json.loads(memory.notes.read("experiences.json") or b"")["kept"]
    assert len(kept) == len({key for key, _, _ in kept}) == 1


def create(memory: Memory, writer: int, number: int) -> str:
    memory.create(f"- {word(writer, number)}", document="new.md")
    return word(writer, number)


def one_made_it(memory: Memory, outcome: Outcome) -> None:
    only_one_did(memory, outcome)
    assert memory.read("new.md").text == f"- {outcome.done[0]}\n"


COPY = "plans (conflicted copy 2026-11-15).md"


def a_copy(memory: Memory) -> None:
    a_document(memory)
    text = memory.read("plans.md").text + "- of the copy\n"
    Path(memory.root_path, COPY).write_text(text, encoding="utf-8")


def unite_or_append(memory: Memory, writer: int, number: int) -> str:
    if writer % 2:
        return append(memory, writer, number)
    memory.unite_copies([COPY])
    return "of the copy"


def one_united(memory: Memory, outcome: Outcome) -> None:
    assert outcome.done.count("of the copy") == 1
    every_word_once(memory, outcome)


def name_it_alike(memory: Memory, writer: int, number: int) -> None:
    memory.rename(f"p{writer}.md", "one.md")


def several_documents(memory: Memory) -> None:
    for number in range(WRITERS):
        memory.update(f"- page {number}", document=f"p{number}.md")


def no_page_is_lost(memory: Memory, outcome: Outcome) -> None:
    only_one_did(memory, outcome)
    told = "".join(texts(memory).values())
    assert all(f"page {number}" in told for number in range(WRITERS))


def begin_again(memory: Memory, writer: int, number: int) -> None:
    """Somebody took the document away: the next to open the vault makes it again."""
    if not number:
        with suppress(NoSuchDocument):
            memory.remove("MEMORY.md")
    memory.make_first_document()


def headed_once(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert memory.read("MEMORY.md").text.count("# MEMORY\n") == 1


def say(memory: Memory, writer: int, number: int) -> str:
    return memory.conversations.record("user", word(writer, number)).content


def all_was_said(memory: Memory, outcome: Outcome) -> None:
    assert outcome.refused == []
    said = [message.content for message in memory.conversations.last(100, session="")]
    assert sorted(said) == sorted(outcome.done)


def hold(memory: Memory, writer: int, number: int) -> bool:
    with memory.conversations.held(60):
        return memory.conversations.are_running()


def each_was_running(memory: Memory, outcome: Outcome) -> None:
    assert (outcome.done, outcome.refused) == ([True] * EVERY, [])
    assert not memory.conversations.are_running()


def a_capped_document(memory: Memory) -> None:
    memory.update("- " + "x" * 60, document="facts.md", mode="rewrite")


def within_the_cap(memory: Memory, outcome: Outcome) -> None:
    assert outcome.done
    assert outcome.refused
    assert len(memory.read("facts.md").text) <= 100
    every_word_once(memory, outcome)


def says_it_once(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert memory.read("facts.md").text.count("the same") == 1


def a_page_of_words(memory: Memory) -> None:
    words = " ".join(word(w, n).upper() for w in range(WRITERS) for n in range(ROUNDS))
    memory.update(f"- {words}\n", document="plans.md", mode="rewrite")


def replace_a_word(memory: Memory, writer: int, number: int) -> str:
    mine = word(writer, number)
    change = {"command": "str_replace", "path": "/memories/plans.md"}
    change |= {"old_str": mine.upper(), "new_str": mine}
    tools.own("memory", dialect="anthropic").call(memory, change)
    return mine


def insert_a_line(memory: Memory, writer: int, number: int) -> str:
    change = {"command": "insert", "path": "/memories/plans.md", "insert_line": 2}
    change |= {"insert_text": f"- {word(writer, number)}"}
    tools.own("memory", dialect="anthropic").call(memory, change)
    return word(writer, number)


def create_a_file(memory: Memory, writer: int, number: int) -> str:
    made = {"command": "create", "path": "/memories/new.md"}
    text = f"- {word(writer, number)}\n"
    tools.own("memory", dialect="anthropic").call(memory, made | {"file_text": text})
    return word(writer, number)


def rewrite_after_reading(memory: Memory, writer: int, number: int) -> str:
    """As an agent does it whose tool has no etag: what it was shown, with a line of its own."""
    page = memory.read("plans.md")
    new = page.text.replace("## B\n", f"- {word(writer, number)}\n\n## B\n")
    dialect = "journal" if memory.layout.name == "journal" else "notebook"
    if dialect == "journal":
        given = {"file": "plans.md", "content": new}
        tools.own("rewrite_memory", dialect=dialect).call(memory, given)
    else:
        given = {"document": "plans.md", "content": new, "mode": "rewrite"}
        tools.own("memory_update", dialect=dialect).call(memory, given)
    return word(writer, number)


def revise_what_was_read(memory: Memory, writer: int, number: int) -> str:
    old, mine = record_of(memory, "Old fact 0"), word(writer, number)
    memory.revise(old.id, text=f"Now {mine}", kind="fact", tags=(), mark=mark_of(old))
    return mine


def one_revised_it(memory: Memory, outcome: Outcome) -> None:
    only_one_did(memory, outcome)
    every_word_once(memory, outcome)
    assert memory.count() == EVERY


def every_tag_is_there(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    every = {word(writer, number) for writer in range(WRITERS) for number in range(ROUNDS)}
    assert set(record_of(memory, "Old fact 0").tags) == every


def every_session_said_it_once(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    said = [each.partition(" ")[2] for each in record_of(memory, "Old fact 0").useful]
    assert sorted(said) == sorted(f"s{writer}" for writer in range(WRITERS))


def fact_of(memory: Memory, writer: int, number: int) -> str:
    return record_of(memory, f"Old fact {writer * ROUNDS + number}").id


def some_pinned_records(memory: Memory) -> None:
    some_records(memory)
    memory.pin(*(record_of(memory, f"Old fact {number}").id for number in range(EVERY)))


def every_one_is_pinned(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert all(record_of(memory, f"Old fact {number}").pinned for number in range(EVERY))


def none_is_pinned(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert memory.listed(pinned=True) == []


def one_is_struck(memory: Memory) -> None:
    some_records(memory)
    memory.strike([record_of(memory, "Old fact 0").id])


def put_back_what_is_gone(memory: Memory, writer: int, number: int) -> tuple[Record, ...]:
    return memory.put_back_records([each.record.id for each in memory.removed()] or ["mem-gone"])


def brought_back_by_one(memory: Memory, outcome: Outcome) -> None:
    """The others find nothing any more that was taken out."""
    assert len(outcome.done) == 1
    assert memory.count() == EVERY
    assert [text.count("Old fact 0") for text in texts(memory).values()] == [1]


def lines_by_hand(memory: Memory) -> None:
    text = "# Memory\n\n- Knows the first\n- Knows the first\n- Knows the second\n"
    memory.update(text, document="MEMORY.md", mode="rewrite")


def tidy_or_store(memory: Memory, writer: int, number: int) -> str:
    if writer == 0:
        memory.tidy()
    return store(memory, writer, number)


def tidied_and_all_there(memory: Memory, outcome: Outcome) -> None:
    all_are_there(memory, outcome)
    text = memory.read("MEMORY.md").text
    assert (text.count("Knows the first"), text.count("Knows the second")) == (1, 1)


def said_twice(memory: Memory) -> None:
    memory.store("Tea is green", kind="fact")
    memory.store("Tea is green.", kind="preference")


def mend_it(memory: Memory, writer: int, number: int) -> tuple[str, ...]:
    return memory.mend(memory.findings("duplicate")[:1])


def one_is_left(memory: Memory, outcome: Outcome) -> None:
    assert len([struck for struck in outcome.done if struck]) == 1
    assert memory.count() == 1


def many_said_twice(memory: Memory) -> None:
    for number in range(EVERY):
        memory.store(f"Tea number {number} is green", kind="fact")
        memory.store(f"Tea number {number} is green.", kind="preference")
    memory.leave_findings(marks(memory)[:1])


def marks(memory: Memory) -> list[str]:
    return sorted(each.mark for each in memory.findings("duplicate"))


def leave_one_finding(memory: Memory, writer: int, number: int) -> None:
    """The first was left before, and is to be looked at again; the others are left."""
    mine = writer * ROUNDS + number
    decide = memory.leave_findings if mine else memory.look_again
    decide([marks(memory)[mine]])


def all_are_left(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    found = memory.findings("duplicate")
    assert (len(found), sum(each.left for each in found)) == (EVERY, EVERY - 1)


NUMBERS = ("text_limit", "memory_max_records", "memory_max_chars", "document_cap")


def set_an_option(memory: Memory, writer: int, number: int) -> None:
    memory.set_option(NUMBERS[writer], 1000 + number)


def all_options_are_set(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    set_now = {each["name"]: each["value"] for each in memory.settings() if each["name"] in NUMBERS}
    assert set_now == dict.fromkeys(NUMBERS, 1000 + ROUNDS - 1)


def tell_a_session(memory: Memory, writer: int, number: int) -> str:
    """One way and the other of noting what was told, to one session."""
    mine = word(writer, number)
    if number % 2:
        memory.note_told("prompt", [ToldLine(mine, "it fits", 1)])
    else:
        memory.note_context("start", Context(lines=(ContextLine(mine, record_id=mine),)))
    memory.drop_old_tellings()
    return mine


def every_telling_is_noted(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert memory.ledger.known("s") == set(outcome.done)


def tell_and_lose(memory: Memory, writer: int, number: int) -> str:
    memory.note_told("prompt", [ToldLine(word(writer, number), "it fits", 1)])
    memory.note_lost()
    return word(writer, number)


def nothing_is_known(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert memory.ledger.known("s") == frozenset()
    told = memory.ledger.tellings("s")
    assert sum(each.event == "prompt" for each in told) == EVERY
    assert any(each.event == LOST for each in told)


def a_rule_with_a_moment(memory: Memory) -> None:
    memory.store("Run the migrations dry first", kind="instruction", when=["Bash(alembic *)"])


def tell_a_rule(memory: Memory, writer: int, number: int) -> str:
    call = CalledTool("Bash", "alembic upgrade head")
    return memory.tell_rules(call, event="tool", characters=1200).text


def the_rule_is_known(memory: Memory, outcome: Outcome) -> None:
    """Those that came at the same moment may all have told it; who came later did not."""
    none_was_refused(memory, outcome)
    assert any(outcome.done)
    assert memory.for_session("s").known() == {record.id for record in memory.rules()}


def suggest_the_same_rule(memory: Memory, writer: int, number: int) -> int:
    rule = ListedRule("Never push to main without a review", 1)
    return len(memory.suggest_rules([rule], __file__).fresh)


def said_in_three_sessions(memory: Memory) -> None:
    for number, text in enumerate(("No, use pnpm", "I said pnpm, not npm!", "use pnpm, not npm")):
        memory.conversations.record("user", text, session=f"day-{number}")


def one_waits(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert len(memory.review()) == 1


def pause_a_session(memory: Memory, writer: int, number: int) -> str:
    mine = word(writer, number)
    memory.pause(mine)
    return mine


def all_are_paused(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert all(memory.for_session(each).paused() for each in outcome.done)


def pause_every_session(memory: Memory) -> None:
    for writer in range(WRITERS):
        for number in range(ROUNDS):
            memory.pause(word(writer, number))


def resume_a_session(memory: Memory, writer: int, number: int) -> str:
    mine = word(writer, number)
    memory.resume(mine)
    return mine


def none_is_paused(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert not any(memory.for_session(each).paused() for each in outcome.done)


def some_cited_records(memory: Memory) -> None:
    a_document(memory)
    some_records(memory)
    for number in range(EVERY):
        memory.cite(record_of(memory, f"Old fact {number}").id, "plans.md:5")


def every_one_cites(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert all(record_of(memory, f"Old fact {number}").citations for number in range(EVERY))


def none_cites(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert not any(record_of(memory, f"Old fact {number}").citations for number in range(EVERY))


def a_document_and_records(memory: Memory) -> None:
    a_document(memory)
    some_records(memory)


DEEDS: dict[str, Deed] = {
    "store a memory": Deed(store, all_are_there, methods=("store", "remember")),
    "store several memories": Deed(store_several, all_are_there, methods=("store_all",)),
    "store with the native tool": Deed(
        use("native.store", text="Knows WORD"), all_are_there, tools=("native.store",)
    ),
    "store with the typed tool": Deed(
        use("typed.memory_store", type="fact", content="Knows WORD"),
        all_are_there,
        tools=("typed.memory_store",),
    ),
    "save with EARL's tool": Deed(
        use("earl.save_memory", text="Knows WORD"),
        all_are_there,
        dialect="earl",
        tools=("earl.save_memory",),
    ),
    "note with EARL's tool": Deed(
        use("earl.save_memory", text="USER.md: knows WORD"),
        all_are_there,
        dialect="earl",
        tools=("earl.save_memory",),
    ),
    "remember with claw's tool": Deed(
        use("claw.remember_this", text="Knows WORD"),
        all_are_there,
        dialect="claw",
        session="main",
        tools=("claw.remember_this",),
    ),
    "append to a document": Deed(append, all_are_there, a_document, methods=("update",)),
    "append to a section": Deed(
        append_to_a_section, both_lines_are_there, a_document, methods=("update", "edit")
    ),
    "append to a section that is not there yet": Deed(append_to_a_section, all_are_there),
    "set a section": Deed(set_a_section, both_lines_are_there, a_document),
    "rewrite with an etag": Deed(rewrite_with_an_etag, both_lines_are_there, a_document),
    "everything at once": Deed(everything_at_once, both_lines_are_there, a_document),
    "append to a section with the native tool": Deed(
        use("native.update", document="plans.md", content="- WORD", section="A"),
        both_lines_are_there,
        a_document,
        tools=("native.update",),
    ),
    "append to a section with the notebook's tool": Deed(
        use("notebook.memory_update", content="- WORD", mode="append", section="About Me"),
        all_are_there,
        dialect="notebook",
        tools=("notebook.memory_update",),
    ),
    "say the same with the notebook's tool": Deed(
        use("notebook.memory_update", document="facts.md", content="- the same", mode="append"),
        says_it_once,
        dialect="notebook",
    ),
    "append up to the notebook's cap": Deed(
        use("notebook.memory_update", document="facts.md", content="- WORD", mode="append"),
        within_the_cap,
        a_capped_document,
        dialect="notebook",
        options={"document_cap": 100},
    ),
    "append to a section up to the notebook's cap": Deed(
        use(
            "notebook.memory_update", document="f.md", content="- WORD", mode="append", section="S"
        ),
        lambda memory, outcome: within_a_cap_of_60(memory, outcome),
        dialect="notebook",
        options={"document_cap": 60},
    ),
    "rewrite with the notebook's tool": Deed(
        rewrite_after_reading, both_lines_are_there, a_document, dialect="notebook"
    ),
    "rewrite with the journal's tool": Deed(
        rewrite_after_reading,
        both_lines_are_there,
        a_document,
        dialect="journal",
        tools=("journal.rewrite_memory",),
    ),
    "replace a word with Anthropic's tool": Deed(
        replace_a_word, all_are_there, a_page_of_words, tools=("anthropic.memory",)
    ),
    "insert a line with Anthropic's tool": Deed(insert_a_line, both_lines_are_there, a_document),
    "create a file with Anthropic's tool": Deed(create_a_file, one_made_it),
    "write a diary entry": Deed(
        write_an_entry, entries_are_kept_in_order, methods=("write_diary",)
    ),
    "write an entry with the native tool": Deed(
        use("native.diary", text="Entry WORD."), all_are_there, tools=("native.diary",)
    ),
    "write an entry with the journal's tool": Deed(
        use("journal.diary", text="Entry WORD."),
        all_are_there,
        dialect="journal",
        tools=("journal.diary",),
    ),
    "replace one memory": Deed(
        supersede_the_same, one_replaced_it, some_records, methods=("supersede",)
    ),
    "replace a memory that goes": Deed(
        delete_the_replaced, nothing_replaces_what_is_gone, some_records
    ),
    "delete one memory": Deed(delete_the_same, only_one_did, some_records, methods=("delete",)),
    "delete several memories": Deed(
        delete_several, none_of_them_is_left, some_records, methods=("delete_all",)
    ),
    "delete one with the native tool": Deed(
        on(lambda memory, key: tools.own("delete", dialect="native").call(memory, {"id": key})),
        only_one_did,
        some_records,
        tools=("native.delete",),
    ),
    "delete one with the typed tool": Deed(
        on(
            lambda memory, key: tools.own("memory_delete", dialect="typed").call(
                memory, {"id": key}
            )
        ),
        only_one_did,
        some_records,
        tools=("typed.memory_delete",),
    ),
    "forget what a summary tells": Deed(
        forget_what_a_summary_tells, no_document_tells_it, old_summaries
    ),
    "strike a memory": Deed(
        on(lambda memory, key: memory.strike([key])),
        only_one_did,
        some_records,
        methods=("strike",),
    ),
    "unlink a memory": Deed(
        on(lambda memory, key: memory.unlink(key), "Drinks coffee"),
        none_was_refused,
        in_a_chain,
        methods=("unlink",),
    ),
    "approve what is held": Deed(
        approve, decided_once, hold_some, origin=Origin.OWNER, methods=("approve",)
    ),
    "approve or reject what is held": Deed(
        approve_or_reject, decided_once, hold_some, origin=Origin.OWNER, methods=("reject",)
    ),
    "decide on all that is held": Deed(
        decide_on_both,
        both_were_decided_on_by_one,
        hold_some,
        origin=Origin.OWNER,
        methods=("decide",),
    ),
    "spend a session's budget": Deed(
        spend,
        only_five_did,
        options={"session_stores": 5},
        session="s",
        methods=("counted", "counted_of_agents"),
    ),
    "taint a session": Deed(
        lambda memory, writer, number: memory.taint(word(writer, number)),
        lambda memory, outcome: assert_tainted(memory, outcome),
        session="s",
        methods=("taint", "note_read", "note_shown"),
    ),
    "do something once a session": Deed(do_once, each_was_done_once, session="s"),
    "undo the last change": Deed(
        undo_the_last, every_change_is_undone, many_changes, methods=("undo",)
    ),
    "undo one change": Deed(undo_the_first, only_one_did, many_changes),
    "undo with the native tool": Deed(
        lambda memory, writer, number: tools.own("undo", dialect="native")
        .call(memory.for_session(""), {})
        .data["at"],
        lambda memory, outcome: every_change_is_undone_by_the_tool(memory, outcome),
        many_changes,
        tools=("native.undo",),
    ),
    "redo the last undo": Deed(
        lambda memory, writer, number: memory.redo(),
        every_change_is_there_again,
        many_undos,
        methods=("redo",),
    ),
    "put back what a save took out": Deed(
        lambda memory, writer, number: memory.put_back(1),
        put_back_once,
        a_notice,
        methods=("put_back",),
    ),
    "hear of what a save took out": Deed(
        lambda memory, writer, number: memory.tell_notices(),
        told_once,
        a_notice,
        methods=("tell_notices",),
    ),
    "leave out what a save took out": Deed(
        lambda memory, writer, number: memory.dismiss(number + 1),
        both_are_dismissed,
        two_notices,
        methods=("dismiss",),
    ),
    "restore a document": Deed(
        restore_to_the_start, nothing_changed, many_changes, methods=("restore",)
    ),
    "store past the window": Deed(
        store, every_record_is_somewhere, options={"memory_max_records": 3}, methods=("trim",)
    ),
    "bring back what was trimmed": Deed(
        bring_all_back, brought_back_once, fill_the_window, methods=("bring_back",)
    ),
    "compact while others store": Deed(
        compact_or_store, nothing_is_lost_by_compacting, old_records, methods=("compact",)
    ),
    "roll the diary up": Deed(
        lambda memory, writer, number: memory.roll_up_diary(),
        rolled_up_once,
        old_entries,
        methods=("roll_up_diary",),
    ),
    "take experiences in": Deed(
        take_in,
        alike_is_kept_once,
        options={"experience_uniqueness_threshold": 0.4},
        methods=("take_in_experiences",),
    ),
    "create a document": Deed(create, one_made_it, methods=("create",)),
    "unite a copy with its document": Deed(
        unite_or_append, one_united, a_copy, methods=("unite_copies",), in_files=True
    ),
    "remove a document": Deed(
        lambda memory, writer, number: memory.remove("plans.md"),
        only_one_did,
        a_document,
        methods=("remove",),
    ),
    "rename documents alike": Deed(
        name_it_alike, no_page_is_lost, several_documents, methods=("rename", "rename_all")
    ),
    "make the first document": Deed(
        begin_again,
        headed_once,
        dialect="claw",
        methods=("make_first_document",),
    ),
    "note a checkpoint": Deed(
        lambda memory, writer, number: memory.checkpoint().id,
        all_are_there,
        methods=("checkpoint",),
    ),
    "store a summary": Deed(
        lambda memory, writer, number: memory.store_summary(f"It said {word(writer, number)}.")[
            0
        ].id,
        all_are_there,
        methods=("store_summary",),
    ),
    "rebuild the index": Deed(
        lambda memory, writer, number: memory.rebuild(),
        lambda memory, outcome: index_is_whole(memory, outcome),
        some_records,
        methods=("rebuild",),
    ),
    "revise a memory": Deed(
        revise_what_was_read,
        one_revised_it,
        some_records,
        origin=Origin.OWNER,
        methods=("revise",),
    ),
    "tag a memory": Deed(
        lambda memory, writer, number: memory.revise_all(
            [record_of(memory, "Old fact 0").id], add_tags=[word(writer, number)]
        ),
        every_tag_is_there,
        some_records,
        origin=Origin.OWNER,
        methods=("revise_all",),
    ),
    "say that a memory helped": Deed(
        lambda memory, writer, number: memory.judge("useful", record_of(memory, "Old fact 0").id),
        every_session_said_it_once,
        some_records,
        methods=("judge",),
    ),
    "pin memories": Deed(
        lambda memory, writer, number: memory.pin(fact_of(memory, writer, number)),
        every_one_is_pinned,
        some_records,
        origin=Origin.OWNER,
        methods=("pin",),
    ),
    "take pins off": Deed(
        lambda memory, writer, number: memory.unpin(fact_of(memory, writer, number)),
        none_is_pinned,
        some_pinned_records,
        origin=Origin.OWNER,
        methods=("unpin",),
    ),
    "tell a session": Deed(
        tell_a_session,
        every_telling_is_noted,
        session="s",
        methods=("note_told", "note_context", "drop_old_tellings"),
    ),
    "lose what was told": Deed(
        tell_and_lose,
        nothing_is_known,
        session="s",
        methods=("note_lost",),
    ),
    "tell a rule": Deed(
        tell_a_rule,
        the_rule_is_known,
        a_rule_with_a_moment,
        origin=Origin.OWNER,
        session="s",
        methods=("tell_rules",),
    ),
    "suggest rules of a file": Deed(suggest_the_same_rule, one_waits, methods=("suggest_rules",)),
    "suggest what was said again": Deed(
        lambda memory, writer, number: memory.suggest(),
        one_waits,
        said_in_three_sessions,
        origin=Origin.OWNER,
        methods=("suggest",),
    ),
    "pause sessions": Deed(
        pause_a_session, all_are_paused, origin=Origin.OWNER, methods=("pause",)
    ),
    "end pauses": Deed(
        resume_a_session,
        none_is_paused,
        pause_every_session,
        origin=Origin.OWNER,
        methods=("resume",),
    ),
    "cite a document": Deed(
        lambda memory, writer, number: memory.cite(fact_of(memory, writer, number), "plans.md:5"),
        every_one_cites,
        a_document_and_records,
        methods=("cite",),
    ),
    "renew what is cited": Deed(
        lambda memory, writer, number: memory.renew_citations(fact_of(memory, writer, number)),
        every_one_cites,
        some_cited_records,
        methods=("renew_citations",),
    ),
    "rest on it no longer": Deed(
        lambda memory, writer, number: memory.drop_citations(fact_of(memory, writer, number)),
        none_cites,
        some_cited_records,
        methods=("drop_citations",),
    ),
    "bring back what was taken out": Deed(
        put_back_what_is_gone,
        brought_back_by_one,
        one_is_struck,
        origin=Origin.OWNER,
        methods=("put_back_records",),
    ),
    "tidy while others store": Deed(
        tidy_or_store, tidied_and_all_there, lines_by_hand, origin=Origin.OWNER, methods=("tidy",)
    ),
    "mend a finding": Deed(mend_it, one_is_left, said_twice, methods=("mend",)),
    "leave findings": Deed(
        leave_one_finding,
        all_are_left,
        many_said_twice,
        methods=("leave_findings", "look_again"),
    ),
    "set options": Deed(
        set_an_option,
        all_options_are_set,
        origin=Origin.OWNER,
        in_files=True,
        methods=("set_option",),
    ),
    "record a message": Deed(say, all_was_said, methods=("conversations",)),
    "record a message with the native tool": Deed(
        use("native.history", action="append", text="WORD"),
        all_was_said,
        tools=("native.history",),
    ),
    "hold a conversation": Deed(hold, each_was_running),
}


def within_a_cap_of_60(memory: Memory, outcome: Outcome) -> None:
    assert outcome.done
    assert outcome.refused
    assert len(memory.read("f.md").text) <= 60
    every_word_once(memory, outcome)


def assert_tainted(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    named = [what for what, at in memory.sessions.read("s").taints]
    assert sorted(named) == sorted(
        word(writer, number) for writer in range(WRITERS) for number in range(ROUNDS)
    )


def every_change_is_undone_by_the_tool(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert memory.read("plans.md").text == "- start\n"


def index_is_whole(memory: Memory, outcome: Outcome) -> None:
    none_was_refused(memory, outcome)
    assert memory.count() == EVERY
    assert memory.scan("index-drift") == []


@pytest.mark.parametrize("name", DEEDS)
def test_what_several_do_at_once_is_all_done_from_what_is_there_then(place: str, name: str) -> None:
    deed = DEEDS[name]
    if deed.in_files and "://" in place:
        return

    def opened(writer: int) -> Memory:
        session = deed.session or f"s{writer}"
        return Memory.open(
            place,
            deed.dialect,
            session,
            origin=deed.origin,
            environ={},
            create=True,
            **deed.options,
        )

    with Memory.open(place, deed.dialect, origin=deed.origin, environ={}, create=True) as memory:
        deed.before(memory)
    outcome = raced(opened, deed.do, rounds=ROUNDS)
    with Memory.open(place, deed.dialect, origin=Origin.OWNER, environ={}, create=True) as memory:
        deed.check(memory, outcome)


READING = {
    "check_recording",
    "citations",
    "expired",
    "known",
    "news",
    "paused",
    "rules",
    "rules_told",
    "stale",
    "standings",
    "told_at_start",
    "open",
    "is_tainted",
    "for_session",
    "apart",
    "schedule",
    "job_processes",
    "stop_upkeep",
    "root",
    "state",
    "layout",
    "clock",
    "author",
    "plan_compaction",
    "expand",
    "review",
    "review_reasons",
    "guards",
    "meant_of_held",
    "accounts",
    "one",
    "peek",
    "kind",
    "is_shut",
    "get",
    "search",
    "all_about",
    "load_encoder",
    "serves",
    "why_not",
    "waiting_shown",
    "recall",
    "experiences",
    "recall_experiences",
    "brief",
    "context",
    "relevant",
    "count",
    "to_forget",
    "would_forget",
    "scan",
    "documents",
    "read",
    "diary",
    "notices",
    "may_have_news",
    "nearby",
    "log",
    "history",
    "messages",
    "user_messages",
    "blame",
    "text_at",
    "status",
    "problems",
    "close",
    "activity",
    "change",
    "clients",
    "counts",
    "findings",
    "forgotten",
    "listed",
    "plan_tidy",
    "record_versions",
    "removed",
    "settings",
    "versions",
}
"""What of `Memory` changes no document and no note that others change too."""


def test_every_method_that_writes_is_in_the_list() -> None:
    public = {name for name in vars(Memory) if not name.startswith("_")}
    listed = {name for deed in DEEDS.values() for name in deed.methods}
    assert public - READING == listed
    assert public >= READING


def test_every_tool_that_writes_is_in_the_list() -> None:
    writing_tools = {
        f"{dialect}.{name}"
        for dialect in tools.DIALECTS
        for name, tool in tools.table(dialect).items()
        if not tool.read_only
    }
    listed = {name for deed in DEEDS.values() for name in deed.tools}
    assert writing_tools == listed


PROCESS = """
import sys
from commonplace.memory import Memory

place, writer = sys.argv[1], sys.argv[2]
with Memory.open(place, session=writer, environ={}, create=True) as memory:
    sys.stdin.readline()
    for number in range(5):
        mine = f"w{writer}n{number}x"
        memory.update(f"- s{mine}", document="plans.md", section="ABCD"[number % 4])
        memory.update(f"- t{mine}", document="plans.md", mode="section", section=f"{mine}")
        old = memory.store(f"Knows u{mine}", kind="fact")
        memory.supersede(old.id, f"Knows v{mine}")
        print(f"s{mine} t{mine} u{mine} v{mine}", memory.write_diary(f"Entry d{mine}.").document)
"""


def test_what_processes_write_at_once_is_all_there_and_their_entries_in_order(place: str) -> None:
    with Memory.open(place, environ={}, create=True) as memory:
        a_document(memory)
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, place, str(writer)],
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )
        for writer in range(4)
    ]
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    told = [process.communicate() for process in processes]
    assert [errors for _, errors in told] == [""] * 4
    lines = [output.split() for output, _ in told]
    words = [each for line in lines for each in line if not each.startswith("diary/")]
    with Memory.open(place, environ={}, create=True) as memory:
        written = "\n".join(texts(memory).values())
        entries = [memory.read(name).text for name in memory.diary()]
        assert memory.diary() == sorted(memory.diary())
    assert [each for each in words if each not in written] == []
    assert len(words) == 4 * 5 * 4
    assert sorted(entries) == sorted(f"Entry dw{w}n{n}x.\n" for w in range(4) for n in range(5))
    for writer in range(4):
        mine = [entry for entry in entries if f"dw{writer}" in entry]
        assert mine == sorted(mine)


# What is kept beside the documents: each is changed by a function that has it to itself.


def test_a_token_of_a_name_is_made_once(place: str, tmp_path: Path) -> None:
    made: list[str] = []
    refused: list[CommonplaceError] = []

    def opened() -> AccessTokens:
        if "://" not in place:
            return AccessTokens(FilePasses(tmp_path / "tokens.json"), clock=Clock())
        return AccessTokens(passes_of([place], clock=Clock()), clock=Clock())

    with Memory.open(place, environ={}, create=True):
        pass

    def add(writer: int) -> None:
        tokens = opened()
        for number in range(10):
            try:
                made.append(tokens.add(f"{place} {number}", "read"))
            except CommonplaceError as error:
                refused.append(error)
            made.append(tokens.add(f"{place} {number} {writer}", "read"))
        tokens.close()

    at_once(add, WRITERS)
    tokens = opened()
    names = [each.name for each in tokens.named() if each.name.startswith(place)]
    assert len(made) == len(names) == len(set(names)) == 10 + 10 * WRITERS
    assert all(tokens.find(token) for token in made)
    tokens.close()


def test_work_that_is_left_while_older_work_is_done_is_not_taken_away(tmp_path: Path) -> None:
    spool.leave(tmp_path, "s", {"number": 1})
    done = []
    for work in spool.waiting(tmp_path):
        done.append(work["number"])
        if work["number"] == 1:
            spool.leave(tmp_path, "s", {"number": 2})
    done += [work["number"] for work in spool.waiting(tmp_path)]
    assert done == [1, 2]
    assert list(spool.waiting(tmp_path)) == []


def test_work_whose_doer_died_is_done_by_the_next(tmp_path: Path) -> None:
    spool.leave(tmp_path, "s", {"number": 1})
    assert next(iter(spool.waiting(tmp_path))) == {"number": 1}
    assert list(spool.waiting(tmp_path)) == [{"number": 1}]
    assert list(spool.waiting(tmp_path)) == []


def test_tokens_of_a_model_are_counted_by_all_who_spend_them(place: str) -> None:
    def reserve(memory: Memory, writer: int, number: int) -> int:
        spent = Spent(memory.notes, limit=50, clock=memory.clock)
        granted = 0
        for _ in range(5):
            try:
                spent.reserve(10)
            except SummarizerFailed:
                continue
            spent.settle(10, 5)
            granted += 5
        return granted

    outcome = raced(lambda writer: Memory.open(place, environ={}, create=True), reserve)
    with Memory.open(place, environ={}, create=True) as memory:
        counted = Spent(memory.notes, limit=50, clock=memory.clock).spent()
    assert sum(outcome.done) == counted <= 50


def test_no_line_of_a_log_is_lost_when_it_is_shortened(place: str) -> None:
    """But for those that it is too long for: the last are kept."""

    def add(memory: Memory, writer: int, number: int) -> None:
        for line in range(20):
            memory.notes.add("some.log", f"{writer} {number} {line}", most=60, kept=1000)

    raced(lambda writer: Memory.open(place, environ={}, create=True), add)
    with Memory.open(place, environ={}, create=True) as memory:
        lines = (memory.notes.read("some.log") or b"").decode().splitlines()
    wanted = [f"{w} {n} {i}" for w in range(WRITERS) for n in range(ROUNDS) for i in range(20)]
    assert sorted(lines) == sorted(wanted)


def test_a_note_is_changed_from_what_it_says_then(place: str) -> None:
    def count(memory: Memory, writer: int, number: int) -> None:
        for _ in range(20):
            memory.notes.change("count", lambda data: str(int(data or b"0") + 1).encode())

    raced(lambda writer: Memory.open(place, environ={}, create=True), count)
    with Memory.open(place, environ={}, create=True) as memory:
        assert memory.notes.read("count") == str(20 * EVERY).encode()


def test_a_clients_file_that_is_saved_while_setup_writes_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client saves after the check and before our text is in place."""
    path = tmp_path / "client.json"
    path.write_text("{}", encoding="utf-8")
    change = FileChange(path, "{}", '{"ours": 1}', Shape(Kind.JSON))
    keep = apply._keep

    def kept(*given: Any) -> None:
        keep(*given)
        path.write_text('{"theirs": 1}', encoding="utf-8")

    monkeypatch.setattr(apply, "_keep", kept)
    with pytest.raises(Conflict, match="changed meanwhile"):
        apply.set_up(SetupPlan("claude", (change,)), state=tmp_path / "state")
    assert path.read_text(encoding="utf-8") == '{"theirs": 1}'
    assert apply.load(tmp_path / "state", "claude") == {}
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".client")] == []


def test_two_setups_at_once_leave_one_receipt_of_what_was_there_before(tmp_path: Path) -> None:
    path = tmp_path / "client.json"
    path.write_text("{}", encoding="utf-8")
    done: list[int] = []

    def set_up(writer: int) -> None:
        change = FileChange(path, "{}", f'{{"ours": {writer}}}', Shape(Kind.JSON))
        try:
            apply.set_up(SetupPlan("claude", (change,)), state=tmp_path / "state")
        except Conflict:
            return
        done.append(writer)

    at_once(set_up, WRITERS)
    [winner] = done
    text = path.read_text(encoding="utf-8")
    assert text == f'{{"ours": {winner}}}'
    [receipt] = apply.load(tmp_path / "state", "claude").values()
    assert (receipt.fits(text), receipt.previous(text)) == (True, "{}")


def test_file_notes_of_a_directory_that_is_not_there_yet_can_be_changed(tmp_path: Path) -> None:
    notes = FileNotes(tmp_path)
    notes.change("deep/count", lambda data: b"1")
    assert notes.read("deep/count") == b"1"
    assert notes.names("deep") == ["deep/count"]
