"""What records rest on, as plain data for programs and as lines for people."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from commonplace.trust.neutralise import one_line

if TYPE_CHECKING:
    from commonplace.library.citations import CitationStanding

STALE = {
    "moved": "moved",
    "changed": "changed",
    "gone": "gone",
    "unchecked": "not checked on this machine",
}


def data_of(standing: CitationStanding) -> dict[str, Any]:
    """A citation with what has become of it."""
    citation = standing.citation
    return {
        "place": citation.place,
        "repository": citation.repository,
        "commit": citation.commit,
        "day": citation.day,
        "state": str(standing.state),
        "now": standing.place,
    }


def lines_of(standings: Iterable[CitationStanding]) -> list[str]:
    """Each citation on a line: where, of which repository and commit, since when, how it is."""
    return [_line(each) for each in standings]


def _line(standing: CitationStanding) -> str:
    citation, state = standing.citation, str(standing.state)
    within = f" in {citation.repository}" if citation.repository else ""
    commit = f" at {citation.commit}" if citation.commit else ""
    now = f", now {standing.place}" if standing.place else ""
    day = f", cited on {citation.day}" if citation.day else ""
    return one_line(f"{citation.place}{within}{commit}{day}: {STALE.get(state, state)}{now}")
