"""What matters when nothing in particular is asked."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from commonplace.model.records import Hit, Record, now_of
from commonplace.search.importance import by_importance, importance
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
