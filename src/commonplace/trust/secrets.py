"""Finds secrets in a text: keys and tokens by their shape, passwords by the words around them.

The forms stand in `secret_forms`, each with the name of the judge (`secret_judges`) that looks at
what its pattern matched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from commonplace.trust.secret_judges import Judge

# Every store imports this module, and most texts hold no secret: the table and the judges are
# imported, and a pattern is compiled, by the first text that needs them.


class Secret(Struct, frozen=True):
    """A secret found in a text: what kind it is and where it stands."""

    name: str
    start: int
    end: int


# Where a secret ends the words that announce the next may have begun.
_LONGEST_CUE = 100


def find_secrets(text: str) -> tuple[Secret, ...]:
    """The secrets in `text`, in order, none overlapping another."""
    low = text.lower()
    found = [secret for look in _looks(text, low) for secret in _seen(text, low, look)]
    return _apart([*found, *_again(text, found)]) if found else ()


def _again(text: str, found: list[Secret]) -> Iterator[Secret]:
    """The other places of what was found: once it is known as a secret, it is one everywhere."""
    values = {text[secret.start : secret.end]: secret.name for secret in found}
    for value, name in islice(values.items(), _MOST_SOUGHT_AGAIN):
        if 5 < len(value) < 8000 and text.count(value) > 1:
            for match in re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", text):
                yield Secret(name, *match.span())


# Each costs a pass over the text: a dump of thousands of secrets is not searched for each of them.
_MOST_SOUGHT_AGAIN = 100


def _looks(text: str, low: str) -> Iterator[str]:
    """The looks that are worth it, the one that tells most of what it finds first."""
    is_long = _long_run().search(text) is not None
    if is_long:
        yield from ("token", "shape")
        if _blob().search(text):
            yield "blob"
    if _digits().search(text):
        yield "digits"
        if _number().search(text):
            yield "number"
    if is_long:
        yield "long"
    if _hinted(low):
        yield from ("env", "said")


def redact(text: str) -> tuple[str, tuple[Secret, ...]]:
    """`text` with `[redacted NAME]` for each secret, and the secrets, placed as in `text`."""
    secrets = find_secrets(text)
    for secret in reversed(secrets):
        text = f"{text[: secret.start]}[redacted {secret.name}]{text[secret.end :]}"
    return text, secrets


def _apart(found: list[Secret]) -> tuple[Secret, ...]:
    """Overlapping finds as one; the name of the one that begins first, or is longest, stays."""
    apart: list[Secret] = []
    for secret in sorted(found, key=lambda secret: (secret.start, -secret.end)):
        if apart and secret.start < apart[-1].end:
            last = apart.pop()
            secret = Secret(last.name, last.start, max(last.end, secret.end))
        apart.append(secret)
    return tuple(apart)


@cache
def _long_run() -> re.Pattern[str]:
    """What every token has and few sentences: a long run of ASCII without a space."""
    return re.compile(r"[!-~]{16}|-----BEGIN")


@cache
def _blob() -> re.Pattern[str]:
    return re.compile(r"[!-~]{50}")


@cache
def _digits() -> re.Pattern[str]:
    return re.compile(r"[0-9][0-9A-F-][0-9]")


@cache
def _number() -> re.Pattern[str]:
    return re.compile("(?:[0-9][ -]?){10}")


_HINTS = (
    "pass|pw|psk|mdp|key|token|secret|credential|auth|login|creds|user|account|@|api|"
    "phrase|mnemonic|seed|words|recovery|backup|question|machine |basic |curl |mysql|redis-cli|"
    "psql|ldap|net use|wpa|kennwort|losungs|zugangscode|contrase|clave|senha|wachtw|adgangs|"
    "kodeord|heslo|parola|salasana|kata s|lozinka|geslo|benutzer|usuario|utente|access|client|"
    "wiederherst|sicherheits|root:|log in|sign in|logged in|signed in|activation code|anmeldung|"
    "anmeldedaten|zugangsdaten|identifiants|credenc|credenz|chave|chiave|codice di|wifi|wi-fi"
)
_OTHER_HINTS = (
    "|clé|usuário"
    "|lösen|jelsz|schlüssel|hasło|şifre|mật kh|密码|密碼|口令|パスワード|暗証番号|비밀번호|암호|"
    "парол|كلمة المرور|كلمة السر|رمز عبور|पासवर्ड|סיסמ|รหัสผ่าน|κωδικός"
)


@cache
def _hints(ascii_only: bool) -> tuple[str, ...]:
    return tuple((_HINTS if ascii_only else _HINTS + _OTHER_HINTS).split("|"))


def _hinted(low: str) -> bool:
    """Whether somebody may say a secret: plain tests, as nearly every text fails them."""
    for hint in _hints(low.isascii()):  # noqa: SIM110 - any() takes twice as long
        if hint in low:
            return True
    return False


@cache
def _forms(look: str) -> tuple[tuple[str, list[list[str]], str, str], ...]:
    """Name, hints, pattern and judge of each form of a look."""
    from commonplace.trust.secret_forms import FORMS

    divided = " " if look == "token" else "|"
    return tuple(
        (name, [hint.split("&") for hint in hints.split(divided)], pattern, judge)
        for name, its_look, hints, pattern, judge, _, _ in FORMS
        if its_look == look
    )


def _seen(text: str, low: str, look: str) -> Iterator[Secret]:
    from commonplace.trust.secret_judges import JUDGES, group

    searched = text if look in ("token", "env") else low
    for name, hints, pattern, judge in _forms(look):
        present = [hint[0] for hint in hints if hint[0] in searched and hint[-1] in searched]
        if present:
            for match in _matches(text, look, pattern, present, JUDGES[judge]):
                yield Secret(name, *match.span(0 if look == "token" else group(match)))


def _matches(
    text: str, look: str, pattern: str, hints: list[str], holds: Judge
) -> Iterator[re.Match[str]]:
    if look == "token":
        prefixes = "|".join(map(re.escape, sorted(hints, key=len, reverse=True)))
        pattern = rf"(?<![A-Za-z0-9])(?:{prefixes})(?P<body>{pattern})"
    if look in ("token", "shape", "blob"):
        return filter(holds, re.finditer(pattern, text))
    return _announced(text, re.compile(pattern, re.I), holds)


def _announced(text: str, pattern: re.Pattern[str], holds: Judge) -> Iterator[re.Match[str]]:
    """Every match that holds. In a value that is none, and at the end of one, others may begin."""
    place = 0
    while match := pattern.search(text, place):
        place = max(match.end("cue"), match.start() + 1)
        if holds(match):
            yield match
            place = max(place, match.end() - _LONGEST_CUE)
