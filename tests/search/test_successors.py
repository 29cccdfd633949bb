"""Of memories about the same the newer comes first, above all where it speaks of a change."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.memory import Memory
from commonplace.search.ranking import ranked
from commonplace.search.successors import followed
from tests.search.test_ranking import TODAY, candidate
from tests.support.clocks import SkippingClock

OTHERS = (
    "Likes jazz",
    "The router reboots when the microwave runs",
    "Grandmother's plum cake needs two hundred grams of butter",
    "Prefers dark mode in every editor",
    "Season pass for Davos, early-bird",
    "The release train leaves on the last day of the month",
)


@pytest.mark.parametrize(
    ("question", "old", "new"),
    [
        (
            "Who heads the Lisbon office?",
            "The Lisbon office is headed by Duarte",
            "Duarte left for a startup, Inês runs Lisbon",
        ),
        (
            "Where is the podcast recorded?",
            "Season four of the podcast is recorded in the wardrobe",
            "We book Studio Nord for podcast recording, no more wardrobe",
        ),
        (
            "Wer unterrichtet Klavier?",
            "Klavier unterrichtet Frau Abendroth",
            "Klavier unterrichtet jetzt Herr Kwon statt Frau Abendroth",
        ),
    ],
)
def test_the_newer_of_two_that_contradict_comes_first(
    tmp_path: Path, question: str, old: str, new: str
) -> None:
    clock = SkippingClock()
    memory = Memory.open(tmp_path, "native", clock=clock, environ={})
    for text in (old, *OTHERS, new):
        memory.store(text, kind="fact")
        clock.sleep(20 * 86_400)
    assert [hit.record.text for hit in memory.search(question, limit=2)] == [new, old]


def test_what_tells_of_a_change_is_shown_without_a_word_of_the_question() -> None:
    far = {"words": 0.0, "words_rank": -1, "cosine": 0.1, "cosine_rank": 9}
    old = candidate(1, "backups go to a synology", timestamp="2023-01-01T10:00:00.000Z")
    new = candidate(2, "the synology died, now it is a storage box", **far)
    other = candidate(3, "likes jazz", **far)
    order = ranked([old, new, other], "where do the backups go", TODAY, limit=3)
    assert {each.candidate.key for each in order} == {1, 2}


TEXTS = ("duarte heads lisbon", "inês runs lisbon now, duarte left", "likes jazz", "a blue kettle")


LISBON = frozenset({"lisbo"})


def test_only_what_is_newer_follows() -> None:
    told, totals = (1.0, 0.5, 0.0, 0.0), (5.0, 4.0, 1.0, 1.0)
    follows, changes = followed(TEXTS, ("1", "2", "2", "2"), told, totals, asked=LISBON)
    assert follows[1] > 0 == follows[0] == follows[2] == follows[3]
    assert changes == follows
    assert followed(TEXTS, ("2", "1", "2", "2"), told, totals, asked=LISBON)[0][1] == 0


def test_what_has_nothing_of_the_question_is_not_followed_up_on() -> None:
    follows, _ = followed(
        TEXTS, ("1", "2", "2", "2"), (0.0,) * 4, (5.0, 4.0, 1.0, 1.0), asked=LISBON
    )
    assert follows == [0.0] * 4


def test_one_text_or_none_follows_nothing() -> None:
    assert followed((), (), (), (), asked=LISBON) == ([], [])
    assert followed(("tea",), ("1",), (1.0,), (1.0,), asked=LISBON) == ([0.0], [0.0])


def test_a_word_of_the_question_alone_makes_nothing_a_follower() -> None:
    texts = ("the old flat had a green door", "the tea is in the green tin now", "likes jazz")
    follows, _ = followed(
        texts, ("1", "2", "2"), (1.0, 0.5, 0.0), (5.0, 4.0, 1.0), asked=frozenset({"green", "door"})
    )
    assert follows == [0.0] * 3
