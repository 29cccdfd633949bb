"""Notes, held names and leases as rows of a profile, which all hosts see.

The holder of a name or a lease renews it every five seconds; when the holder dies it is free
fifteen seconds after its last word.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta

from commonplace.model.clock import Clock, stamp
from commonplace.model.errors import Busy, VaultTrouble
from commonplace.model.files import digest
from commonplace.postgres.connection import Database
from commonplace.storage.leases import LONG_AGO, Lease
from commonplace.storage.notes import ended, last_lines

HELD_SECONDS = 15.0
"""How long a row is held without a word from its holder, who speaks three times in it.

A holder that was stopped for longer goes on without knowing that another has begun. Before it
changes documents it asks `still_alone`, in the transaction of the change: the row stays locked
until the commit, so that nobody takes the name before. What changes none, such as a scan, is done
twice.
"""
NOBODY = "00000000-0000-0000-0000-000000000000"
"""One row a name, whoever has it: `said` tells who that is."""

READ = "select data from note where profile = %s and name = %s"
THERE = "select 1 from note where profile = %s and name = %s"
NAMES = "select name from note where profile = %s and starts_with(name, %s) order by name"
REMOVE = "delete from note where profile = %s and name = %s"
WRITE = """
insert into note(profile, name, data) values (%s, %s, %s)
on conflict (profile, name) do update set data = excluded.data
"""
ADD = """
insert into note(profile, name, data) values (%s, %s, %s)
on conflict (profile, name) do update set data = note.data || excluded.data
returning length(data)
"""
SHORTEN = "update note set data = %s where profile = %s and name = %s and data = %s"
# By the clock of the server: those of the hosts may differ. Whether it is over is reckoned from the
# times alone: where a row is, another clock may go.
TAKE = """
insert into lease(profile, name, holder, until, said)
values (%s, %s, %s, now() + make_interval(secs => %s), %s)
on conflict (profile, name, holder) do update set until = excluded.until, said = excluded.said
where excluded.until - lease.until > make_interval(secs => %s) or lease.said = excluded.said
returning said
"""
KEEP = """
update lease set until = now() + make_interval(secs => %s)
where profile = %s and name = %s and holder = %s and said = %s
returning 1
"""
LET_GO = "delete from lease where profile = %s and name = %s and holder = %s and said = %s"
CONVERSATION = "conversation"
SAY = """
insert into lease(profile, name, holder, until, said) values (%s, %s, %s, %s, %s)
on conflict (profile, name, holder) do update set until = excluded.until
"""
END = "delete from lease where profile = %s and name = %s and holder = %s"
END_OLD = "delete from lease where profile = %s and name = %s and until < %s"
RUNNING = """
select said, until from lease where profile = %s and name = %s and until > %s
order by said, until
"""


class PostgresNotes:
    """Notes as rows of a profile."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held = threading.local()

    def read(self, name: str) -> bytes | None:
        found = self._database.rows(READ, (self._database.profile, name))
        return bytes(found[0][0]) if found else None

    def has(self, name: str) -> bool:
        return bool(self._database.rows(THERE, (self._database.profile, name)))

    def write(self, name: str, data: bytes, *, durable: bool = False) -> None:
        self._database.rows(WRITE, (self._database.profile, name, data))

    def change(self, name: str, new: Callable[[bytes | None], bytes]) -> None:
        def work() -> None:
            with self._database.locked():
                self.write(name, new(self.read(name)))

        self._database.repeated(work)

    def add(self, name: str, line: str, *, most: int = 0, kept: int = 0) -> None:
        profile = self._database.profile
        [(size,)] = self._database.rows(ADD, (profile, name, ended(line)))
        if most and size > most:
            data = self.read(name) or b""
            # What somebody adds at this moment is not lost: then it stays long until the next.
            self._database.rows(SHORTEN, (last_lines(data, kept), profile, name, data))

    def names(self, directory: str) -> list[str]:
        self._database.check_open()
        found = self._database.rows(NAMES, (self._database.profile, f"{directory}/"))
        return [name for (name,) in found]

    def remove(self, name: str) -> None:
        self._database.rows(REMOVE, (self._database.profile, name))

    @contextmanager
    def alone(self, name: str) -> Iterator[tuple[int, ...]]:
        row = (self._database.profile, name, NOBODY)
        me = self._database.new_uuid()
        if not self._database.rows(TAKE, (*row, HELD_SECONDS, me, HELD_SECONDS)):
            raise Busy(name, 0)
        self._held.__dict__[name] = me
        with renewed(lambda: self._database.rows(KEEP, (HELD_SECONDS, *row, me))):
            try:
                yield ()
            finally:
                self._held.__dict__.pop(name, None)
                # A server that is gone lets go of it by itself.
                with suppress(VaultTrouble):
                    self._database.rows(LET_GO, (*row, me))

    def still_alone(self, name: str) -> bool:
        me = self._held.__dict__.get(name)
        row = (self._database.profile, name, NOBODY)
        return bool(self._database.rows(KEEP, (HELD_SECONDS, *row, me)))


class PostgresLeases:
    """Leases as rows of a profile."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def note(self, session: str, *, seconds: float) -> Lease:
        profile, long_ago = self._database.profile, self._after(-LONG_AGO)
        self._database.rows(END_OLD, (profile, CONVERSATION, long_ago))
        return self._say(digest(session.encode()), session, self._after(seconds))

    def end(self, session: str) -> None:
        self._end(digest(session.encode()))

    @contextmanager
    def held(self, session: str, *, seconds: float) -> Iterator[Lease]:
        last, holder = self._after(seconds), self._database.new_uuid()

        def say() -> Lease:
            return self._say(holder, session, min(last, self._after(HELD_SECONDS)))

        say()
        with renewed(say):
            try:
                yield Lease(session, stamp(last))
            finally:
                with suppress(VaultTrouble):
                    self._end(holder)

    def running(self) -> list[Lease]:
        row = (self._database.profile, CONVERSATION, self._clock.now())
        found = self._database.rows(RUNNING, row)
        return [Lease(session, stamp(until)) for session, until in found]

    def _say(self, holder: str, session: str, until: datetime) -> Lease:
        row = (self._database.profile, CONVERSATION, holder, until, session)
        self._database.rows(SAY, row)
        return Lease(session, stamp(until))

    def _end(self, holder: str) -> None:
        self._database.rows(END, (self._database.profile, CONVERSATION, holder))

    def _after(self, seconds: float) -> datetime:
        return self._clock.now() + timedelta(seconds=seconds)


@contextmanager
def renewed(renew: Callable[[], object]) -> Iterator[None]:
    """Say again and again, while the block runs, that something is still held."""
    done = threading.Event()

    def speak() -> None:
        while not done.wait(HELD_SECONDS / 3):
            with suppress(VaultTrouble):
                renew()

    speaker = threading.Thread(target=speak, name="commonplace-lease", daemon=True)
    speaker.start()
    try:
        yield
    finally:
        done.set()
        speaker.join()
