"""Learn without a model: what history shows three times becomes a suggestion that waits in review.

A correction and a question are told in the user's own words, a command in its shape. Nothing is
stored before a person approves it, and what a person rejected does not come back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import timedelta

from msgspec import Struct

from commonplace.history.messages import History, Message
from commonplace.library.approvals import ASKED, LEARNED, RAN, SAID
from commonplace.library.library import Library
from commonplace.library.tombstones import normal, pieces
from commonplace.model.clock import stamp
from commonplace.model.records import BEHAVIORAL, BY_TOOL, SYSTEM, Origin, Record
from commonplace.search.index import Query
from commonplace.storage.command_log import CommandLog, CommandRun
from commonplace.storage.notes import Notes
from commonplace.trust.evidence import Alike
from commonplace.trust.neutralise import one_line
from commonplace.upkeep import repeated
from commonplace.upkeep.repeated import LIKE, LIKE_QUESTION, TIMES, Repetition, Typed

NAME = "learning.json"
"""The note that says how far the last look went."""
LOOKED_AT, SENTENCES = 10_000, 2_000
"""The last messages, and of their corrections and of their questions the last, that are looked at.
"""
OLDEST = timedelta(days=60)
"""How long a command stays in the log."""
KEPT_TIMES = 5
"""Of the times at which something was said, the last ones that a suggestion names."""
STEPS = 5
"""Commands after a failure among which the one is that helped."""
ANSWERS = 20
"""Records that are looked through for one that answers a question."""


class Suggestion(Struct, frozen=True):
    """What was there three times, as the record that it would become."""

    what: str
    """said, asked or ran."""
    record: Record
    meanings: tuple[repeated.Meaning, ...] = ()

    @property
    def times(self) -> tuple[str, ...]:
        """When it was there, each with its session, the oldest first."""
        return self.record.seen


class Learner:
    """Looks through one vault's history."""

    def __init__(self, library: Library, notes: Notes, history: History, *, alike: Alike) -> None:
        self._library = library
        self._notes = notes
        self._history = history
        self._alike = alike
        self._commands = CommandLog(notes)
        self._clock = library.clock

    def found(self) -> list[Suggestion]:
        """What would be suggested now. Nothing is written."""
        self._library.refresh()
        return self._library.locked(lambda: self._fresh(self._seen()))

    def suggest(self, *, again: bool = True) -> list[Suggestion]:
        """Let what was found wait for a person. Returns what waits now and did not before.

        Unless it is to look `again`, nothing is done where history has not grown since.
        """
        stand = self._stand()
        if not again and stand == self._notes.read(NAME):
            return []
        self._library.refresh()
        seen = self._seen()

        def work() -> list[Suggestion]:
            # Somebody else may have suggested, decided or forgotten something meanwhile.
            fresh = self._fresh(seen)
            for each in fresh:
                why = f"{LEARNED} {each.what}"
                self._library.approvals.hold(each.record, SYSTEM, why=why)
            return fresh

        fresh = self._library.locked(work)
        oldest = stamp(self._clock.now() - OLDEST)
        self._commands.drop(lambda ran: ran.at < oldest)
        self._notes.write(NAME, stand)
        return fresh

    def _stand(self) -> bytes:
        last = self._history.last("", 1)
        ran = self._commands.all()
        stand = {"message": last[0].id if last else "", "command": ran[-1].at if ran else ""}
        return json.dumps(stand).encode()

    def _seen(self) -> list[Suggestion]:
        typed = self._typed()
        corrections = [each for each in typed if repeated.corrects(each.text)][-SENTENCES:]
        questions = [each for each in typed if repeated.asks(each.text)][-SENTENCES:]
        said = repeated.groups(corrections, self._alike, like=LIKE)
        asked = repeated.groups(questions, self._alike, like=LIKE_QUESTION, plain=True)
        return [
            *(self._of_sentences(group, SAID) for group in said if _is_enough(group)),
            *(self._of_sentences(group, ASKED) for group in asked if _is_enough(group)),
            *self._of_commands(),
        ]

    def _typed(self) -> list[Typed]:
        """The sentences that users typed, oldest first."""
        return [
            Typed(each.id, each.session, each.time, self._clock.day_of(each.time), sentence)
            for each in self._history.last("", LOOKED_AT)
            if _is_users(each)
            for sentence in repeated.typed_sentences(each.content)
        ]

    def _of_sentences(self, group: Repetition, what: str) -> Suggestion:
        told = repeated.clearest(group.occasions)
        record = Record(
            id=self._clock.new_id(),
            kind=repeated.kind_of(told.text) if what == SAID else "fact",
            text=one_line(told.text),
            timestamp=self._clock.stamp(),
            session=told.session,
            origin=Origin.OWNER,
            evidence=(told.message, told.time),
            seen=_times((each.time, each.session) for each in group.occasions),
        )
        return Suggestion(what, record, tuple(group.meanings))

    def _of_commands(self) -> list[Suggestion]:
        """What helped after the same failure, each time another session or day."""
        helped: dict[tuple[str, str, str], dict[tuple[str, str], CommandRun]] = {}
        for failed, then in _helped(self._commands.all()):
            key = (failed.command, failed.failure, then.command)
            day = self._clock.day_of(failed.at)
            helped.setdefault(key, {})[failed.session, day] = failed
        return [
            self._of_command(key, [*ran.values()])
            for key, ran in helped.items()
            if len(ran) >= TIMES
        ]

    def _of_command(self, key: tuple[str, str, str], ran: Sequence[CommandRun]) -> Suggestion:
        command, failure, then = map(one_line, key)
        record = Record(
            id=self._clock.new_id(),
            kind="learned",
            text=f"When `{command}` fails ({failure}), run `{then}`.",
            timestamp=self._clock.stamp(),
            session=ran[-1].session,
            origin=Origin.TOOL,
            seen=_times((each.at, each.session) for each in ran),
        )
        return Suggestion(RAN, record)

    def _fresh(self, seen: Iterable[Suggestion]) -> list[Suggestion]:
        """Those that nobody stored, was asked about or forgot. Called under the lock."""
        seen = list(seen)
        if not seen:
            return []
        asked = [record.text for record in self._library.approvals.withheld().values()]
        rules = Query(kinds=(*BEHAVIORAL, "learned"), include_passages=False, limit=1 << 30)
        stored = [hit.record.text for hit in self._library.search(rules)]
        return [each for each in seen if not self._is_known(each, asked, stored)]

    def _is_known(self, each: Suggestion, asked: Sequence[str], stored: Sequence[str]) -> bool:
        text = each.record.text
        if self._library.tombstones.forgotten_by_owner(pieces(text)):
            return True
        plain = each.what == ASKED
        if plain:
            found = self._library.search(Query(text=text, limit=ANSWERS))
            stored = [hit.record.text for hit in found]
        said, alike = each.meanings, self._alike
        return (
            any(normal(other) == normal(text) for other in (*asked, *stored))
            or any(repeated.is_one_of(other, said, alike, plain=plain) for other in asked)
            or any(repeated.says_it(other, said, plain=plain) for other in stored)
        )


def _is_users(message: Message) -> bool:
    """Whether a person said it, for all that is known: the heartbeat and tools do not."""
    from commonplace.history.conversations import HEARTBEAT

    return message.role == "user" and message.channel != BY_TOOL and message.agent != HEARTBEAT


def _is_enough(group: Repetition) -> bool:
    return len(group.occasions) >= TIMES


def _times(seen: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """The last of the times at which something was there, each with its session."""
    return tuple(f"{at} {session}".strip() for at, session in sorted(seen)[-KEPT_TIMES:])


def _helped(ran: Sequence[CommandRun]) -> list[tuple[CommandRun, CommandRun]]:
    """Each failure with the first other command that succeeded after it in its session."""
    pairs = []
    for at, failed in enumerate(ran):
        rest = [each for each in ran[at + 1 :] if each.session == failed.session][:STEPS]
        then = next((each for each in rest if not each.failure), None)
        if failed.failure and then and then.command != failed.command:
            pairs.append((failed, then))
    return pairs


def described(suggestion: Suggestion) -> dict[str, object]:
    """A suggestion as plain data."""
    record = suggestion.record
    return {
        "id": record.id,
        "what": suggestion.what,
        "kind": record.kind,
        "text": record.text,
        "times": list(suggestion.times),
    }
