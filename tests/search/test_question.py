"""Any prompt is a question: the sentence that asks is found wherever it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from commonplace.memory import Memory
from commonplace.search.question import LOOKED_AT, question_in
from tests.support.clocks import SkippingClock

LOG = "\n".join(
    f"2026-10-02T09:14:{second:02}Z WARN webhook-sender attempt={second} status=503 in {second}ms"
    for second in range(20)
)
MAIL = """Dear Ms Weyler, thank you for your interest in the new Elroq. As discussed by phone I can
offer you the car in blue within six weeks. Would you like to take a test drive? I am in the
showroom from Tuesday to Saturday. If you have further wishes, write to me at any time, or call
me. Best regards, P. Hollerbach"""
KNOWN = ("elroq", "webhook", "showroom")


def rarity(words: Sequence[str]) -> Mapping[str, float]:
    """The vault has a few words; all others are as rare as can be."""
    return {word: 2.0 + KNOWN.index(word) if word in KNOWN else 9.0 for word in words}


@pytest.mark.parametrize(
    "asking",
    [
        "how many attempts do we make before giving up?",
        "remind me of our retry policy",
        "Wie oft versuchen wir es?",
        "Combien de fois essayons-nous ?",
        "¿Cuántas veces lo intentamos?",
        "Quantas vezes tentamos?",
        "Quante volte proviamo?",
        "Сколько раз мы пробуем?",
        "我们重试几次?",
        "何回まで再試行しますか",
    ],
)
@pytest.mark.parametrize("pasted", [LOG, MAIL], ids=["log", "mail"])
def test_the_sentence_that_asks_is_found_before_and_after_what_was_pasted(
    pasted: str, asking: str
) -> None:
    for prompt in (f"{pasted}\n\n{asking}", f"{asking}\n\n{pasted}"):
        assert question_in(prompt, rarity).text == asking


def test_a_short_text_is_a_question_as_it_is() -> None:
    for text in ("gateway timeouts", "I moved to Bergen. Where did I live before?", "", "🎉"):
        assert question_in(text, rarity).text == text
        assert question_in(text, rarity).aside == ()


def test_words_beside_the_question_are_those_that_the_vault_has_the_rarest_first() -> None:
    question = question_in(f"{MAIL}\n\nwhen does the lease of the old one end?", rarity)
    assert question.aside == ("showroom", "elroq")
    assert "Hollerbach" in question.rest


def test_a_question_without_a_full_stop_before_it_begins_where_it_asks() -> None:
    prompt = f"{'one two three four ' * 12} When did Caroline move to Bergen?"
    assert question_in(prompt, rarity).text == "When did Caroline move to Bergen?"


@pytest.mark.parametrize("text", ["?" * 500, "word " * 60, ". " * 300, "\n" * 300, "x" * 30_000])
def test_any_text_has_a_question(text: str) -> None:
    assert len(question_in(text, rarity).text) <= LOOKED_AT


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = Memory.open(tmp_path, "native", clock=SkippingClock(), environ={})
    for text in (
        "Retry policy: five attempts, exponential from 200 ms",
        "Quote Moorfield Ltd in pounds, VAT separate",
        "The webhook secret is rotated each January",
        "Likes jazz",
    ):
        memory.store(text, kind="fact")
    return memory


@pytest.mark.parametrize("pasted", [LOG, f"{LOG}\n" * 4], ids=["some lines", "many lines"])
def test_a_question_behind_a_log_is_answered(memory: Memory, pasted: str) -> None:
    hits = memory.search(f"{pasted}\n\nIn which currency do we quote Moorfield?")
    assert hits[0].record.text.startswith("Quote Moorfield")


def test_a_prompt_that_ends_with_its_question_brings_the_memory_into_the_context(
    memory: Memory,
) -> None:
    told = memory.relevant(f"{LOG}\n\nIn which currency do we quote Moorfield?").text
    assert "Quote Moorfield Ltd in pounds" in told
