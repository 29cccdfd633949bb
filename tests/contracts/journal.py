"""What every journal must do, wherever its entries are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from commonplace.storage.journal import BLANK, Append, Cut, Entry, Gone, Journal, Op, Text
from commonplace.storage.journal_format import long_parts

AT = "2026-11-15T14:30:00.000Z"
WORDS = st.text(st.characters(codec="utf-8"), max_size=20)
CHANGES = st.one_of(
    st.builds(Append, WORDS, st.integers(0, 9), WORDS, st.integers(0, 9), st.booleans()),
    st.builds(
        Cut,
        WORDS,
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=2).map(tuple),
    ),
    st.builds(Text, WORDS, WORDS),
    st.builds(Gone, WORDS),
)
ENTRIES = st.builds(
    Entry,
    st.just(AT),
    st.sampled_from([str(op) for op in Op]),
    st.lists(CHANGES, max_size=3).map(tuple),
    st.lists(WORDS, max_size=2).map(tuple),
    st.lists(WORDS, max_size=2).map(tuple),
    st.lists(WORDS, max_size=2).map(tuple),
    st.dictionaries(WORDS, st.dictionaries(WORDS, WORDS, max_size=2), max_size=2),
    WORDS,
    WORDS,
    WORDS,
    st.integers(-1, 9),
)


def entry(text: str, *ids: str, op: str = Op.ADD, **data: str) -> Entry:
    return Entry(AT, op, (Append("MEMORY.md", 0),), ids, (), (text,) if text else (), data)


def placed(entry: Entry) -> tuple[int, int]:
    return entry.position, entry.end


class JournalContract:
    """Subclasses say how one is made, and how the same one is opened by someone else."""

    def fresh(self) -> Journal:
        raise NotImplementedError

    def again(self, journal: Journal) -> Journal:
        raise NotImplementedError

    def lock(self, journal: Journal) -> AbstractContextManager[None]:
        """What a writer holds."""
        return nullcontext()

    def write(self, journal: Journal, *entries: Entry) -> list[Entry]:
        with self.lock(journal):
            written = [journal.append(each) for each in entries]
            journal.sync()
        return written

    @pytest.fixture
    def journal(self) -> Iterator[Journal]:
        journal = self.fresh()
        yield journal
        journal.close()

    def test_entries_follow_each_other_without_a_gap(self, journal: Journal) -> None:
        one, two, three = self.write(journal, entry("a"), entry("bb"), entry("ccc"))
        assert one.end == two.position
        assert two.end == three.position
        assert three.end == journal.end()
        assert list(journal.entries()) == [one, two, three]
        assert [placed(each) for each in journal.entries()] == [*map(placed, (one, two, three))]

    def test_entries_are_told_from_a_position_on(self, journal: Journal) -> None:
        one, two, three = self.write(journal, entry("a"), entry("b"), entry("c"))
        assert list(journal.entries(since=one.end)) == [two, three]
        assert list(journal.entries(since=three.end)) == []

    def test_someone_else_reads_the_same(self, journal: Journal) -> None:
        written = self.write(journal, entry("a"), entry("b"))
        other = self.again(journal)
        assert (list(other.entries()), other.end()) == (written, journal.end())
        assert other.mark() == journal.mark() != ""
        [more] = self.write(other, entry("c"))
        assert list(journal.entries()) == [*written, more]
        other.close()

    def test_two_journals_are_two(self, journal: Journal) -> None:
        other = self.fresh()
        assert other.mark() != journal.mark()
        self.write(journal, entry("a"))
        assert list(other.entries()) == []
        other.close()

    def test_any_entry_is_read_as_it_was_written(self, journal: Journal) -> None:
        @settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
        @given(ENTRIES)
        def every(told: Entry) -> None:
            start = journal.end()
            [written] = self.write(journal, told)
            [read] = list(journal.entries(since=start))
            assert read == written == replace(told, position=read.position, end=read.end)

        every()
        assert journal.damaged() == 0

    def test_an_entry_whose_long_parts_were_written_before_is_the_same(
        self, journal: Journal
    ) -> None:
        one = entry('- caf\u00e9 "\n', "mem-1")
        with self.lock(journal):
            plain = journal.append(one)
            written = journal.append(one, written=long_parts(one))
        assert written.end - written.position == plain.end - plain.position
        first, second = journal.entries()
        assert replace(first, position=-1, end=-1) == replace(second, position=-1, end=-1) == one

    def test_entries_are_found_by_what_stands_in_them(self, journal: Journal) -> None:
        one, _, three = self.write(
            journal, entry("a quince"), entry("a pear"), entry("quinces \U0001f9e0", "mem-1")
        )
        assert list(journal.about("quince")) == [one, three]
        assert list(journal.about("quince", since=one.end)) == [three]
        assert list(journal.about("mem-1")) == [three]
        assert list(journal.about("\U0001f9e0")) == [three]
        assert list(journal.about("plum")) == []

    def test_entries_that_carry_data_are_found(self, journal: Journal) -> None:
        _, told, last = self.write(
            journal, entry("a"), entry("b", kind="note"), entry("c", kind="fact")
        )
        assert list(journal.about('"data":')) == [told, last]
        assert list(journal.about('"data":', since=told.end)) == [last]

    def test_thousands_of_entries_are_told_in_order(self, journal: Journal) -> None:
        written = self.write(journal, *(entry(f"number {number}") for number in range(2500)))
        assert list(journal.entries()) == written
        assert len(list(journal.about("number 1"))) == 1111

    def test_what_could_not_be_done_is_taken_back(self, journal: Journal) -> None:
        one, two = self.write(journal, entry("a"), entry("b"))
        with self.lock(journal):
            journal.take_back(two.position)
        assert (list(journal.entries()), journal.end()) == ([one], one.end)
        [three] = self.write(journal, entry("c"))
        assert three.position == one.end

    def test_texts_are_kept_by_their_mark(self, journal: Journal) -> None:
        texts = [b"", b"one\n", b"\x00\xff" * 5000]
        with self.lock(journal):
            names = [journal.keep(text) for text in (*texts, b"one\n")]
        assert names[1] == names[3]
        assert [journal.version(name) for name in names[:3]] == texts
        assert list(self.again(journal).versions()) == sorted(set(names))
        assert journal.version("0" * 16) is None

    def test_what_is_forgotten_is_blank_and_everything_else_stays_in_its_place(
        self, journal: Journal
    ) -> None:
        one, two, three = self.write(
            journal,
            entry("a quince\n", "mem-1", **{"mem-1": "kept apart"}),
            entry("a pear\n", "mem-2"),
            entry("text with a quince inside\n"),
        )
        with self.lock(journal):
            kept, other = journal.keep(b"- a quince\n- a plum\n"), journal.keep(b"- a plum\n")
            changed = journal.scrub(
                ["mem-1"],
                needles=["a quince"],
                clean=lambda text: text.replace(b"a quince", BLANK * 8),
            )
        assert changed == 3
        found = list(journal.entries())
        assert [placed(each) for each in found] == [placed(each) for each in (one, two, three)]
        assert found[1] == two
        assert (found[0].lines, found[0].data) == (("\x7f" * 9,), {})
        assert found[2].lines == (f"text with {BLANK.decode() * 8} inside\n",)
        assert list(journal.about("quince")) == []
        assert journal.version(kept) == b"- " + BLANK * 8 + b"\n- a plum\n"
        assert journal.version(other) == b"- a plum\n"

    def test_nothing_is_damaged(self, journal: Journal) -> None:
        self.write(journal, entry("a"))
        assert journal.damaged() == 0

    def test_a_journal_goes_on_with_the_lines_of_another_one(self, journal: Journal) -> None:
        written = self.write(journal, *(entry(f"zwei ☂ {number}") for number in range(5)))
        lines, other = list(journal.lines()), self.fresh()
        self.write(other, entry("something else"))
        for some in (lines[:3], lines[3:5], lines[4:]):
            with self.lock(other):
                other.take_in(some)
        assert (list(other.lines()), list(other.entries())) == (lines, written)
        assert (other.end(), other.damaged()) == (journal.end(), 0)
        assert list(other.lines(since=lines[2][0])) == lines[2:]
        [more] = self.write(other, entry("more"))
        assert more.position == journal.end()
        again = self.again(other)
        assert (list(again.entries()), again.mark()) == ([*written, more], other.mark())
        for each in (again, other):
            each.close()

    def test_lines_that_leave_a_gap_are_not_taken_in(self, journal: Journal) -> None:
        self.write(journal, entry("a"), entry("b" * 1000), entry("c"))
        other = self.fresh()
        with pytest.raises(ValueError, match="ends before"), self.lock(other):
            other.take_in(list(journal.lines())[2:])
        assert list(other.entries()) == []
        other.close()

    def test_a_kept_text_is_taken_in_as_it_is_by_its_name(self, journal: Journal) -> None:
        with self.lock(journal):
            name = journal.keep(b"- a quince\n")
            journal.scrub([], needles=["quince"], clean=lambda text: text.replace(b"qu", BLANK * 2))
        other, data = self.fresh(), journal.packed(name) or b""
        with self.lock(other):
            other.keep(b"- a quince\n")
            other.take_in_version(name, data)
        assert other.version(name) == journal.version(name) == b"- a " + BLANK * 2 + b"ince\n"
        assert (other.packed(name), other.packed("0" * 16)) == (data, None)
        other.close()
