"""The grants of a person to clients of OAuth: kept beside the tokens, as hashes, and revocable.

A client asks; the person's answer sends it back with a code; for the code it gets a grant: one
token to come in with for an hour at a time, and one to get the next.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from commonplace.doors.http.access_tokens import (
    ACCESS,
    GRANT,
    OAUTH,
    Pass,
    Passes,
    has_name,
    hashed,
    is_over,
    let_go,
)
from commonplace.model.clock import Clock
from commonplace.model.errors import Refused

CLIENT, CODE, REFRESH, SPENT = "client ", "code ", "refresh ", "spent "
SCOPE = "write"
CODE_SECONDS = 60
ACCESS_SECONDS = 3600
REFRESH_SECONDS = 30 * 24 * 3600
GRACE_SECONDS = 30
"""How long one who sends a spent code or token again may just not have heard of the answer."""
MOST_CLIENTS = 100
MOST_CODES = 100
MOST_OF_A_GRANT = {ACCESS: 3, SPENT: 20}
"""Of each that a client may have by asking for the next again and again."""
Kept = dict[str, Pass]


class TooManyClients(Refused):
    """No client more can be registered: all that are there have been granted something."""

    def __init__(self) -> None:
        super().__init__(
            f"There are {MOST_CLIENTS} clients that were granted something.",
            next_step="'commonplace token revoke NAME' ends what one was granted.",
        )


class Issued(Struct, frozen=True):
    """What a client gets: the token to come in with, and the one for the next."""

    access: str
    refresh: str


class Grants:
    """Clients, codes and grants. Each change is made under the passes' lock."""

    def __init__(self, passes: Passes, *, clock: Clock) -> None:
        self._passes = passes
        self._clock = clock

    def add_client(self, id: str, name: str, told: str) -> None:
        """Keep a client. Of too many, the one goes that came first and was granted nothing."""

        def work(passes: Kept) -> None:
            self._tidy(passes)
            clients = [key for key in passes if key.startswith(CLIENT)]
            wanted = {CLIENT + client for key, each in passes.items() if (client := _of(key, each))}
            free = [key for key in clients if key not in wanted]
            if len(clients) >= MOST_CLIENTS and not free:
                raise TooManyClients
            for key in free[: max(0, len(clients) - MOST_CLIENTS + 1)]:
                del passes[key]
            passes[CLIENT + id] = Pass(name, SCOPE, kept=told)

        self._passes.change(work)

    def client(self, id: str) -> str | None:
        """What was told of a client."""
        found = self._passes.get(CLIENT + id)
        return found.kept if found else None

    def add_code(self, name: str, *, vault: str, told: dict[str, Any]) -> str:
        """A code for a client that a person has said yes to: good once, within a minute.

        `told` is what the exchange of it is checked by, with the `client` that it is for.
        """
        code = secrets.token_urlsafe(32)
        until = self._now() + CODE_SECONDS

        def work(passes: Kept) -> None:
            self._tidy(passes)
            for key in [key for key in passes if key.startswith(CODE)][: -MOST_CODES + 1]:
                del passes[key]
            made = Pass(name, SCOPE, (vault,), until=until, kept=json.dumps(told))
            passes[CODE + hashed(code)] = made

        self._passes.change(work)
        return code

    def code(self, code: str) -> Pass | None:
        """A code, if it is good."""
        found = self._passes.get(CODE + hashed(code))
        if found is None or is_over(found, self._now()):
            self._mind_spent(code)
            return None
        return found

    def exchange(self, code: str) -> Issued | None:
        """What a client is granted for its code. Of several who bring one code, one is."""

        def work(passes: Kept) -> Issued | None:
            found = passes.pop(CODE + hashed(code), None)
            if found is None or is_over(found, self._now()):
                return None
            id, client = secrets.token_hex(16), json.loads(found.kept)["client"]
            name = _free_name(passes, found.name)
            granted = Pass(name, SCOPE, found.vaults, grant=id, kept=client, made=self._now())
            passes[GRANT + id] = granted
            return self._issue(passes, granted, spent=code)

        return self._passes.change(work)

    def refresh(self, token: str) -> Pass | None:
        """The pass of a token for the next, if it is good."""
        found = self._passes.get(REFRESH + hashed(token))
        if found is None or is_over(found, self._now()) or not self._is_granted(found):
            self._mind_spent(token)
            return None
        return found

    def renew(self, token: str) -> Issued | None:
        """The next tokens for the one for them, which is spent. Of several who bring it, one is."""

        def work(passes: Kept) -> Issued | None:
            found = passes.pop(REFRESH + hashed(token), None)
            if found is None or GRANT + found.grant not in passes or is_over(found, self._now()):
                return None
            return self._issue(passes, passes[GRANT + found.grant], spent=token)

        return self._passes.change(work)

    def end(self, token: str, *, client: str) -> None:
        """Take back what a client was granted, by any of its tokens."""

        def work(passes: Kept) -> None:
            for kind in (ACCESS, REFRESH):
                found = passes.get(kind + hashed(token))
                if found and found.kept == client:
                    passes.pop(GRANT + found.grant, None)

        self._passes.change(work)

    def _issue(self, passes: Kept, granted: Pass, *, spent: str) -> Issued:
        now = self._now()
        issued = Issued(OAUTH + secrets.token_urlsafe(32), OAUTH + secrets.token_urlsafe(32))
        given = asdict(granted)
        passes[ACCESS + hashed(issued.access)] = Pass(**given | {"until": now + ACCESS_SECONDS})
        passes[REFRESH + hashed(issued.refresh)] = Pass(**given | {"until": now + REFRESH_SECONDS})
        passes[SPENT + hashed(spent)] = Pass(**given | {"until": now + REFRESH_SECONDS})
        for kind, most in MOST_OF_A_GRANT.items():
            of_it = [key for key, each in passes.items() if _is_of(key, each, kind, granted.grant)]
            for key in of_it[:-most]:
                del passes[key]
        self._tidy(passes)
        return issued

    def _mind_spent(self, code_or_token: str) -> None:
        """Take back the grant of what is sent a second time: somebody else may have it."""

        def work(passes: Kept) -> None:
            found = passes.get(SPENT + hashed(code_or_token))
            spent_at = found.until - REFRESH_SECONDS if found else 0
            if found and self._now() - spent_at > GRACE_SECONDS:
                passes.pop(GRANT + found.grant, None)

        if self._passes.get(SPENT + hashed(code_or_token)):
            self._passes.change(work)

    def _is_granted(self, found: Pass) -> bool:
        return self._passes.get(GRANT + found.grant) is not None

    def _tidy(self, passes: Kept) -> None:
        """Remove expired entries, empty grants, and entries whose grant is gone."""
        let_go(passes, self._now())
        alive = {each.grant for key, each in passes.items() if key.startswith((ACCESS, REFRESH))}
        granted = {each.grant for key, each in passes.items() if key.startswith(GRANT)}
        for key, each in list(passes.items()):
            if each.grant and each.grant not in alive & granted:
                del passes[key]

    def _now(self) -> int:
        return self._clock.now_ns() // 10**9


def _of(key: str, each: Pass) -> str:
    """The client that an entry is for; empty where it is for none, or needs it no more."""
    if key.startswith(CODE):
        return str(json.loads(each.kept)["client"])
    return each.kept if key.startswith(GRANT) else ""


def _is_of(key: str, each: Pass, kind: str, grant: str) -> bool:
    return key.startswith(kind) and each.grant == grant


def _free_name(passes: Kept, name: str) -> str:
    """The name, with a number where there is one of it."""
    taken = {each.name for key, each in passes.items() if has_name(key, each)}
    names = (name, *(f"{name} {number}" for number in range(2, len(taken) + 3)))
    return next(each for each in names if each not in taken)
