"""Who may come in: tokens with scopes, kept as hashes, and the one-time codes of login links.

A token is shown once, when it is made; its hash cannot be turned back into it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from commonplace.model.clock import Clock, stamp
from commonplace.model.errors import AlreadyExists, BadValue, NotFound
from commonplace.model.options import is_url
from commonplace.model.records import Origin
from commonplace.storage import machine_files
from commonplace.storage.locks import Lock

if TYPE_CHECKING:
    from commonplace.postgres.connection import Database

Result = TypeVar("Result")
SCOPES = ("metrics", "read", "write", "admin")
"""Each may do what the ones before it may. The first reads counts, and nothing of any vault."""
LINK = "commonplace serve --link"
"""The command that lets a person in."""
LOGIN_SECONDS = 600
SESSION_SECONDS = 30 * 24 * 3600
MOST_SESSIONS = 100
USED_SECONDS = 600
"""How long after a use the next one is not noted: to note it is to write the file."""
LOCK_SECONDS = 10.0
"""How long to wait while others change the file."""


class Pass(Struct, frozen=True):
    """What a token opens: for whom, to do what, in which vaults (none named: all of them)."""

    name: str
    scope: str
    vaults: tuple[str, ...] = ()
    origin: str = Origin.AGENT
    until: int = 0
    """The second from which it is no longer good; 0 for never."""
    grant: str = ""
    """What a person granted to a client of OAuth, on which it hangs; empty for other tokens."""
    kept: str = ""
    """What is kept with it, beside what it opens."""
    made: int = 0
    """The second in which it was made; 0 where that was not noted."""
    used: int = 0
    """A second in which it was used, no more than `USED_SECONDS` before the last time."""

    def allows(self, scope: str) -> bool:
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    def opens(self, vault: str) -> bool:
        return not self.vaults or vault in self.vaults

    def told(self) -> dict[str, Any]:
        """What the owner is told about the pass."""
        return {
            "name": self.name,
            "scope": self.scope,
            "vaults": list(self.vaults),
            "origin": self.origin,
            "oauth": bool(self.grant),
            "made": _stamped(self.made),
            "used": _stamped(self.used),
        }


LOGIN = "login "
"""Before the hash of a code: no token has a blank. So with what stands for OAuth."""
ACCESS = "access "
GRANT = "grant "
OAUTH = "cpo-"
"""How a token begins that a client got by OAuth."""


class Passes(Protocol):
    """Where passes are kept, each under the hash of its token."""

    far: bool
    """Whether to ask takes so long that nobody else should wait for it."""

    def get(self, key: str) -> Pass | None: ...

    def all(self) -> dict[str, Pass]: ...

    def change(self, work: Callable[[dict[str, Pass]], Result]) -> Result:
        """Read the passes, let `work` change them and write them, under a lock."""

    def close(self) -> None: ...


class AccessTokens:
    """Who may come in to one gateway, or to all that share their passes."""

    def __init__(self, passes: Passes, *, clock: Clock) -> None:
        self._passes = passes
        self._clock = clock
        self.far = passes.far
        self.close = passes.close

    def find(self, token: str) -> Pass | None:
        """The pass of a token, if it is good."""
        found = self._passes.get((ACCESS if token.startswith(OAUTH) else "") + hashed(token))
        if found is None or is_over(found, self._now()):
            return None
        is_granted = not found.grant or self._passes.get(GRANT + found.grant)
        return found if is_granted else None

    def is_use_due(self, found: Pass) -> bool:
        """Whether the last use that is noted of a named pass is long ago."""
        is_person = found.origin == Origin.OWNER
        return not is_person and self._now() - found.used >= USED_SECONDS

    def note_use(self, token: str) -> None:
        """Note that a token, or the grant that it hangs on, is used now."""

        def work(passes: dict[str, Pass]) -> None:
            key = (ACCESS if token.startswith(OAUTH) else "") + hashed(token)
            found = passes.get(key)
            for each in (key, f"{GRANT}{found.grant}" if found and found.grant else ""):
                if each in passes:
                    passes[each] = replace(passes[each], used=self._now())

        self._passes.change(work)

    def named(self) -> list[Pass]:
        """Every pass that was given a name, in their order."""
        passes = self._passes.all().items()
        return sorted(
            (each for key, each in passes if has_name(key, each)), key=lambda each: each.name
        )

    def add(self, name: str, scope: str, *, vaults: tuple[str, ...] = ()) -> str:
        """Make a token. Returns it: it is not kept and cannot be shown again."""
        _check(name, scope)
        token = secrets.token_urlsafe(32)

        def work(passes: dict[str, Pass]) -> bool:
            if any(has_name(key, each) and each.name == name for key, each in passes.items()):
                return False
            passes[hashed(token)] = Pass(name, scope, vaults, made=self._now())
            return True

        if not self._passes.change(work):
            raise AlreadyExists(f"A token {name!r}", next_step="Choose another name, or revoke it.")
        return token

    def revoke(self, name: str) -> None:
        """End a token, or all that was granted under a name to a client of OAuth."""

        def work(passes: dict[str, Pass]) -> list[str]:
            keys = [
                key for key, each in passes.items() if has_name(key, each) and each.name == name
            ]
            for key in keys:
                del passes[key]
            return keys

        if not self._passes.change(work):
            raise NotFound(
                f"There is no token {name!r}.", next_step="'commonplace token list' names them."
            )

    def rename_vault(self, vault: str, new: str) -> None:
        """Let every token that opens a vault open it by its new name."""

        def work(passes: dict[str, Pass]) -> None:
            for key, each in list(passes.items()):
                vaults = tuple(new if name == vault else name for name in each.vaults)
                passes[key] = replace(each, vaults=vaults)

        self._passes.change(work)

    def drop_vault(self, vault: str) -> list[str]:
        """Revoke the tokens that open this vault alone; others open it no more.

        Returns the names of the revoked ones.
        """

        def work(passes: dict[str, Pass]) -> list[str]:
            gone = [key for key, each in passes.items() if each.vaults == (vault,)]
            names = [passes.pop(key).name for key in gone]
            for key, each in list(passes.items()):
                rest = tuple(name for name in each.vaults if name != vault)
                passes[key] = replace(each, vaults=rest)
            return sorted(names)

        return self._passes.change(work)

    def hand_over(self, vault: str, others: AccessTokens, *, name: str) -> int:
        """Let the tokens that open this vault alone open one at the gateways that others have.

        Returns how many there are.
        """
        of_it = {
            key: replace(each, vaults=(name,))
            for key, each in self._passes.all().items()
            if each.vaults == (vault,)
        }
        others._passes.change(lambda passes: passes.update(of_it))
        return len(of_it)

    def login_code(self) -> str:
        """A code that lets a person in once, within minutes."""
        code = secrets.token_urlsafe(24)
        made = _person(until=self._now() + LOGIN_SECONDS)
        self._passes.change(lambda passes: self._keep(passes, LOGIN + hashed(code), made))
        return code

    def log_in(self, code: str) -> str:
        """Exchange a code for a token of a session; empty when the code is not good."""
        token = secrets.token_urlsafe(32)

        def work(passes: dict[str, Pass]) -> str:
            found = passes.pop(LOGIN + hashed(code), None)
            if found is None or is_over(found, self._now()):
                return ""
            self._keep(passes, hashed(token), _person(until=self._now() + SESSION_SECONDS))
            return token

        return self._passes.change(work)

    def log_out(self, token: str) -> None:
        self._passes.change(lambda passes: passes.pop(hashed(token), None))

    def _keep(self, passes: dict[str, Pass], key: str, made: Pass) -> None:
        """Keep a pass; remove expired ones and sessions beyond the limit."""
        let_go(passes, self._now())
        people = [each for each, one in passes.items() if one.origin == Origin.OWNER]
        for each in people[: max(0, len(people) - MOST_SESSIONS + 1)]:
            del passes[each]
        passes[key] = made

    def _now(self) -> int:
        return self._clock.now_ns() // 10**9


class FilePasses:
    """Passes in one file that only its owner may read.

    Every command and every gateway of a user changes the same one, each under a lock beside it.
    """

    far = False

    def __init__(self, path: Path) -> None:
        # The directory may be behind a link of the person's own; nothing in it may be one.
        path = self._path = path.parent.resolve() / path.name
        self._lock = Lock(path.with_suffix(".lock"), seconds=LOCK_SECONDS, clock=Clock())
        self._seen: tuple[object, dict[str, Pass]] = (None, {})
        """How the file looked when it was last read, and what it said."""

    def get(self, key: str) -> Pass | None:
        return self.all().get(key)

    def all(self) -> dict[str, Pass]:
        """What the file says; read again only when it changed."""
        stat = machine_files.look(str(self._path)) if self._path.parent.is_dir() else None
        if stat is None:
            return {}
        look = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
        if look != self._seen[0]:
            self._seen = look, self._read()
        return self._seen[1]

    def change(self, work: Callable[[dict[str, Pass]], Result]) -> Result:
        machine_files.make_private(self._path.parent)
        with self._lock.held():
            before = self._read()
            passes = dict(before)
            done = work(passes)
            if passes != before:
                kept = msgspec.json.encode(passes)
                machine_files.write(str(self._path), kept, durable=True)
            return done

    def close(self) -> None:
        self._lock.close()

    def _read(self) -> dict[str, Pass]:
        try:
            kept = machine_files.read(str(self._path))
        except FileNotFoundError:
            return {}
        return msgspec.json.decode(kept, type=dict[str, Pass])


PUT = """insert into token(hash, pass) values (%s, %s)
    on conflict (hash) do update set pass = excluded.pass"""


class DatabasePasses:
    """Passes beside the memories that they open, for every gateway of one database."""

    far = True

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str) -> Pass | None:
        rows = self._database.rows("select pass from token where hash = %s", (key,))
        return msgspec.json.decode(rows[0][0], type=Pass) if rows else None

    def all(self) -> dict[str, Pass]:
        rows = self._database.rows("select hash, pass from token order by made, hash")
        return {key: msgspec.json.decode(told, type=Pass) for key, told in rows}

    def change(self, work: Callable[[dict[str, Pass]], Result]) -> Result:
        def changed() -> Result:
            self._database.rows("lock table token in share row exclusive mode")
            before = self.all()
            passes = dict(before)
            done = work(passes)
            for key in before.keys() - passes.keys():
                self._database.rows("delete from token where hash = %s", (key,))
            for key, made in passes.items():
                if before.get(key) != made:
                    self._database.rows(PUT, (key, msgspec.json.encode(made).decode()))
            return done

        return self._database.repeated(changed)

    def close(self) -> None:
        self._database.close()


def passes_of(paths: Sequence[str], *, clock: Clock) -> Passes:
    """The passes to these vaults, in their database if they share one."""
    if not paths or not all(map(is_url, paths)):
        return FilePasses(tokens_file())
    from commonplace.postgres.connection import Database
    from commonplace.postgres.urls import parse_url

    places = [parse_url(path) for path in paths]
    if len({(place.server, place.schema) for place in places}) > 1:
        return FilePasses(tokens_file())
    return DatabasePasses(Database.open_whole(places[0], clock=clock))


def tokens_file(environ: Any = os.environ) -> Path:
    """Where a gateway of this user keeps its passes."""
    home = environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(home) / "commonplace" / "tokens.json"


def _person(*, until: int) -> Pass:
    """Whoever follows the login link: the person at this machine."""
    return Pass("person", "admin", origin=Origin.OWNER, until=until)


def has_name(key: str, each: Pass) -> bool:
    """Whether the pass has a name: a token, or a grant to a client."""
    return not each.until and (" " not in key or key.startswith(GRANT))


def command_for(scope: str) -> str:
    """The command that makes a token for a program."""
    return f"commonplace token add NAME --scope {scope}"


def is_over(each: Pass, now: int) -> bool:
    return bool(each.until) and each.until < now


def let_go(passes: dict[str, Pass], now: int) -> None:
    """Remove expired passes."""
    for key in [key for key, each in passes.items() if is_over(each, now)]:
        del passes[key]


def _stamped(second: int) -> str:
    """A second as a time of UTC; empty where it was not noted."""
    return stamp(datetime.fromtimestamp(second, UTC)) if second else ""


def hashed(token: str) -> str:
    return sha256(token.encode("utf-8", "replace")).hexdigest()


def _check(name: str, scope: str) -> None:
    if not name.strip() or len(name) > 100:
        raise BadValue("name", "it is empty or too long", next_step="Name who will use it.")
    if scope not in SCOPES:
        raise BadValue("scope", f"{scope!r} is not known", next_step=f"Use {', '.join(SCOPES)}.")
