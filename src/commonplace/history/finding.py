"""Finding: what was said, as hits that are ranked as records are.

It knows the table of messages and what a ranking asks for. Messages have no vectors: their words,
what was said right before and after, whose they are and when decide.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from commonplace.hints import Any
from commonplace.index import BEST, Candidate, Query
from commonplace.index.conditions import clean
from commonplace.index.ranking import Ranked, ranked
from commonplace.index.words import match
from commonplace.records import MESSAGE, Beside, Found, Hit, Origin, Record

TOLD = "m.position, m.id, m.content, m.time, m.session, m.role, m.channel"
FITS = """(:session = '' OR m.session = :session) AND m.time >= :since
    AND (:until = '' OR m.time <= :until || char(1114111))"""
BY_WORDS = f"""SELECT m.position, w.rank FROM message_words w
    CROSS JOIN message m ON m.position = w.rowid
    WHERE message_words MATCH :words AND {FITS}
    ORDER BY w.rank, m.time DESC, m.position DESC LIMIT {BEST}"""
# For what has no words in it, such as a picture character; nothing at all is in every text.
CONTAINING = f"""SELECT {TOLD} FROM message m WHERE instr(m.content, :text) AND {FITS}
    ORDER BY m.time DESC, m.position DESC LIMIT :limit"""
BESIDE = """coalesce((SELECT n.position FROM message n WHERE n.session = m.session
    AND (n.time, n.position) {than} (m.time, m.position)
    ORDER BY n.time {order}, n.position {order} LIMIT 1), 0)"""
BEFORE = BESIDE.format(than="<", order="DESC")
AFTER = BESIDE.format(than=">", order="ASC")
SEEN = f"""SELECT {TOLD}, {BEFORE}, {AFTER} FROM json_each(:positions) j
    CROSS JOIN message m ON m.position = j.value WHERE {FITS}"""
UNFOUND = (0.0, -1)

Bounds = Mapping[str, str]


def found(db: sqlite3.Connection, query: Query, today: date) -> Found:
    """The messages that fit a query best; without text, the newest."""
    if query.kinds or query.tags or query.documents or query.limit <= 0:
        # No message has any of these.
        return Found()
    bounds = {name: clean(getattr(query, name)) for name in ("session", "since", "until")}
    words = match(query.text)
    if not words:
        asked = bounds | {"text": clean(query.text.strip()), "limit": query.limit}
        return Found(Hit(_record(row), (), 0.0) for row in db.execute(CONTAINING, asked))
    may = _candidates(db, words, bounds)
    by_key = {each.key: each for each in may}
    best = ranked(may, query.text, today, limit=query.limit)
    return Found(_hit(each, by_key, explain=query.explain) for each in best)


def _candidates(db: sqlite3.Connection, words: str, bounds: Bounds) -> list[Candidate]:
    """The best by their words, and what was said right before and after each."""
    rows = db.execute(BY_WORDS, {**bounds, "words": words}).fetchall()
    scores = {position: (-score, rank) for rank, (position, score) in enumerate(rows)}
    chosen = _seen(db, scores, bounds)
    near = {position for row in chosen for position in row[-2:] if position} - scores.keys()
    every = (*chosen, *_seen(db, near, bounds))
    return [_candidate(row, scores.get(row[0], UNFOUND)) for row in every]


def _seen(db: sqlite3.Connection, positions: Iterable[int], bounds: Bounds) -> list[Any]:
    return db.execute(SEEN, {**bounds, "positions": json.dumps(sorted(positions))}).fetchall()


def _candidate(row: Sequence[Any], words: tuple[float, int]) -> Candidate:
    position, id_, content, time, session, role, channel, before, after = row
    told = (position, id_, MESSAGE, content, time, session, role, channel, _origin(role), False)
    return Candidate(*told, session, before, after, *words, *UNFOUND)


def _hit(each: Ranked, by_key: Mapping[int, Candidate], *, explain: bool) -> Hit:
    it = each.candidate
    near = (by_key[key] for key in (it.before, it.after) if key in by_key)
    return Hit(
        _record((it.key, it.id, it.text, it.timestamp, it.session, it.username, it.channel)),
        (),
        each.relevance,
        tuple(Beside(one.id, one.timestamp, one.username, one.text) for one in near),
        tuple(each.parts().items()) if explain else (),
    )


def _record(row: Sequence[Any]) -> Record:
    """A message as a record: who said it is its username."""
    _, id_, content, time, session, role, channel = row
    return Record(
        id=id_,
        kind=MESSAGE,
        text=content,
        timestamp=time,
        session=session,
        channel=channel,
        username=role,
        origin=_origin(role),
    )


def _origin(role: str) -> Origin:
    """What a tool answered may come from anywhere."""
    return Origin.TOOL if role == "tool" else Origin.AGENT
