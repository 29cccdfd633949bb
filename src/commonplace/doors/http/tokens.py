"""Who may come in: tokens with scopes, kept as hashes, and the one-time codes of login links.

It does not know HTTP. A token is shown once, when it is made; what is kept cannot be turned back
into it.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from commonplace import machine_files
from commonplace.clock import Clock
from commonplace.config import is_url
from commonplace.errors import AlreadyExists, BadValue, NotFound
from commonplace.hints import TYPE_CHECKING, Any, Protocol
from commonplace.records import Origin
from commonplace.values import frozen
from commonplace.vault.locks import Lock

if TYPE_CHECKING:
    from commonplace.database import Database

SCOPES = ("read", "write", "admin")
"""Each may do what the ones before it may."""
LOGIN_SECONDS = 600
SESSION_SECONDS = 30 * 24 * 3600
MOST_SESSIONS = 100
LOCK_SECONDS = 10.0
"""How long to wait while others change the file."""


@frozen
class Pass:
    """What a token opens: for whom, to do what, in which vaults (none named: all of them)."""

    name: str
    scope: str
    vaults: tuple[str, ...] = ()
    origin: str = Origin.AGENT
    until: int = 0
    """The second from which it is no longer good; 0 for never."""

    def allows(self, scope: str) -> bool:
        return SCOPES.index(self.scope) >= SCOPES.index(scope)

    def opens(self, vault: str) -> bool:
        return not self.vaults or vault in self.vaults


LOGIN = "login "
"""Before the hash of a code: no token has a blank."""


class NoSuchToken(NotFound):
    """A token name that is not, or no longer, known."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no token {name!r}.", next_step="'commonplace token list' names them."
        )


class Passes(Protocol):
    """Where passes are kept, each under the hash of its token."""

    far: bool
    """Whether to ask takes so long that nobody else should wait for it."""

    def get(self, key: str) -> Pass | None: ...

    def all(self) -> dict[str, Pass]: ...

    def put(self, key: str, made: Pass) -> None: ...

    def put_named(self, key: str, made: Pass) -> bool:
        """Keep a pass, unless there is one of that name. Of several who do so at once, one can."""

    def take(self, key: str) -> Pass | None:
        """Remove a pass. Of several who do so at once, one gets it."""

    def close(self) -> None: ...


class Tokens:
    """Who may come in to one gateway, or to all that share their passes."""

    def __init__(self, passes: Passes, *, clock: Clock) -> None:
        self._passes = passes
        self._clock = clock
        self.far = passes.far
        self.close = passes.close

    def find(self, token: str) -> Pass | None:
        """The pass of a token, if it is good."""
        found = self._passes.get(_hashed(token))
        return found if found and not self._is_over(found) else None

    def named(self) -> list[Pass]:
        """Every pass that was given a name, in their order."""
        passes = self._passes.all().values()
        return sorted((each for each in passes if not each.until), key=lambda each: each.name)

    def add(self, name: str, scope: str, *, vaults: tuple[str, ...] = ()) -> str:
        """Make a token. Returns it: it is not kept and cannot be shown again."""
        _check(name, scope)
        token = secrets.token_urlsafe(32)
        if not self._passes.put_named(_hashed(token), Pass(name, scope, vaults)):
            raise AlreadyExists(f"A token {name!r}", next_step="Choose another name, or revoke it.")
        return token

    def revoke(self, name: str) -> None:
        keys = [key for key, each in self._passes.all().items() if _is_named(each, name)]
        if not keys:
            raise NoSuchToken(name)
        for key in keys:
            self._passes.take(key)

    def login_code(self) -> str:
        """A code that lets a person in once, within minutes."""
        code = secrets.token_urlsafe(24)
        self._keep(LOGIN + _hashed(code), _person(until=self._now() + LOGIN_SECONDS))
        return code

    def log_in(self, code: str) -> str:
        """Exchange a code for a token of a session; empty when the code is not good."""
        found = self._passes.take(LOGIN + _hashed(code))
        if found is None or self._is_over(found):
            return ""
        return self._issue(_person(until=self._now() + SESSION_SECONDS))

    def log_out(self, token: str) -> None:
        self._passes.take(_hashed(token))

    def _issue(self, made: Pass) -> str:
        token = secrets.token_urlsafe(32)
        self._keep(_hashed(token), made)
        return token

    def _keep(self, key: str, made: Pass) -> None:
        """Keep a pass, and let go of what is over and of sessions that are too many."""
        had = {each: one for each, one in self._passes.all().items() if one.until}
        good = [each for each, one in had.items() if not self._is_over(one)]
        for each in had.keys() - set(good[-MOST_SESSIONS:]):
            self._passes.take(each)
        self._passes.put(key, made)

    def _is_over(self, each: Pass) -> bool:
        return bool(each.until) and each.until < self._now()

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

    def put(self, key: str, made: Pass) -> None:
        with self._changing() as passes:
            passes[key] = made

    def put_named(self, key: str, made: Pass) -> bool:
        with self._changing() as passes:
            if any(_is_named(each, made.name) for each in passes.values()):
                return False
            passes[key] = made
            return True

    def take(self, key: str) -> Pass | None:
        with self._changing() as passes:
            return passes.pop(key, None)

    def close(self) -> None:
        self._lock.close()

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Pass]]:
        """What the file says, to be changed and then written by nobody else."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._lock.held():
            before = self._read()
            passes = dict(before)
            yield passes
            if passes != before:
                self._write(passes)

    def _read(self) -> dict[str, Pass]:
        try:
            told = json.loads(machine_files.read(str(self._path)))
        except FileNotFoundError:
            return {}
        return {key: _pass_of(each) for key, each in told.items()}

    def _write(self, passes: dict[str, Pass]) -> None:
        text = json.dumps({key: vars(each) for key, each in passes.items()})
        machine_files.write(str(self._path), text.encode(), durable=True)


class DatabasePasses:
    """Passes beside the memories that they open, for every gateway of one database."""

    far = True

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: str) -> Pass | None:
        return _first(self._database.rows("select pass from token where hash = %s", (key,)))

    def all(self) -> dict[str, Pass]:
        rows = self._database.rows("select hash, pass from token order by made, hash")
        return {key: _pass_of(json.loads(told)) for key, told in rows}

    def put(self, key: str, made: Pass) -> None:
        statement = "insert into token(hash, pass) values (%s, %s) on conflict do nothing"
        self._database.rows(statement, (key, json.dumps(vars(made))))

    def put_named(self, key: str, made: Pass) -> bool:
        def work() -> bool:
            self._database.rows("lock table token in share row exclusive mode")
            if any(_is_named(each, made.name) for each in self.all().values()):
                return False
            self.put(key, made)
            return True

        return self._database.repeated(work)

    def take(self, key: str) -> Pass | None:
        statement = "delete from token where hash = %s returning pass"
        return _first(self._database.rows(statement, (key,)))

    def close(self) -> None:
        self._database.close()


def passes_of(paths: Sequence[str], *, clock: Clock) -> Passes:
    """Those who may ask for these vaults: kept with them where one database has them all."""
    if not paths or not all(map(is_url, paths)):
        return FilePasses(tokens_file())
    from commonplace.database import Database
    from commonplace.database.places import place_of

    places = [place_of(path) for path in paths]
    if len({(place.server, place.schema) for place in places}) > 1:
        return FilePasses(tokens_file())
    return DatabasePasses(Database.open(places[0], clock=clock, create=False))


def _first(rows: Sequence[tuple[str]]) -> Pass | None:
    return _pass_of(json.loads(rows[0][0])) if rows else None


def tokens_file(environ: Any = os.environ) -> Path:
    """Where a gateway of this user keeps its passes."""
    home = environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(home) / "commonplace" / "tokens.json"


def _person(*, until: int) -> Pass:
    """Whoever follows the login link: the person at this machine."""
    return Pass("person", "admin", origin=Origin.OWNER, until=until)


def _is_named(each: Pass, name: str) -> bool:
    return each.name == name and not each.until


def _pass_of(told: dict[str, Any]) -> Pass:
    return Pass(**{**told, "vaults": tuple(told["vaults"])})


def _hashed(token: str) -> str:
    return sha256(token.encode("utf-8", "replace")).hexdigest()


def _check(name: str, scope: str) -> None:
    if not name.strip() or len(name) > 100:
        raise BadValue("name", "it is empty or too long", next_step="Name who will use it.")
    if scope not in SCOPES:
        raise BadValue("scope", f"{scope!r} is not known", next_step=f"Use {', '.join(SCOPES)}.")
