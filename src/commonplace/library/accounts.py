"""Tell a person what a record rests on, and what became of the agent's wording."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import asdict, replace

from commonplace.history.messages import Message
from commonplace.library import quoting, steering
from commonplace.library.library import Library
from commonplace.model.records import BEHAVIORAL, INFERRED, Origin, Record
from commonplace.search.index import Query
from commonplace.storage.sessions import Sessions
from commonplace.trust.evidence import untyped
from commonplace.trust.neutralise import one_line
from commonplace.trust.sentences import sentences

MOST_QUOTED = 200
"""Characters of a message that are shown beside others."""


class Account(Struct, frozen=True):
    """What one record rests on."""

    state: str = ""
    """Whose words are told, and what waits."""
    message: str = ""
    """The id of the user's message."""
    said: str = ""
    """That message, where the history has it still."""
    said_at: str = ""
    sentence: str = ""
    wording: str = ""
    """The agent's."""
    wording_id: str = ""
    untyped: tuple[str, ...] = ()
    """What the wording names and the user did not type."""
    read_before: tuple[tuple[str, str], ...] = ()
    """What its session had read: the name of each, and when."""
    changes: str = ""
    """What an approval would change."""
    when: tuple[str, ...] = ()
    """The moments at which it is told; none: at any time."""
    times: tuple[tuple[str, str, str], ...] = ()
    """Of what history suggested, when it was there: the time, the session, and the message."""

    def lines(self) -> list[str]:
        """The same for a person to read, a line each."""
        read = ", ".join(f"{what} ({at[:16]})" if at else what for what, at in self.read_before)
        told = {
            "state": self.state,
            "the user said": f"“{self.sentence}” ({self.said_at[:10]})" if self.sentence else "",
            "in the message": f"{self.message}: {self.said}" if self.said else self.message,
            "the agent's wording": self.wording,
            "not typed by the user": ", ".join(self.untyped),
            "read before": read,
            "told only at": "; ".join(self.when),
        }
        found = [f"{name}: {one_line(value)}" for name, value in told.items() if value]
        found += [_told_time(*each) for each in self.times]
        if self.changes:
            found += ["approval would change:", *(f"  {x}" for x in self.changes.splitlines())]
        return found


class Accounts:
    """Tells of records what they rest on. Made for one look: what it has read it keeps."""

    def __init__(
        self,
        library: Library,
        sessions: Sessions,
        *,
        of_user: Callable[[str], Sequence[Message]],
        targets: Callable[[Record], Sequence[str]],
    ) -> None:
        self._library = library
        self._sessions = sessions
        self._of_user = of_user
        self._targets = targets
        self._said: dict[str, Sequence[Message]] = {}

    @cached_property
    def _held(self) -> dict[str, Record]:
        return self._library.approvals.withheld()

    @cached_property
    def _decided(self) -> dict[str, str]:
        return self._library.approvals.decisions()

    @cached_property
    def _learned(self) -> dict[str, str]:
        return self._library.approvals.learned()

    @cached_property
    def _changes(self) -> dict[str, dict[str, str]]:
        return self._library.approvals.held_changes()

    def of(self, record: Record) -> Account:
        """The account of a record, be it told or waiting."""
        waits = record.id in self._held and record.id not in self._decided
        account = self._waiting(record) if waits else self._told(record)
        return replace(account, when=record.when) if record.when else account

    def _told(self, record: Record) -> Account:
        before = self._read_before(record)
        if not record.cites:
            return Account(self._unfounded(record), read_before=before)
        wording = self._wording_of(record) if record.is_quote else record
        account = replace(
            self._cited(record), state=self._state(record, wording), read_before=before
        )
        return replace(account, wording=wording.text, wording_id=wording.id) if wording else account

    def _unfounded(self, record: Record) -> str:
        if record.origin == Origin.OWNER:
            return "your own words" if record.behavioral else ""
        if record.id in self._decided:
            return "told in the agent's wording, which a person approved"
        if record.evidence == INFERRED:
            return "told in the agent's wording, inferred: no message of the user's says it"
        return "told in the agent's wording, which cites no message" if record.behavioral else ""

    def _wording_of(self, record: Record) -> Record | None:
        """The last of the agents' wordings of a sentence."""
        found = [each for each in self._held.values() if each.words_one_of((record.id,))]
        return found[-1] if found else None

    def _state(self, record: Record, wording: Record | None) -> str:
        if not record.is_quote:
            whose = ", which a person approved" if record.id in self._decided else ""
            return f"told in the agent's wording{whose}"
        if wording is None:
            return "told in the user's words"
        fate = {"approve": "was approved", "reject": "was rejected"}
        became = fate.get(self._decided.get(wording.id, ""), f"waits as {wording.id}")
        return f"told in the user's words; the agent's wording {became}"

    def _waiting(self, record: Record) -> Account:
        if record.id in self._learned:
            return self._suggested(record)
        return replace(
            self._cited(record) if record.cites else Account(),
            state=f"waits; {self._told_meanwhile(record)}",
            wording=record.text,
            wording_id=record.id,
            untyped=self._untyped(record),
            read_before=self._read_before(record),
            changes=self._foreseen(record),
        )

    def _suggested(self, record: Record) -> Account:
        """The account of what history showed three times: each of them."""
        return Account(
            state="waits; nothing is told meanwhile",
            message=record.evidence[0] if record.cites else "",
            untyped=() if record.cites else self._untyped(record),
            changes=self._foreseen(record),
            times=tuple(self._time(each) for each in record.seen),
        )

    def _time(self, seen: str) -> tuple[str, str, str]:
        at, _, session = seen.partition(" ")
        said = (each.content for each in self._messages(session) if each.time == at)
        return at, session, next(said, "")

    def _told_meanwhile(self, record: Record) -> str:
        if not record.cites:
            # What comes from the user's own file rests on no sentence of a conversation.
            is_own = record.origin in (Origin.OWNER, Origin.IMPORT)
            return "nothing is told meanwhile" if is_own else "no sentence of the user's is told"
        told = "the user's sentence is told" if self._is_told(record) else "nothing is told"
        return f"{told} meanwhile"

    def _is_told(self, record: Record) -> bool:
        """Whether the sentence that a waiting text rests on is told already."""
        if record.id in self._changes:
            return True
        said = Query(session=record.session, kinds=tuple(BEHAVIORAL), limit=1 << 30)
        told = (hit.record for hit in self._library.index.search(said))
        return any(each.is_quote and each.evidence == record.evidence[:2] for each in told)

    def _read_before(self, record: Record) -> tuple[tuple[str, str], ...]:
        """What its session had read when it was made; what has no time, too."""
        taints = self._sessions.read(record.session).taints if record.session else ()
        return tuple((what, at) for what, at in taints if at <= record.timestamp)

    def _cited(self, record: Record) -> Account:
        """The message and the sentence that a record cites."""
        message, said_at, *sentence = record.evidence
        messages = self._messages(record.session)
        said = next((each.content for each in messages if each.id == message), "")
        return Account(
            message=message,
            said=said,
            said_at=said_at,
            sentence=sentence[0] if sentence else record.text,
        )

    def _messages(self, session: str) -> Sequence[Message]:
        if session not in self._said:
            self._said[session] = self._of_user(session) if session else ()
        return self._said[session]

    def _untyped(self, record: Record) -> tuple[str, ...]:
        if record.origin == Origin.IMPORT:
            return ()  # It stood in a file, which the person named.
        said = quoting.said_by(self._messages(record.session))
        return untyped(record.text, (each for one in said for each in sentences(one.text)))

    def _foreseen(self, record: Record) -> str:
        if record.id in self._changes:
            held = self._changes[record.id]
            diff = steering.foreseen(self._library, record, held)
            return f"{held['document']}\n{diff}".rstrip()
        if stands := self._library.index.get(record.id):
            names = ", ".join(dict.fromkeys(place.document for place in stands.places))
            return f"{names}\nThe line stays as it is, and prompts tell it."
        old = self._library.index.get(record.supersedes) if record.supersedes else None
        added = f"+ {one_line(record.text)}"
        where = ", ".join(self._targets(record))
        return f"{where}\n- {one_line(old.record.text)}\n{added}" if old else f"{where}\n{added}"


def _told_time(at: str, session: str, said: str) -> str:
    quote = one_line(said)
    quote = f": “{quote[:MOST_QUOTED]}{'…' * (len(quote) > MOST_QUOTED)}”" if quote else ""
    return f"on {at[:10]}, session {one_line(session) or 'unknown'}{quote}"


def data_of(account: Account) -> dict[str, object]:
    """An account as plain data, without what is empty."""
    return {name: value for name, value in asdict(account).items() if value}
