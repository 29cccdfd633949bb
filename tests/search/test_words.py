"""What is searched beside a text, and queries as FTS5 takes them."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.model.records import Record
from commonplace.search.index import Query
from commonplace.search.rows import rarity
from commonplace.search.sqlite.index import SqliteIndex
from commonplace.search.words import MOST, cut_terms, indexed, match, record_terms
from tests.contracts.index import RANK, fill, record
from tests.support.known_items import SETS


def beside(text: str, **data: object) -> list[str]:
    fields = {"id": "mem-1", "kind": "fact", "timestamp": "2026-11-15T14:30:00.000Z", **data}
    return indexed(Record(text=text, **fields)).split()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("", ""),
        ("?! 🎉 …", ""),
        ("dark mode", '"dark" OR "mode"'),
        ("Dark dark DARK", '"Dark" OR "dark" OR "DARK"'),
        ("What is the name of her dog?", '"name" OR "dog"'),
        ("to be or not to be", '"to" OR "be" OR "or" OR "not"'),
        ("Alice's don't", '"Alice"'),
        ('say "hi" AND (NOT x*)', '"say" OR "hi" OR "x"'),
        ("snake_case", '"snake_case"'),
        ("2026-11-15 2026-11 12-15", '"2026-11-15" OR "2026-11" OR "12" OR "15"'),
        ("a\0tea", '"tea"'),
        ("東", '"東"*'),
        ("東京タワー", '"東京" OR "京タ" OR "タワ" OR "ワー"'),
        ("Tokyo東京", '"Tokyo" OR "東京"'),
        ("서울에서", '"서울" OR "울에" OR "에서"'),
        ("Αθήνα", '"Αθηνα"'),
        ("живёт", '"живет" OR "жив"'),
        ("книгами", '"книгами" OR "книг"'),
        ("القهوة", '"القهوة" OR "القهوه" OR "قهوه" OR "قهو"'),
        ("مُحَمَّدٌ", '"محمد"'),
        ("हिन्दी", '"हिन्दी"'),
        ("café cafe\u0301", '"café" OR "cafe\u0301"'),
    ],
)
def test_a_query_becomes_quoted_words(text: str, expression: str) -> None:
    assert match(text) == expression


def test_a_query_has_at_most_so_many_words() -> None:
    assert match(" ".join(f"w{number}" for number in range(100))).count('"') == 2 * MOST
    assert match("東京" * 500).count('"') == 4


def test_a_word_that_more_have_than_were_counted_is_not_rarer_than_nothing() -> None:
    """Others add records between one count and the next."""
    assert 0.0 < rarity("tea", having=9, total=2) <= rarity("tea", having=2, total=2)


def test_plain_text_has_tags_who_and_when_beside_it() -> None:
    assert beside("Likes the tea") == ["2026-11-15", "november"]
    assert beside("Likes the tea", tags=("a", "b c"), username="alice", kind="preference") == [
        *("a", "b", "c", "alice", "2026-11-15", "november", "preference"),
    ]


def test_words_that_may_be_of_another_language_have_their_stems_beside_them() -> None:
    assert beside("Kocht gern vegetarische Suppen")[2:] == ["vegetarisc", "supp"]
    assert beside("Alérgico a los frutos")[2:] == ["alergic", "frut"]
    assert beside("She cooks the soup and Suppen")[2:] == []


def test_a_timestamp_may_be_anything() -> None:
    assert beside("Likes the tea", timestamp="") == []
    assert beside("Likes the tea", timestamp="unknown") == ["unknown"]


def test_unspaced_scripts_have_their_pairs_beside_them() -> None:
    assert beside("I like タワー")[2:] == ["タワ", "ワー", "ー"]
    assert beside("I like 東京タ")[2:] == ["東京", "京タ", "タ", "東", "京"]
    assert beside("tea", tags=("茶",))[-1] == "茶"


def test_other_scripts_have_bare_words_beside_them_where_marks_are_optional() -> None:
    assert beside("Η Αθήνα και ο Πειραιάς")[2:] == ["Αθηνα", "Πειραιας"]
    assert beside("the café crème brûlée") == ["2026-11-15", "november"]


@pytest.mark.parametrize(
    "forms",
    [
        "велосипед велосипеда велосипеды велосипедом",
        "книга книги книгу книгами",
        "работает работают работала работать",
        "тёмный тёмная тёмную тёмного",
        "история истории исторический",
        "قهوة القهوة بالقهوة قهوته",
        "سيارة السيارة سيارته وسيارة",
        "مدرسة المدرسة مدرسات للمدرسة",
    ],
)
def test_the_forms_of_a_word_share_a_stem(forms: str) -> None:
    first, *others = (set(match(form).split(" OR ")) for form in forms.split())
    assert all(first & other for other in others)


@pytest.mark.parametrize(
    "forms",
    [
        "Katze Katzen",
        "schwarzer schwarzen schwarzes",
        "Haus Häuser",
        "Vertrag Verträge Verträgen",
        "médicament médicaments",
        "étudie étudient",
        "reunión reuniones",
        "alérgico alérgica alérgicos",
        "reunião reuniões",
        "gatto gatti",
        "banca banche",
    ],
)
def test_the_forms_of_a_latin_word_share_a_term(forms: str) -> None:
    first, *others = (set(_cut(form)) for form in forms.split())
    assert all(first & other for other in others)


def _cut(form: str) -> list[str]:
    return [word for term in cut_terms(form, record_terms) for word in term.words]


@pytest.mark.parametrize(("language", "pairs"), SETS.items())
def test_words_alone_find_what_was_asked_in_other_words(
    language: str, pairs: list[tuple[str, str]]
) -> None:
    index = SqliteIndex(None, rank=RANK)
    fill(index, *(record(number, told) for number, (told, _) in enumerate(pairs)))
    answers = [index.search(Query(asked, limit=5)) for _, asked in pairs]
    hits = sum(
        f"mem-{number:05}" in (hit.record.id for hit in found)
        for number, found in enumerate(answers)
    )
    assert (len(pairs), hits / len(pairs) >= 0.9) == (200, True), f"{language}: {hits}"
    index.close()


@given(st.text())
def test_fts5_takes_the_expression_of_any_text(text: str) -> None:
    expression = match(text)
    if expression:
        TABLE.execute("SELECT rowid FROM words WHERE words MATCH ?", (expression,)).fetchall()


TABLE = sqlite3.connect(":memory:", check_same_thread=False)
TABLE.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
