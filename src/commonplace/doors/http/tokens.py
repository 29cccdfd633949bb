"""Who may come in: tokens with scopes, kept as hashes, and the one-time codes of login links.

It does not know HTTP. A token is shown once, when it is made; what is kept cannot be turned back
into it.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
from hashlib import sha256
from pathlib import Path

from commonplace.clock import Clock
from commonplace.errors import AlreadyExists, BadValue, NotFound
from commonplace.hints import Any
from commonplace.records import Origin
from commonplace.values import frozen

SCOPES = ("read", "write", "admin")
"""Each may do what the ones before it may."""
LOGIN_SECONDS = 600
SESSION_SECONDS = 30 * 24 * 3600
MOST_SESSIONS = 100


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


class Tokens:
    """The passes of one gateway, in one file that only its owner may read."""

    def __init__(self, path: Path, *, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._guard = threading.Lock()
        self._passes: dict[str, Pass] = {}
        self._stamp: tuple[int, int] = (0, 0)

    def find(self, token: str) -> Pass | None:
        """The pass of a token, if it is good."""
        found = self._read().get(_hashed(token))
        return found if found and not self._is_over(found) else None

    def named(self) -> list[Pass]:
        """Every pass that was given a name, in their order."""
        passes = self._read().values()
        return sorted((each for each in passes if not each.until), key=lambda each: each.name)

    def add(self, name: str, scope: str, *, vaults: tuple[str, ...] = ()) -> str:
        """Make a token. Returns it: it is not kept and cannot be shown again."""
        _check(name, scope)
        if any(each.name == name for each in self.named()):
            raise AlreadyExists(f"A token {name!r}", next_step="Choose another name, or revoke it.")
        return self._issue(Pass(name, scope, vaults))

    def revoke(self, name: str) -> None:
        if not any(each.name == name for each in self.named()):
            raise NoSuchToken(name)
        with self._guard:
            kept = {
                key: each for key, each in self._read().items() if each.until or each.name != name
            }
            self._write(kept)

    def login_code(self) -> str:
        """A code that lets a person in once, within minutes."""
        code = secrets.token_urlsafe(24)
        self._keep(LOGIN + _hashed(code), _person(until=self._now() + LOGIN_SECONDS))
        return code

    def log_in(self, code: str) -> str:
        """Exchange a code for a token of a session; empty when the code is not good."""
        key = LOGIN + _hashed(code)
        with self._guard:
            known = self._read()
            found = known.get(key)
            if found is None or self._is_over(found):
                return ""
            self._write({each: known[each] for each in known if each != key})
        return self._issue(_person(until=self._now() + SESSION_SECONDS))

    def log_out(self, token: str) -> None:
        with self._guard:
            kept = {key: each for key, each in self._read().items() if key != _hashed(token)}
            self._write(kept)

    def _issue(self, made: Pass) -> str:
        token = secrets.token_urlsafe(32)
        self._keep(_hashed(token), made)
        return token

    def _keep(self, key: str, made: Pass) -> None:
        with self._guard:
            good = {each: had for each, had in self._read().items() if not self._is_over(had)}
            sessions = [each for each, had in good.items() if had.until]
            for each in sessions[: max(0, len(sessions) - MOST_SESSIONS)]:
                del good[each]
            self._write(good | {key: made})

    def _is_over(self, each: Pass) -> bool:
        return bool(each.until) and each.until < self._now()

    def _now(self) -> int:
        return self._clock.now_ns() // 10**9

    def _read(self) -> dict[str, Pass]:
        """What the file says; read again only when it changed."""
        try:
            stat = self._path.stat()
        except FileNotFoundError:
            return {}
        stamp = (stat.st_mtime_ns, stat.st_ino)
        if stamp != self._stamp:
            told = json.loads(self._path.read_text(encoding="utf-8"))
            self._passes = {key: _pass_of(each) for key, each in told.items()}
            self._stamp = stamp
        return self._passes

    def _write(self, passes: dict[str, Pass]) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh = self._path.with_name(f".{self._path.name}.{secrets.token_hex(4)}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:
            json.dump({key: vars(each) for key, each in passes.items()}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, self._path)


def tokens_file(environ: Any = os.environ) -> Path:
    """Where a gateway of this user keeps its passes."""
    home = environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
    return Path(home) / "commonplace" / "tokens.json"


def _person(*, until: int) -> Pass:
    """Whoever follows the login link: the person at this machine."""
    return Pass("person", "admin", origin=Origin.OWNER, until=until)


def _pass_of(told: dict[str, Any]) -> Pass:
    return Pass(**{**told, "vaults": tuple(told["vaults"])})


def _hashed(token: str) -> str:
    return sha256(token.encode("utf-8", "replace")).hexdigest()


def _check(name: str, scope: str) -> None:
    if not name.strip() or len(name) > 100:
        raise BadValue("name", "it is empty or too long", next_step="Name who will use it.")
    if scope not in SCOPES:
        raise BadValue("scope", f"{scope!r} is not known", next_step=f"Use {', '.join(SCOPES)}.")
