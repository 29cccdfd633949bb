"""What every index must do, whatever it is kept in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from commonplace.markdown.layouts import LAYOUTS
from commonplace.model.files import Known, Signature
from commonplace.model.records import Hit, Place, Record, wording_key
from commonplace.search.encoders.hashed import HashedEncoder
from commonplace.search.index import Asked, Candidate, Index, Query
from commonplace.search.typos import readings

RANK = LAYOUTS["native"].rank
MEMORY, DAILY, OTHER = "MEMORY.md", "memory/2026-11-15.md", "notes/home.md"


def record(number: int, text: str = "", **data: Any) -> Record:
    stamp = f"2026-11-{1 + number // 1440 % 28:02}T{number // 60 % 24:02}:{number % 60:02}:00.000Z"
    fields = {"kind": "fact", "timestamp": stamp, "text": text or f"Text number {number}"}
    return Record(id=f"mem-{number:05}", **{**fields, **data})


def known(lines: int = 1, **signature: Any) -> Known:
    return Known(
        Signature(**{"size": 10 * lines, "mtime_ns": 5, "inode": 7, **signature}), lines, 3
    )


def fill(index: Index, *records: Record, document: str = MEMORY) -> None:
    entries = [(each, line) for line, each in enumerate(records, 1)]
    index.put(document, entries, known=known(len(entries)))


def ids(hits: list[Hit]) -> list[str]:
    return [hit.record.id for hit in hits]


def found(index: Index, text: str = "", **query: Any) -> list[str]:
    return ids(index.search(Query(text, **query)))


SCRIPTS = [
    ("Prefers dark mode in all editors", "preferring editor", "light"),
    ("Elle préfère le café crème", "CAFE CREME", "thé"),
    ("cafe\u0301 noir", "café", "rouge"),
    ("Straße und Übergröße", "ubergroße", "gasse"),
    ("Он живёт в Санкт-Петербурге", "петербурге", "москва"),
    ("Он живёт в Санкт-Петербурге", "живет", "тел"),
    ("أحمد يحب القهوة العربية", "القهوة", "الشاي"),
    ("مُحَمَّدٌ يَكْتُبُ", "محمد يكتب", "يقرأ"),
    ("הוא גר בתל אביב", "אביב", "חיפה"),
    ("वह हिन्दी बोलता है", "हिन्दी", "हनद"),
    ("Ο Γιώργος μένει στην Αθήνα", "αθηνα", "Πάτρα"),
    ("私は東京に住んでいます", "東京", "大阪"),
    ("我喜欢喝绿茶", "绿茶", "咖啡"),
    ("我喜欢喝绿茶", "茶", "水"),
    ("그는 서울에서 일한다", "서울", "부산"),
    ("เขาชอบดื่มกาแฟเย็น", "กาแฟ", "น้ำผลไม้"),
    ("ພວກເຮົາຢູ່ວຽງຈັນ", "ວຽງຈັນ", "ໜັງສື"),
    ("Uses Python3.12 and snake_case names", "snake_case", "camel"),
    ("Met on 2026-11-15", "2026-11-15", "2025-01-02"),
    ("The party was great 🎉🎉", "🎉", "🎈"),
]
HOSTILE = [
    *("", " ", "\n\n", "\0", "a\0b", '"', '""', '"a', "'", "--", ";", "*", "a*", "^a", "a:b"),
    *("text:", "words : a", "NEAR(a b)", "NEAR/2", "AND", "OR", "NOT", "a AND", "AND AND"),
    *("a NOT NOT b", "(", ")", "((a)", "{a b}:c", "-a", "+a", "a+b", "%", "_", "\\", '\\"'),
    *("🎉", "🎉 a", "\u200b", "\u202e", "\ufffd", "\ud800", "a\udfffb", "\x1b[31m", "\u0301"),
    *("fts", "rank", "the of and", "'; DROP TABLE records; --", '["a"]', "json_each(?)", "฿"),
    *("a" * 10_000, "a " * 10_000, "é" * 5000, "東" * 5000, "กา" * 3000, "\u0301" * 5000),
    *("ー", "０", "ﬃ", "İ", "١٢٣", "²", "\u0940", "\u0e31", "2026-11-15", "2026-11-1500"),
]


class IndexContract:
    """Subclass it, give `fresh`, and every test below holds for that index."""

    def fresh(self) -> Index:
        raise NotImplementedError

    @pytest.fixture
    def index(self) -> Iterator[Index]:
        index = self.fresh()
        yield index
        assert index.healthy() == ""
        index.close()

    def test_a_new_index_knows_nothing(self, index: Index) -> None:
        assert (index.level(), index.mark(), index.known(), index.dump()) == (0, "", {}, [])
        assert (index.known_of(MEMORY), index.get("mem-1"), index.search(Query())) == (
            None,
            None,
            [],
        )

    def test_level_and_mark_are_kept_apart(self, index: Index) -> None:
        index.set_mark("one")
        index.set_level(1 << 40)
        assert (index.level(), index.mark(), index.known()) == (1 << 40, "one", {})
        index.set_mark("two")
        assert (index.level(), index.mark()) == (1 << 40, "two")

    def test_what_is_known_of_a_document_comes_back_whole(self, index: Index) -> None:
        first = known(4, inode=(1 << 64) - 1, mtime_ns=1_800_000_000_123_456_789, racy=True)
        index.note(MEMORY, known=first)
        index.note(OTHER, known=known(2, digest="ab"))
        assert index.known() == {MEMORY: first, OTHER: known(2, digest="ab")}
        assert index.known_of(MEMORY) == first

    def test_a_record_comes_back_as_it_was_told(self, index: Index) -> None:
        whole = Record(
            id="mem-1", kind="summary", text='One\n"two" \\ <!-- {} --> 🎉', timestamp="2026-11-15",
            tags=("a", 'b "c", d', "é"), supersedes="mem-0", session="s", group="g", channel="c",
            username="alice", confidence=0.25, sensitivity="public", origin="tool",
            valid_from="2026-01-01", valid_to="2027-01-01", sources=("mem-8", "mem-9"),
            replaced_by="mem-7", seen=("2026-11-16 s",),
        )  # fmt: skip
        index.add(MEMORY, [(whole, 3)], known=known())
        assert index.get("mem-1") == Hit(whole, (Place(MEMORY, 3),), 0.0)
        assert index.search(Query("two", include_superseded=True))[0].record == whole

    def test_added_records_are_found_at_once(self, index: Index) -> None:
        for number in range(150):
            index.add(MEMORY, [(record(number, f"word{number}"), number)], known=known(number))
            assert found(index, f"word{number}") == [f"mem-{number:05}"]
        assert index.known_of(MEMORY) == known(149)

    def test_a_document_put_in_slices_is_the_document_put_at_once(self, index: Index) -> None:
        old = [(record(number), number) for number in range(10)]
        new = [(record(number), number // 2) for number in range(1, 10, 2)]
        index.put(MEMORY, new, known=known(5))
        wanted = index.dump()
        index.put(MEMORY, old, known=known(10))
        for first in range(0, 12, 3):
            part = [(told, line) for told, line in new if first <= line < first + 3]
            index.put_lines(MEMORY, part, first=first, last=first + 2)
        index.note(MEMORY, known=known(5))
        assert index.dump() == wanted

    def test_a_record_in_two_documents_is_one_hit_with_two_places(self, index: Index) -> None:
        told = record(1, "Likes tea")
        for document, line in ((DAILY, 4), (OTHER, 2), (MEMORY, 9)):
            index.add(document, [(told, line)], known=known())
        places = (Place(MEMORY, 9), Place(OTHER, 2), Place(DAILY, 4))
        assert index.search(Query("tea"))[0].places == places
        assert index.documents_of(told.id) == places
        for name in (place.document for place in places):
            others = {place.document for place in places} - {name}
            assert index.standing_outside(name) == ({told.id} if others else set())
        assert index.count(Query()) == 1

    def test_a_failed_transaction_leaves_nothing(self, index: Index) -> None:
        fill(index, record(1))
        before = index.dump()

        def fail() -> None:
            with index.transaction():
                fill(index, record(2, "quince"), record(3))
                index.drop(MEMORY)
                index.set_level(9)
                raise ZeroDivisionError

        pytest.raises(ZeroDivisionError, fail)
        assert (index.dump(), index.level(), found(index, "quince")) == (before, 0, [])

    def test_a_transaction_within_another_joins_it(self, index: Index) -> None:
        def fail() -> None:
            with index.transaction():
                with index.transaction():
                    fill(index, record(1))
                raise ZeroDivisionError

        pytest.raises(ZeroDivisionError, fail)
        assert index.dump() == []
        with index.transaction(), index.transaction():
            fill(index, record(1, "quince"))
            assert found(index, "quince") == ["mem-00001"]
        assert index.count(Query()) == 1

    def test_what_is_added_in_a_transaction_is_found_in_it_and_after_it(self, index: Index) -> None:
        with index.transaction():
            index.add(MEMORY, [(record(1, "quince"), 1)], known=known(1))
            index.add(DAILY, [(record(1, "quince"), 4)], known=known(4))
            assert (index.known_of(DAILY), index.known_of(OTHER)) == (known(4), None)
            assert found(index, "quince") == ["mem-00001"]
            index.add(MEMORY, [(record(2, "quince"), 2), (record(1, "tea"), 3)], known=known(3))
        assert found(index, "quince") == ["mem-00002"]
        assert index.documents_of("mem-00001") == (
            Place(MEMORY, 1), Place(MEMORY, 3), Place(DAILY, 4),
        )  # fmt: skip
        assert index.known() == {MEMORY: known(3), DAILY: known(4)}

    def test_put_makes_a_document_hold_exactly_this(self, index: Index) -> None:
        fill(index, record(1), record(2), record(3))
        fill(index, record(3), record(4), record(2, "Changed"))
        assert found(index) == ["mem-00004", "mem-00003", "mem-00002"]
        assert (found(index, "changed"), index.get("mem-00001")) == (["mem-00002"], None)
        assert index.documents_of("mem-00003") == (Place(MEMORY, 1),)

    def test_put_of_a_long_document_moves_what_moved(self, index: Index) -> None:
        records = [record(number) for number in range(5000)]
        fill(index, *records)
        fill(index, record(9999, "New on top"), *records[:3000], *records[3001:])
        assert index.documents_of("mem-02999") == (Place(MEMORY, 3001),)
        assert index.documents_of("mem-04999") == (Place(MEMORY, 5000),)
        assert (index.get("mem-03000"), index.count(Query())) == (None, 5000)

    def test_an_added_line_takes_the_place_of_what_stood_there(self, index: Index) -> None:
        fill(index, record(1), record(2))
        index.add(MEMORY, [(record(3), 2)], known=known(2))
        assert found(index) == ["mem-00003", "mem-00001"]

    def test_drop_forgets_what_stood_only_there(self, index: Index) -> None:
        fill(index, record(1), record(2))
        fill(index, record(2), record(3), document=DAILY)
        index.drop(MEMORY)
        assert (found(index), list(index.known())) == (["mem-00003", "mem-00002"], [DAILY])
        index.drop("never/there.md")

    def test_without_text_the_newest_come_first(self, index: Index) -> None:
        same = "2026-11-15T14:30:00.000Z"
        told = [record(5), record(9), record(1, timestamp=same), record(2, timestamp=same)]
        fill(index, *told)
        assert found(index) == ["mem-00002", "mem-00001", "mem-00009", "mem-00005"]
        assert found(index, "  \n", limit=2) == ["mem-00002", "mem-00001"]
        assert {hit.score for hit in index.search(Query())} == {0.0}

    def test_better_matches_score_higher_and_come_first(self, index: Index) -> None:
        texts = [
            "Alice plays the cello",
            "Alice plays",
            "Bob is a bear",
            "Cello",
            "cello cello cello alice",
        ]
        fill(
            index,
            *(record(n, text) for n, text in enumerate(texts)),
            *(record(n) for n in range(9, 30)),
        )
        hits = index.search(Query("alice cello"))
        scores = [hit.score for hit in hits]
        assert set(ids(hits)) == {"mem-00000", "mem-00001", "mem-00003", "mem-00004"}
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score < 1 for score in scores)
        assert set(ids(hits)[:2]) == {"mem-00000", "mem-00004"}

    def test_level_matches_come_newest_first_however_they_were_told(self, index: Index) -> None:
        told = [record(number, "same words") for number in (3, 8, 1, 6, 2, 7, 4, 5)]
        fill(index, *told)
        assert found(index, "same", limit=3) == ["mem-00008", "mem-00007", "mem-00006"]
        same = "2026-11-15T14:30:00.000Z"
        fill(index, *(replace(each, timestamp=same) for each in told))
        assert found(index, "same", limit=3) == ["mem-00001", "mem-00002", "mem-00003"]

    def test_limits_of_nothing_and_of_more_than_there_is(self, index: Index) -> None:
        fill(index, record(1, "tea"), record(2, "tea"))
        for text in ("", "tea"):
            assert found(index, text, limit=0) == []
            assert len(found(index, text, limit=1 << 30)) == 2
            assert index.count(Query(text, limit=0)) == 2

    @pytest.mark.parametrize(("text", "asked", "other"), SCRIPTS)
    def test_every_script_is_found(self, index: Index, text: str, asked: str, other: str) -> None:
        fill(index, record(1, "Nothing like it"), record(2, text))
        assert found(index, asked) == ["mem-00002"]
        assert found(index, other) == []

    def test_tags_who_and_when_are_found_as_words(self, index: Index) -> None:
        told = record(1, "Text", tags=("typescript", "日本語"), username="alice")
        fill(index, told, record(1500, "Other", timestamp="2025-03-04T05:06:07.000Z"))
        for asked in ("TypeScript", "日本", "alice", "2026-11-01", "2026-11", "November"):
            assert found(index, asked) == ["mem-00001"], asked

    @pytest.mark.parametrize(
        ("text", "asked", "other"),
        [
            ("Allergic to penicillin", "allergies", "Alliances"),
            ("Went to the photographer", "go photography", "Photons gone wild"),
            ("The key is maxRetryCount", "retry count", "It was reset"),
            ("The flag dark-mode", "darkMode", "Marked lines"),
            ("Scale up to 5kg", "5 kg", "Scale up to 5,000 km"),
            ("Waits 30 minutes", "30min", "Waits in the mine"),
            ("Since version 2", "v2", "Since we were three"),
            ("PostgreSQL 17", "postgres", "Posted 17"),
            ("Script rotate_logs.sh", "logs", "Rotten blogs"),
            ("The children ran", "child runs", "Childish runes"),
        ],
    )
    def test_words_are_found_by_their_kin_and_names_by_their_parts(
        self, index: Index, text: str, asked: str, other: str
    ) -> None:
        fill(index, record(1, other), record(2, text))
        assert found(index, asked)[:1] == ["mem-00002"]

    def test_stop_words_count_only_when_there_is_nothing_else(self, index: Index) -> None:
        fill(index, record(1, "the tea"), record(2, "the who"))
        assert found(index, "what is the tea") == ["mem-00001"]
        assert found(index, "the who") == ["mem-00002", "mem-00001"]

    def test_all_tags_must_be_there_exactly(self, index: Index) -> None:
        fill(
            index,
            record(1, tags=("coding", "typescript")),
            record(2, tags=("coding",)),
            record(3, tags=("codings", "typescript")),
            record(4, tags=('x,"coding', 'typescript"')),
            record(5, tags=(",", "é")),
        )
        assert found(index, tags=("coding",)) == ["mem-00002", "mem-00001"]
        assert found(index, tags=("typescript", "coding")) == ["mem-00001"]
        assert found(index, tags=(",",)) == found(index, tags=("é",)) == ["mem-00005"]
        assert found(index, "text", tags=("coding",)) == ["mem-00002", "mem-00001"]
        assert index.count(Query(tags=("none",))) == 0

    def test_kinds_session_and_documents_narrow_a_search(self, index: Index) -> None:
        fill(index, record(1, kind="note"), record(2, kind="preference", session="s1"))
        fill(
            index,
            record(3, kind="context", session="s2"),
            record(2, kind="preference", session="s1"),
            document=DAILY,
        )
        for text in ("", "text"):
            assert found(index, text, kinds=("note", "context")) == ["mem-00003", "mem-00001"]
            assert found(index, text, session="s1") == ["mem-00002"]
            assert found(index, text, documents=(DAILY,)) == ["mem-00003", "mem-00002"]
            assert found(index, text, documents=(DAILY, MEMORY), session="s2") == ["mem-00003"]
            assert index.count(Query(text, documents=(MEMORY,))) == 2

    def test_words_are_found_in_texts_and_tags_be_they_parts_of_others(self, index: Index) -> None:
        fill(
            index,
            record(1, "The Garden gate"),
            record(2, "Roses", tags=("garden",)),
            record(3, "Über den Fluß"),
        )
        assert found(index, containing=("GARD",)) == ["mem-00002", "mem-00001"]
        assert found(index, containing=("gard", "gate")) == ["mem-00001"]
        assert found(index, containing=("über",)) == ["mem-00003"]
        assert found(index, containing=("gate", "über")) == []

    def test_records_are_found_by_who_and_what_they_are_about(self, index: Index) -> None:
        fill(
            index,
            record(1, username="ann", group="boat"),
            record(2, tags=("person:ann", "project:house")),
            record(3, username="anna", tags=("boat",), origin="owner"),
        )
        assert found(index, people=("ann",)) == ["mem-00002", "mem-00001"]
        assert found(index, projects=("boat", "house")) == ["mem-00002", "mem-00001"]
        assert found(index, people=("ann",), projects=("boat",)) == ["mem-00001"]
        assert found(index, origins=("owner",)) == ["mem-00003"]

    def test_records_come_in_the_order_that_is_asked_for_a_page_at_a_time(
        self, index: Index
    ) -> None:
        fill(
            index,
            record(1, "A long text of many words", seen=("1 a", "2 b")),
            record(2, "Short", seen=("1 a",)),
            record(3, "A text"),
        )
        for order, wanted in (
            ("newest", [3, 2, 1]),
            ("oldest", [1, 2, 3]),
            ("longest", [1, 3, 2]),
            ("repeated", [1, 2, 3]),
        ):
            every = [f"mem-{number:05}" for number in wanted]
            assert found(index, order=order) == every
            assert found(index, order=order, limit=1, offset=1) == every[1:2]
        assert found(index, offset=3) == []

    def test_records_are_tallied_by_what_lists_are_sorted_out_by(self, index: Index) -> None:
        fill(
            index,
            record(1, tags=("a", "b"), group="boat", username="ann", origin="web"),
            record(2),
            record(3),
            record(4, kind="note"),
            record(5, kind="note", supersedes="mem-00004"),
        )
        told = sorted(index.tallies(Query(kinds=("fact", "note"))))
        assert told == [
            ("fact", (), "", "", "agent", 2),
            ("fact", ("a", "b"), "boat", "ann", "web", 1),
            ("note", (), "", "", "agent", 1),
        ]
        assert sum(each.number for each in index.tallies(Query(tags=("a",)))) == 1

    def test_kinds_are_counted_the_most_frequent_first(self, index: Index) -> None:
        fill(index, record(1, kind="note"), record(2, kind="fact"), record(3, kind="note"))
        fill(index, record(2, kind="context"), document=DAILY)
        assert list(index.kinds().items()) == [("note", 2), ("fact", 1)]

    def test_passages_are_left_out_on_demand(self, index: Index) -> None:
        fill(index, record(1, "tea"), record(2, "tea", kind="passage"))
        assert found(index, "tea") == ["mem-00002", "mem-00001"]
        assert found(index, "tea", include_passages=False) == ["mem-00001"]

    def test_superseded_records_are_shown_on_demand(self, index: Index) -> None:
        fill(
            index,
            record(1, "tea"),
            record(2, "tea", supersedes="mem-00001"),
            record(3, "tea", supersedes="gone"),
        )
        for text in ("", "tea"):
            assert found(index, text) == ["mem-00003", "mem-00002"]
            assert found(index, text, include_superseded=True)[2:] == ["mem-00001"]
            assert index.count(Query(text)) == 2
        assert (index.children("mem-00001"), index.children("mem-00003")) == (("mem-00002",), ())
        assert index.replaced(["mem-00001", "mem-00003", ""]) == {"mem-00001"}
        assert index.count(Query(kinds=("fact",), include_superseded=True)) == 3
        fill(index, record(1, "tea"))
        assert (found(index, "tea"), index.children("mem-00001")) == (["mem-00001"], ())

    def test_several_records_are_got_at_once(self, index: Index) -> None:
        one, two = record(1, "tea", tags=("a", "b")), record(2, "coffee", supersedes="mem-00001")
        fill(index, one, two)
        assert index.get_all(["mem-00002", "mem-00001", "none"]) == {
            "mem-00001": one,
            "mem-00002": two,
        }
        assert index.get_all([]) == {}

    def test_a_record_that_says_it_was_replaced_is_shown_on_demand(self, index: Index) -> None:
        old, other = record(1, "tea", replaced_by="gone"), record(2, "tea")
        fill(index, old, other)
        for text in ("", "tea"):
            assert found(index, text) == ["mem-00002"]
            assert sorted(found(index, text, include_superseded=True)) == ["mem-00001", "mem-00002"]
        assert (index.count(Query()), index.count(Query(include_superseded=True))) == (1, 2)
        assert index.replaced(["mem-00001", "mem-00002", "gone"]) == {"mem-00001"}
        assert index.marked(["gone", "mem-00002"]) == [old]
        told = {it.id: bool(it.superseded) for it in index.candidates(Query("tea"))}
        assert told == {"mem-00002": False}
        every = index.candidates(Query("tea", include_superseded=True))
        assert {it.id: bool(it.superseded) for it in every} == {
            "mem-00001": True,
            "mem-00002": False,
        }

    def test_the_same_words_of_a_kind_that_lasts_have_one_number(self, index: Index) -> None:
        one, two = record(1, "Green  tea."), record(2, "green tea", supersedes="x")
        fill(index, one, two, record(3, "green tea", kind="note"), record(4, "green teas"))
        assert index.saying(wording_key(one)) == index.saying(wording_key(two)) == [one, two]
        fill(index, one, two, record(5, "black tea", supersedes="mem-00001"))
        assert index.saying(wording_key(one)) == [two]
        assert index.saying(0) == []

    def test_ids_are_found_by_a_part_of_them(self, index: Index) -> None:
        fill(index, record(1), record(2), record(12), document=DAILY)
        fill(index, record(1), record(2))
        assert index.ids_with("mem-0000", limit=9) == ["mem-00001", "mem-00002"]
        assert index.ids_with("0012", limit=9) == ["mem-00012"]
        assert index.ids_with("mem", limit=2) == ["mem-00001", "mem-00002"]
        for nothing in ("%", "_", "MEM", "mem-1", "\0", "\ud800"):
            assert index.ids_with(nothing, limit=9) == []

    def test_a_record_does_not_supersede_itself(self, index: Index) -> None:
        fill(index, record(1, supersedes="mem-00001"))
        assert (found(index), index.children("mem-00001")) == (["mem-00001"], ())

    def test_secrets_are_shown_on_demand(self, index: Index) -> None:
        fill(
            index,
            record(1, "the code is tea", sensitivity="secret"),
            record(2, "tea", sensitivity="sensitive"),
        )
        for text in ("", "tea"):
            assert found(index, text) == ["mem-00002"]
            assert set(found(index, text, include_secret=True)) == {"mem-00001", "mem-00002"}
            assert index.count(Query(text)) == 1

    def test_records_are_found_by_their_sensitivity_and_by_who_they_are_not_from(
        self, index: Index
    ) -> None:
        fill(
            index,
            record(1, "tea", sensitivity="secret", origin="owner"),
            record(2, "tea", origin="web"),
            record(3, "tea", origin="agent"),
            record(4, "tea", origin="somebody"),
        )
        for text in ("", "tea"):
            secret = found(index, text, sensitivity="secret", include_secret=True)
            assert secret == ["mem-00001"]
            assert found(index, text, sensitivity="secret") == []
            doubtful = found(index, text, without_origins=("owner", "agent"))
            assert sorted(doubtful) == ["mem-00002", "mem-00004"]

    def test_of_two_tellings_the_more_trusted_document_is_shown(self, index: Index) -> None:
        old, new = record(1, "likes tea"), record(1, "likes coffee", tags=("drink",))
        fill(index, old, document=DAILY)
        fill(index, new)
        hit = Hit(new, (Place(MEMORY, 1), Place(DAILY, 1)), 0.0)
        assert (index.get("mem-00001"), index.search(Query())) == (hit, [hit])
        assert (found(index, "coffee"), found(index, "tea")) == (["mem-00001"], [])
        assert found(index, documents=(DAILY,)) == ["mem-00001"]
        assert (index.count(Query()), index.count(Query("likes"))) == (1, 1)
        index.drop(MEMORY)
        assert (found(index, "coffee"), found(index, "tea")) == ([], ["mem-00001"])
        index.add(MEMORY, [(new, 7)], known=known(7))
        assert found(index, "coffee") == ["mem-00001"]

    def test_of_two_tellings_in_one_document_the_later_is_shown(self, index: Index) -> None:
        fill(index, record(1, "first"), record(2), record(1, "second"))
        assert (found(index, "second"), found(index, "first")) == (["mem-00001"], [])
        index.add(MEMORY, [(record(1, "third"), 9)], known=known(9))
        assert (found(index, "third"), index.count(Query("second"))) == (["mem-00001"], 0)

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_query_is_only_a_text(self, index: Index, text: str) -> None:
        fill(index, record(1, "an ordinary text"), record(2, "🎉 and AND or NEAR"))
        query = Query(text, kinds=(text,), tags=(text,), documents=(text,), session=text)
        for each in (Query(text), query, replace(query, text="")):
            assert len(index.search(each)) == index.count(each)
        assert (index.get(text), index.children(text), index.documents_of(text)) == (None, (), ())

    def test_no_text_makes_a_search_fail(self) -> None:
        @settings(deadline=None)
        @given(text=st.text(), tag=st.text())
        def law(text: str, tag: str) -> None:
            index = self.fresh()
            fill(index, record(1, text, tags=(tag,)), record(2, "other words", tags=("b",)))
            assert "mem-00001" in found(index, tags=(tag,))
            for query in (Query(text), Query(tag, tags=(text,)), Query(f"{text} {tag}")):
                assert len(index.search(query)) == index.count(query)
            assert index.healthy() == ""
            index.close()

        law()

    def test_erased_records_are_gone_from_every_answer(self, index: Index) -> None:
        fill(index, record(1, "quince"), record(2, "quince", supersedes="mem-00001"))
        fill(index, record(2, "quince pie"), document=DAILY)
        index.erase(["mem-00002", "mem-00777"])
        assert (found(index, "quince"), index.get("mem-00002")) == (["mem-00001"], None)
        assert index.documents_of("mem-00002") == ()

    def test_texts_wait_for_vectors_and_secrets_never_do(self, index: Index) -> None:
        fill(
            index,
            record(1, "a"),
            record(3, "c", sensitivity="sensitive"),
            record(4, "d", sensitivity="secret"),
            record(2, "b"),
        )
        waiting, total = index.unembedded("m", dim=2, limit=2)
        assert ([text for _, text in waiting], total) == (["a", "c"], 3)
        index.embed("m", dim=2, rows=[(key, b"\x01\x02", 2.0) for key, _ in waiting])
        assert waiting_for(index, "m", dim=2) == ["b"]
        assert waiting_for(index, "m", dim=3) == ["a", "c", "b"]
        assert waiting_for(index, "other", dim=2, sensitive=False) == ["a", "b"]

    def test_what_comes_after_everything_had_its_vector_waits_for_its_own(
        self, index: Index
    ) -> None:
        fill(index, record(1, "a"), record(2, "b"))
        embed(index, "m", {"a": (1, 0), "b": (1, 0)})
        assert waiting_for(index, "m", dim=2) == []
        fill(index, record(1, "a"))
        fill(index, record(1, "a"), record(3, "c"))
        assert waiting_for(index, "m", dim=2) == ["c"]
        with index.anew():
            pass
        fill(index, record(1, "a"))
        assert waiting_for(index, "m", dim=2) == ["a"]

    def test_a_window_holds_the_vectors_of_the_newest(self, index: Index) -> None:
        fill(index, record(1, "a"), record(3, "c"), record(2, "b"))
        assert [text for _, text in index.window("m", size=2)] == ["c", "b"]
        embed(index, "m", {"a": (1, 0), "b": (1, 0), "c": (1, 0)})
        assert index.window("m", size=2) == []
        near = index.nearest(asked("m", 1, 0), Query())
        assert sorted(hit.record.text for hit in near) == ["b", "c"]

    def test_only_the_models_named_are_kept(self, index: Index) -> None:
        fill(index, record(1, "a"))
        embed(index, "old", {"a": (1, 0)})
        embed(index, "new", {"a": (0, 1)})
        index.keep_models(["new"])
        assert index.nearest(asked("old", 1, 0), Query()) == []
        assert {row[0] for row in index.dump_vectors()} == {"new"}

    def test_vectors_are_counted_by_model(self, index: Index) -> None:
        assert index.vectors() == {}
        fill(index, record(1, "a"), record(2, "b"))
        embed(index, "old", {"a": (1, 0), "b": (0, 1)})
        embed(index, "new", {"a": (0, 1)})
        assert index.vectors() == {"new": 1, "old": 2}

    def test_the_nearest_by_angle_come_first(self, index: Index) -> None:
        texts = {
            "north": (0, 100),
            "northeast": (70, 70),
            "east": (50, 0),
            "south": (0, -100),
            "nowhere": (0, 0),
        }
        fill(index, *(record(number, text) for number, text in enumerate(texts)))
        embed(index, "m", texts)
        hits = index.nearest(asked("m", 0, 10), Query("unused", limit=4))
        assert [(hit.record.text, round(hit.score, 3)) for hit in hits] == [
            ("north", 1.0), ("northeast", 0.707), ("east", 0.0), ("south", 0.0),
        ]  # fmt: skip
        assert index.nearest(asked("m", 0, 0), Query()) == []

    def test_of_those_as_near_as_the_last_the_newest_come(self, index: Index) -> None:
        told = [record(number, f"t{number}") for number in range(12)]
        fill(index, *told)
        embed(index, "m", {"t0": (100, 0)} | {each.text: (70, 70) for each in told[1:]})
        near = index.nearest(asked("m", 1, 0), Query(limit=3))
        assert ids(near) == ["mem-00000", "mem-00011", "mem-00010"]

    def test_vectors_of_other_models_and_sizes_are_never_compared(self, index: Index) -> None:
        fill(index, record(1, "a"), record(2, "b"), record(3, "c"))
        embed(index, "m", {"a": (1, 0)})
        embed(index, "m", {"b": (1, 0, 0)})
        embed(index, "other", {"c": (1, 0)})
        assert ids(index.nearest(asked("m", 1, 0), Query())) == ["mem-00001"]

    def test_the_nearest_fit_the_rest_of_the_query(self, index: Index) -> None:
        told = [record(number, f"t{number}", session=f"s{number % 3}") for number in range(100)]
        fill(index, *told, record(200, "new", supersedes="mem-00001"))
        embed(index, "m", {each.text: (100, each_number) for each_number, each in enumerate(told)})
        near = Query(limit=3)
        assert ids(index.nearest(asked("m", 1, 0), near)) == [
            "mem-00000", "mem-00002", "mem-00003",
        ]  # fmt: skip
        in_session = index.nearest(asked("m", 1, 0), replace(near, session="s1"))
        assert ids(in_session) == ["mem-00004", "mem-00007", "mem-00010"]

    def test_a_vector_goes_with_its_text(self, index: Index) -> None:
        fill(index, record(1, "a"))
        ((key, _),), _ = index.unembedded("m", dim=1, limit=1)
        fill(index, record(1, "b"))
        index.embed("m", dim=1, rows=[(key, b"\x01", 1.0)])
        assert index.nearest(asked("m", 1), Query()) == []
        assert waiting_for(index, "m", dim=1) == ["b"]
        embed(index, "m", {"b": (1,)})
        index.erase(["mem-00001"])
        fill(index, record(2, "c"))
        assert index.nearest(asked("m", 1), Query()) == []

    def test_candidates_are_the_best_by_words_and_by_vectors(self, index: Index) -> None:
        fill(
            index,
            record(1, "tea"),
            record(2, "tea with some cake"),
            record(3, "chai"),
            record(4, "x"),
        )
        embed(index, "m", {"tea": (9, 1), "chai": (9, 0), "x": (0, 9)})
        found = {each.text: each for each in index.candidates(Query("tea"), asked("m", 1, 0))}
        ranks = {text: (each.words_rank, each.cosine_rank) for text, each in found.items()}
        assert ranks == {
            "tea": (0, 1),
            "tea with some cake": (1, -1),
            "chai": (-1, 0),
            "x": (-1, 2),
        }
        assert found["chai"].cosine == pytest.approx(1.0)
        assert (found["chai"].words, found["tea with some cake"].cosine) == (0.0, 0.0)
        assert found["tea"].words > found["tea with some cake"].words > 0
        by_words = {each.text for each in index.candidates(Query("tea cake"))}
        assert by_words == {"tea", "tea with some cake", "chai"}

    def test_a_candidate_says_whose_and_when_it_is(self, index: Index) -> None:
        old = record(1, "tea", session="s", username="alice", channel="home", origin="tool")
        fill(index, old, record(2, "tea", supersedes=old.id))
        found = {each.id: each for each in index.candidates(Query("tea", include_superseded=True))}
        it = found[old.id]
        said = (it.kind, it.text, it.timestamp, it.session, it.username, it.channel, it.origin)
        whole = (old.kind, old.text, old.timestamp, "s", "alice", "home", "tool")
        assert (said, bool(it.superseded), it.within) == (whole, True, "s")
        assert (bool(found["mem-00002"].superseded), found["mem-00002"].within) == (False, MEMORY)

    def test_what_stands_beside_a_candidate_is_one_too(self, index: Index) -> None:
        fill(
            index,
            *(record(9 - n, f"s{n}", session="s") for n in range(5)),
            *(record(20 + n, f"d{n}") for n in range(5)),
            record(40, "other", session="t"),
        )
        found = {each.text: each for each in index.candidates(Query("s2 d4"))}
        assert set(found) == {"s1", "s2", "s3", "d3", "d4", "other"}
        near = {
            text: (text_of(found, it.before), text_of(found, it.after))
            for text, it in found.items()
        }
        assert near["s2"] == ("s3", "s1")
        assert (near["s3"], near["s1"]) == (("", "s2"), ("s2", ""))
        assert near["d4"] == ("d3", "other")

    def test_candidates_and_their_neighbours_fit_the_query(self, index: Index) -> None:
        fill(
            index,
            record(1, "left", session="s", sensitivity="secret"),
            record(2, "tea", session="s"),
            record(3, "right", session="s", kind="note"),
            record(4, "tea", session="t"),
        )
        embed(index, "m", {"tea": (1, 0), "right": (1, 0)})
        texts = [each.text for each in index.candidates(Query("tea"), asked("m", 1, 0))]
        assert sorted(texts) == ["right", "tea", "tea"]
        narrow = index.candidates(Query("tea", session="s", kinds=("fact",)), asked("m", 1, 0))
        assert [each.text for each in narrow] == ["tea"]

    def test_hits_are_made_of_keys_in_the_order_given(self, index: Index) -> None:
        fill(index, record(1, "tea"), record(2, "tea"), record(3, "tea"))
        keys = {each.id: each.key for each in index.candidates(Query("tea"))}
        scored = [(keys[f"mem-0000{n}"], n / 10) for n in (2, 3, 1)]
        hits = index.hits([*scored[:2], (999, 0.5), scored[2]])
        assert [(hit.record.id, hit.score) for hit in hits] == [
            ("mem-00002", 0.2), ("mem-00003", 0.3), ("mem-00001", 0.1),
        ]  # fmt: skip

    def test_rare_words_are_rarer(self, index: Index) -> None:
        fill(index, *(record(n, "tea" if n else "tea quince") for n in range(50)))
        rarity = index.rarity(["teas", "quince", "nowhere", "", "\0"])
        assert rarity["teas"] < 0.05 < 3 < rarity["quince"] < rarity["nowhere"]
        assert rarity[""] == rarity["\0"] == rarity["nowhere"]

    @pytest.mark.parametrize(
        ("asked", "meant"),
        [
            ("recippes", "recipes"),
            ("imsulin", "insulin"),
            ("tniking", "tinkering"),
            ("Fzzwick", "fizzwick"),
            ("hosue", "house"),
            ("qunice", "quince"),
            ("tinkeing", "tinkering"),
            ("Deutchlanticket", "deutschlandticket"),
            ("deutschl", "deutschlandticket"),
            ("велосепед", "велосипед"),
        ],
    )
    def test_a_misspelt_word_is_read_as_the_nearest_of_a_record_that_fits(
        self, index: Index, asked: str, meant: str
    ) -> None:
        texts = (
            "Insulin recipes of Fizzwick", "House with a quince", "tinkering", "Deutschlandticket",
            "PostgreSQL 17", "Новый велосипед",
        )  # fmt: skip
        fill(index, *(record(number, text) for number, text in enumerate(texts)))
        expected = {} if asked == "tniking" else {asked: meant}
        assert readings(f"what of {asked}?", index, Query(f"what of {asked}?")) == expected

    def test_a_compound_is_read_as_its_parts_where_records_have_both(self, index: Index) -> None:
        fill(index, record(1, "Snow chains fit the front axle"), record(2, "The lawnmower"))
        asked = Query("snowchain gripchain")
        assert readings(asked.text, index, asked) == {"snowchain": "snow chain"}
        assert found(index, "lawn mower") == ["mem-00002"]

    def test_what_a_record_has_is_read_as_it_stands(self, index: Index) -> None:
        fill(index, record(1, "Fizzwick"), record(2, "Fizwick in Fizzel"))
        asked = Query("Fizwicks, fizzel, FIZZ, wizard and 4izzwick")
        assert readings(asked.text, index, asked) == {}

    def test_no_word_is_read_as_one_of_a_secret(self, index: Index) -> None:
        fill(index, record(1, "Fizzwick", sensitivity="secret"))
        asked = Query("Fizzwik")
        assert readings(asked.text, index, asked) == {}
        shown = replace(asked, include_secret=True)
        assert readings(asked.text, index, shown) == {"Fizzwik": "fizzwick"}

    def test_anew_forgets_everything(self, index: Index) -> None:
        fill(index, record(1, "quince"))
        index.set_level(5)
        index.set_mark("m")
        with index.anew():
            pass
        assert (index.level(), index.mark(), index.known(), index.dump()) == (0, "", {}, [])
        assert found(index, "quince") == []

    def test_what_is_told_anew_is_as_if_told_before(self, index: Index) -> None:
        told = {
            OTHER: [record(2, "quince jam"), record(3), record(3), record(4, "one")],
            DAILY: [record(1, "tea"), record(2, "quince"), record(4, "two"), record(3)],
            MEMORY: [record(2, "quince"), record(1, "tea"), record(4, "three", supersedes="x")],
        }
        for document, records in told.items():
            fill(index, *records, document=document)
        before = index.dump()
        with index.anew():
            for document, records in told.items():
                fill(index, *records, document=document)
        assert index.dump() == before
        assert found(index, "quince") == ["mem-00002"]
        assert index.healthy() == ""

    def test_what_is_told_anew_can_be_changed_and_found_meanwhile(self, index: Index) -> None:
        with index.anew():
            fill(index, record(1, "quince"), record(2, "tea"))
            assert found(index, "quince") == ["mem-00001"]
            fill(index, record(1, "medlar"), document=DAILY)
            assert index.documents_of("mem-00001") == (Place(MEMORY, 1), Place(DAILY, 1))
            fill(index, record(2, "tea"))
            index.add(MEMORY, [(record(3, "rowan"), 2)], known=known(2))
            fill(index, record(3, "rowan"), record(4, "sloe"), document=OTHER)
            index.put_lines(OTHER, [(record(5, "sloe"), 2)], first=2, last=2)
            index.erase(["mem-00002"])
        assert [found(index, word) for word in ("quince", "medlar", "tea", "rowan", "sloe")] == [
            [], ["mem-00001"], [], ["mem-00003"], ["mem-00005"],
        ]  # fmt: skip
        assert index.healthy() == ""

    def test_what_is_told_anew_and_fails_leaves_all_as_it_was(self, index: Index) -> None:
        fill(index, record(1, "quince"))
        index.set_mark("m")
        before = index.dump()

        def fail() -> None:
            with index.anew():
                fill(index, record(2, "tea"))
                raise ZeroDivisionError

        pytest.raises(ZeroDivisionError, fail)
        assert (index.dump(), index.mark(), found(index, "tea")) == (before, "m", [])
        fill(index, record(2, "tea"))
        assert (found(index, "quince"), found(index, "tea")) == ([], ["mem-00002"])
        assert index.healthy() == ""

    def test_size_grows(self, index: Index) -> None:
        before = index.size()
        fill(index, *(record(number, "many words " * 20) for number in range(500)))
        assert index.size() > before > 0

    def test_an_index_that_was_kept_equals_one_made_anew(self) -> None:
        @settings(deadline=None)
        @given(steps=STEPS)
        def law(steps: list[Step]) -> None:
            kept, anew = self.fresh(), self.fresh()
            documents: dict[str, dict[int, Record]] = {}
            for step in steps:
                take(step, kept, documents)
            for document in sorted(documents, reverse=True):
                tell(anew, document, documents[document])
            assert kept.dump() == anew.dump()
            for each in (kept, anew):
                embed_waiting(each)
            assert kept.dump_vectors() == anew.dump_vectors()
            for query in QUERIES:
                assert kept.search(query) == anew.search(query)
                near = replace(query, text="unused")
                assert kept.nearest(HASHED, near) == anew.nearest(HASHED, near)
                assert len(kept.search(query)) == kept.count(query)
            assert kept.healthy() == ""
            kept.close()
            anew.close()

        law()


def signed(*values: int) -> bytes:
    return bytes(value & 0xFF for value in values)


def asked(model: str, *values: int) -> Asked:
    return Asked(model, signed(*values), sum(value * value for value in values) ** 0.5)


def text_of(found: Mapping[str, Candidate], key: int) -> str:
    return next((text for text, each in found.items() if each.key == key), "")


def waiting_for(index: Index, model: str, *, dim: int, sensitive: bool = True) -> list[str]:
    waiting, _ = index.unembedded(model, dim=dim, limit=1000, sensitive=sensitive)
    return [text for _, text in waiting]


def embed(index: Index, model: str, vectors: Mapping[str, tuple[int, ...]]) -> None:
    for text, vector in vectors.items():
        waiting, _ = index.unembedded(model, dim=len(vector), limit=1000)
        keys = {words: key for key, words in waiting}
        norm = sum(value * value for value in vector) ** 0.5
        index.embed(model, dim=len(vector), rows=[(keys[text], signed(*vector), norm)])


Step = tuple[str, str, list[Record]]

RECORDS = st.builds(
    record,
    st.integers(0, 5),
    st.sampled_from(["tea", "tea tea", "coffee and tea", "茶"]),
    supersedes=st.sampled_from(["", "", "mem-00000", "mem-00001"]),
    sensitivity=st.sampled_from(["personal", "personal", "secret"]),
    tags=st.sampled_from([(), ("drink",)]),
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "put", "drop", "search", "embed", "erase"]),
        st.sampled_from([MEMORY, DAILY, OTHER, "archive/MEMORY.md"]),
        st.lists(RECORDS, max_size=5),
    ),
    max_size=12,
)
QUERIES = [
    Query(),
    Query("tea"),
    Query("茶"),
    Query("coffee", include_superseded=True, include_secret=True),
]


ENCODER = HashedEncoder()
HASHED = Asked(ENCODER.model, *ENCODER.encode_query("tea or coffee"))


def embed_waiting(index: Index) -> None:
    waiting, _ = index.unembedded(ENCODER.model, dim=ENCODER.dim, limit=1000)
    vectors = ENCODER.encode([text for _, text in waiting])
    rows = [(key, *vector) for (key, _), vector in zip(waiting, vectors)]
    index.embed(ENCODER.model, dim=ENCODER.dim, rows=rows)


def take(step: Step, index: Index, documents: dict[str, dict[int, Record]]) -> None:
    what, document, records = step
    if what == "search":
        index.search(Query("tea"))
        index.nearest(HASHED, Query())
    elif what == "embed":
        embed_waiting(index)
    elif what == "erase":
        gone = {each.id for each in records}
        index.erase(gone)
        for name, lines in documents.items():
            documents[name] = {at: told for at, told in lines.items() if told.id not in gone}
            index.note(name, known=known(len(documents[name])))
    elif what == "drop":
        index.drop(document)
        documents.pop(document, None)
    elif what == "add":
        lines = documents.setdefault(document, {})
        new = dict(enumerate(records, 1 + max(lines, default=0)))
        lines |= new
        index.add(document, [(told, at) for at, told in new.items()], known=known(len(lines)))
    else:
        documents[document] = dict(enumerate(records, 1))
        tell(index, document, documents[document])


def tell(index: Index, document: str, lines: dict[int, Record]) -> None:
    index.put(document, [(told, at) for at, told in lines.items()], known=known(len(lines)))
