"""What matters when nothing in particular is asked."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from commonplace.model.records import Hit, Record, now_of
from commonplace.search.importance import (
    Precedence,
    by_importance,
    importance,
    in_order,
    standing,
    verdict,
    weight,
)
from tests.data import clock_at

NOW = now_of(clock_at("2026-03-01T12:00:00Z"))
FACT = Record(id="mem-1", kind="fact", text="The cat is called Mo", timestamp="2026-02-27T10:00Z")


@pytest.mark.parametrize(
    "change",
    [
        {"timestamp": "2025-02-27T10:00Z"},
        {"kind": "note"},
        {"kind": "heartbeat"},
        {"confidence": 0.5},
        {"origin": "web"},
        {"origin": "import"},
        {"valid_to": "2026-02-28"},
        {"valid_from": "2026-03-02"},
    ],
)
def test_it_matters_less_when_it_is_old_passing_unsure_unbelieved_or_over(
    change: dict[str, str],
) -> None:
    assert importance(replace(FACT, **change), NOW) < importance(FACT, NOW)


def test_a_fact_outlasts_what_was_only_the_case_then() -> None:
    def left(kind: str) -> float:
        new, old = replace(FACT, kind=kind), replace(FACT, kind=kind, timestamp="2025-09-01T10:00Z")
        return importance(old, NOW) / importance(new, NOW)

    assert left("fact") > 2 * left("context")


def test_what_matters_the_same_stays_in_its_order() -> None:
    hits = [Hit(replace(FACT, id=f"mem-{number}"), (), 0.0) for number in range(3)]
    assert by_importance(hits, clock_at("2026-03-01T12:00:00Z")) == hits


def test_a_day_that_cannot_be_read_is_today() -> None:
    assert importance(replace(FACT, timestamp="soon"), NOW) == importance(
        replace(FACT, timestamp="2026-03-01T09:00Z"), NOW
    )


@pytest.mark.parametrize(
    ("useful", "wrong", "factor"),
    [(0, 0, 1.0), (1, 0, 1.1), (0, 1, 0.9), (1, 1, 1.0), (3, 1, 1.08), (99, 0, 1.198)],
)
def test_verdicts_order_within_narrow_bounds(useful: int, wrong: int, factor: float) -> None:
    judged = replace(FACT, useful=("2026-02-28",) * useful, wrong=("2026-02-28",) * wrong)
    assert verdict(judged) == pytest.approx(factor)
    assert 0.8 < verdict(judged) < 1.2
    assert weight(judged, 2) == pytest.approx(weight(FACT, 2) * factor)


def test_what_was_told_again_matters_more_and_never_twice_as_much() -> None:
    weights = [weight(replace(FACT, seen=("2026-02-28",) * times), 2) for times in (0, 1, 3, 99)]
    assert weights == sorted(weights)
    assert weights[0] < weights[1] < weights[-1] < 1.5 * weights[0]


STANDINGS = [
    ({"kind": "note", "pinned": "2026-02-28"}, Precedence.PINNED),
    ({"kind": "correction", "origin": "owner"}, Precedence.OWNERS_RULE),
    ({"kind": "instruction", "evidence": ("m-1", "2026-02-27T10:00Z")}, Precedence.QUOTED_RULE),
    (
        {"kind": "instruction", "evidence": ("m-1", "2026-02-27T10:00Z", "q")},
        Precedence.QUOTED_RULE,
    ),
    ({"kind": "instruction"}, Precedence.RULE),
    ({"kind": "preference", "origin": "owner"}, Precedence.PREFERENCE),
    ({"kind": "user-preference"}, Precedence.PREFERENCE),
    ({"kind": "decision", "origin": "owner"}, Precedence.OTHER),
]


@pytest.mark.parametrize(("change", "where"), STANDINGS)
def test_a_record_stands_where_its_pin_its_kind_and_its_words_put_it(
    change: dict[str, Any], where: Precedence
) -> None:
    assert standing(replace(FACT, **change)) == where


def test_an_old_rule_comes_before_a_new_preference() -> None:
    old = {"kind": "instruction", "timestamp": "2024-02-27T10:00Z"}
    changes: list[dict[str, Any]] = [{"kind": "preference"}, {}, old, {**old, "origin": "owner"}]
    hits = [Hit(replace(FACT, **change), (), 0.0) for change in changes]
    assert in_order(hits, NOW) == [hits[3], hits[2], hits[0], hits[1]]
