"""How far each origin is believed, what a derived record takes, and which records wait."""

from __future__ import annotations

import json
import sqlite3
from enum import StrEnum

import msgspec
import pytest

from commonplace.model.records import Author, Origin, Record, Sensitivity
from commonplace.trust.origins import Trust, lowest, may_supersede, needs_review, stamped, trust_of


def test_trust_falls_from_the_owner_to_the_web() -> None:
    origins = ("owner", "agent", "system", "import", "tool", "web", "anything else")
    assert [int(trust_of(origin)) for origin in origins] == [3, 2, 2, 1, 0, 0, 0]
    assert trust_of("owner") is Trust.OWNER


def test_a_derived_record_takes_the_lowest_trust_of_its_sources() -> None:
    assert lowest(["owner", "import", "agent"]) == "import"
    assert lowest(["web", "tool"]) == lowest(["tool", "web"])
    assert lowest(["owner"]) == "owner"


def test_a_lower_trust_never_supersedes_a_higher_one() -> None:
    assert may_supersede("owner", "agent")
    assert may_supersede("agent", "agent")
    assert may_supersede("agent", "system")
    assert not may_supersede("agent", "owner")
    assert not may_supersede("web", "import")
    assert not may_supersede("unheard of", "agent")


def test_a_tainted_session_makes_the_agent_speak_for_the_web() -> None:
    assert stamped("agent", tainted=True) == "web"
    assert stamped("agent", tainted=False) == "agent"
    assert stamped("owner", tainted=True) == "owner"


@pytest.mark.parametrize(
    ("behavioral", "origin", "tainted", "waits"),
    [
        (True, "owner", True, False),
        (True, "agent", False, False),
        (True, "agent", True, True),
        (True, "import", False, True),
        (True, "tool", False, True),
        (True, "web", False, True),
        (True, "unheard of", False, True),
        (False, "web", True, False),
        (False, "agent", True, False),
    ],
)
def test_behaviour_from_untrusted_origins_waits_for_a_person(
    behavioral: bool, origin: str, tainted: bool, waits: bool
) -> None:
    assert needs_review(behavioral=behavioral, origin=origin, tainted=tainted) is waits


@pytest.mark.parametrize("member", [*Origin, *Sensitivity])
def test_a_member_of_a_closed_set_is_one_and_is_written_as_a_plain_string(member: StrEnum) -> None:
    assert isinstance(member, type(member))
    assert isinstance(Origin.AGENT, Origin)
    assert f"{member}" == member.value
    written = json.dumps(member.value).encode()
    assert json.dumps({"a": member}) == json.dumps({"a": member.value})
    assert msgspec.json.encode(member) == written
    database = sqlite3.connect(":memory:")
    [(stored, kind)] = database.execute("SELECT ?1, typeof(?1)", (member,)).fetchall()
    database.close()
    assert (stored, type(stored), kind) == (member.value, str, "text")


def test_the_defaults_of_a_record_are_members_that_equal_their_words() -> None:
    record = Record("a", "fact", "text", "2026-11-15T10:00:00.000Z")
    assert (record.origin, record.sensitivity) == ("agent", "personal")
    assert record == Record(
        "a", "fact", "text", record.timestamp, origin="agent", sensitivity="personal"
    )
    assert hash(record) == hash(msgspec.structs.replace(record, origin="agent"))
    assert "origin" not in record.data()
    assert Author() == Author("agent")
