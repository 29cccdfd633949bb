"""Secrets in texts: found, removed, and not seen where there are none."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from random import Random
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.markdown import record_lines as lines
from commonplace.model.clock import uuid7
from commonplace.model.records import Record
from commonplace.trust import secrets as looking
from commonplace.trust.neutralise import neutralise
from commonplace.trust.secret_forms import FORMS
from commonplace.trust.secrets import Secret, find_secrets, redact
from tests.support.free_sentences import INNOCENT, INNOCENT_HELD_OUT, TELLING, TELLING_HELD_OUT
from tests.support.ordinary_lines import ordinary_lines
from tests.support.planted_secrets import DRAWN, drawn, drawn_pieces, planted_secrets


def test_nineteen_in_twenty_planted_secrets_are_found_and_wholly_removed() -> None:
    planted = planted_secrets()
    missed, left = [], []
    for item in planted:
        text, secrets = redact(item.sentence)
        if not secrets:
            missed.append(item.name)
        elif any(line in text for line in item.secret.split("\n")):
            left.append((item.name, text))
    assert len(planted) >= 140
    assert left == []
    assert len(missed) <= len(planted) / 20, f"missed {len(missed)} of {len(planted)}: {missed}"


def test_at_most_one_ordinary_line_in_5000_is_taken_for_a_secret() -> None:
    lines = ordinary_lines()
    alarms = [(line, find_secrets(line)) for line in lines if find_secrets(line)]
    assert len(lines) >= 5000
    assert len(alarms) <= len(lines) // 5000, alarms


@pytest.mark.parametrize("row", FORMS, ids=lambda row: f"{row[0]}: {row[6][:30]}")
def test_each_form_finds_its_example_and_leaves_its_counter_example(row: tuple[str, ...]) -> None:
    *_, example, counter = row
    assert redact(counter) == (counter, ())
    for seed in range(20 if DRAWN.search(example) else 1):
        text = drawn(example, Random(seed))
        assert not example or (find_secrets(text) and text != redact(text)[0]), text


def test_of_what_is_drawn_in_an_example_nothing_is_left() -> None:
    for *_, example, _ in FORMS:
        for seed in range(5):
            text = redact(drawn(example, Random(seed)))[0]
            for piece in drawn_pieces(example, Random(seed)):
                assert len(piece) < 12 or piece.isdigit() or piece not in text, example


@given(at=st.integers(0, 2**48 - 1), form=st.sampled_from(["native", "claw"]))
def test_a_line_of_ours_with_its_ids_holds_no_secret(at: int, form: str) -> None:
    ids = [f"{kind}-{uuid7(at * 1_000_000)}" for kind in ("mem", "mem", "msg")]
    record = Record(
        id=ids[0],
        kind="fact",
        text="Likes tea",
        timestamp="2026-11-15T14:30:00.000Z",
        supersedes=ids[1],
        session=ids[2],
    )
    assert find_secrets(lines.write(record, form)) == ()


BETWEEN = (" and ", ", ", "; ", " / ", "\n")


def test_of_several_secrets_in_one_line_all_go() -> None:
    rng = Random(19)
    planted = [item for item in planted_secrets() if "\n" not in item.sentence]
    planted = [item for item in planted if redact(item.sentence)[1]]
    left = []
    for _ in range(400):
        some = rng.sample(planted, rng.randint(2, 4))
        text = rng.choice(BETWEEN).join(item.sentence for item in some)
        left += [(item.name, text) for item in some if item.secret in redact(text)[0]]
    assert left == []


def test_a_secret_within_a_secret_goes_with_it() -> None:
    key, token = drawn("AKIA<U15>7", Random(1)), drawn("ghp_<a36>", Random(2))
    example = "AKIAIOSFODNN7EXAMPLE"
    for inner in (key, example):
        text, found = redact(f"password: hunter2-{inner} and token {token}")
        assert text == "password: [redacted password] and token [redacted github token]"
        assert [secret.name for secret in found] == ["password", "github token"]


def test_the_look_at_hints_lets_every_form_of_words_be_tried() -> None:
    said = [hints for _, look, hints, *_ in FORMS if look == "said"]
    assert [
        each for hints in said for each in hints.split("|") if not looking._hinted(each + "ó")
    ] == []


ORDINARY_FORMS = """
le mot de passe est |soleil
mein Passwort ist |Sonnenblume
la contraseña es |gato
a senha é |abacaxi
la password è |gattino
hasło to |kotek
heslo je |Kocka12
parola mea este |Soare12
il mio codice segreto è |4455
the wifi password for Guest5G: |summer
my passphrase is |violet Tractor seven
password: |correct-horse-battery
login is bob / |letmein
user bob password |letmein
https://bob:|pw|@host/x
Server=tcp:x;User ID=sa;Password=|Plum Tree|;
use the header Basic |YW5uYTpwbHVtdHJlZQ==
-H 'Authorization: Bearer |abcdefghijklmnop|'
MY_SECRET=|foobar
GITHUB_TOKEN=|abc123
{"api_key": "|correct-horse|"}
client_secret: |GmX8zq-abc9
my iban is |GB82WEST12345698765432
4111111111111111 is the card: |4111111111111111
machine example.com login anna password |plumtree
I set the root password to |blueberry
I set the root password to |blueberry| on the NAS.
the sudo password should be |tiger99
The new password will be |Tiger-99
password now: |Tiger99
passcode |246810
pin |1234| for the sim
Wifi: HomeNet, key: |MyDogRex2020
root:|toor
Zugangsdaten: max / |geheim123
licence key |ABCD-EFGH-1234-5678
user bob password |letmein|.
"""


@pytest.mark.parametrize("form", ORDINARY_FORMS.strip().split("\n"))
def test_ordinary_forms_are_redacted_wherever_they_stand(form: str) -> None:
    before, secret, *rest = form.split("|")
    for text in (before + secret + "".join(rest), f"Note: {before}{secret}{''.join(rest)}"):
        shown, found = redact(text)
        assert found
        assert secret not in shown


def _redacted_alone(sentence: str) -> bool:
    """Whether the secret of a telling sentence is redacted, and nothing else."""
    before, secret, after = sentence.split("|")
    return (
        re.fullmatch(
            rf"{re.escape(before)}\[redacted [a-z ]+\]{re.escape(after)}",
            redact(before + secret + after)[0],
        )
        is not None
    )


def test_secrets_in_free_sentences_are_redacted_and_nothing_else_in_them() -> None:
    missed = [sentence for sentence in TELLING if not _redacted_alone(sentence)]
    assert len(TELLING) >= 40
    assert len(missed) <= 1, missed


def test_innocent_sentences_about_secrets_are_left_alone() -> None:
    assert len(INNOCENT) >= 40
    assert [sentence for sentence in INNOCENT if find_secrets(sentence)] == []


def test_sentences_that_were_held_out_are_judged_as_well() -> None:
    assert len(TELLING_HELD_OUT) >= 40
    assert len(INNOCENT_HELD_OUT) >= 40
    found = sum(map(_redacted_alone, TELLING_HELD_OUT))
    alarms = sum(bool(find_secrets(sentence)) for sentence in INNOCENT_HELD_OUT)
    assert found >= 0.85 * len(TELLING_HELD_OUT)
    assert alarms <= 1


INNOCENT_PURPOSES = """
I changed the wifi password in 2023
I changed the password in Firefox
update your password to continue.
set a password to unlock
cambia la contraseña a menudo.
j'ai mis le mot de passe à jour
j'ai changé le mot de passe en 2024
he puesto la contraseña en Bitwarden
chown -R root:postgres /var
the password must be UTF-8
the password will be hashed with SHA256
the password should be 8-16 characters
log in as root and restart nginx
unlock the level with 5000 gems
product code 1234-5678-9012
PIN code of Pune: 411001
mudei a senha para todos
"""


@pytest.mark.parametrize("line", INNOCENT_PURPOSES.strip().split("\n"))
def test_what_a_password_is_set_for_or_where_is_no_password(line: str) -> None:
    assert redact(line) == (line, ())


LINES_OF_CODE = """
sensitive or secret: `leaves_machine` says so, and the index asks.
NEXT_KEY = "SELECT coalesce(max(key), 0) + 1 FROM records"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
authorization = self.headers.get("authorization")
authorization = base64.decodebytes(authorization).decode("ascii")
the class "AzFunctionsAreNamedByTheirProjects" holds them
psql 'postgresql://commonplace_reader_…:…@host/memories'
const apiKey = process.env.OPENAI_API_KEY;
client = Client(api_key=settings.API_KEY, token=get_token())
token = request.headers["X-Auth-Token"]
"""


@pytest.mark.parametrize("line", LINES_OF_CODE.strip().split("\n"))
def test_code_about_secrets_holds_none(line: str) -> None:
    assert redact(line) == (line, ())


REDACTED = (
    ("my password is hunter2.", "my password is [redacted password]."),
    (
        '{"user": "svc", "password": "plum-tree"}',
        '{"user": "svc", "password": "[redacted password]"}',
    ),
    ("postgres://app:s3cr3tpw@db/shop", "postgres://app:[redacted password]@db/shop"),
    ("PIN 4821, then wait", "PIN [redacted pin], then wait"),
    (
        "bob@mail.example / Giraffe!7 and PIN: 4821",
        "bob@mail.example / [redacted password] and PIN: [redacted pin]",
    ),
    ("tulip99 is my password", "[redacted password] is my password"),
    ("no secret here", "no secret here"),
    ("", ""),
)


@pytest.mark.parametrize(("text", "shown"), REDACTED)
def test_redacting_replaces_the_secret_and_leaves_the_sentence(text: str, shown: str) -> None:
    assert redact(text)[0] == shown


def test_a_find_says_what_it_is_and_where_it_stands() -> None:
    assert find_secrets("my password is hunter2") == (Secret("password", 15, 22),)


def test_a_redacted_text_holds_no_secret() -> None:
    for item in planted_secrets():
        text, _ = redact(item.sentence)
        assert redact(text) == (text, ()), item.name


@given(st.lists(st.sampled_from([*(item.sentence for item in planted_secrets()), " ", "\n", "x"])))
def test_finds_are_in_order_and_apart(pieces: list[str]) -> None:
    text = "".join(pieces)
    finds = find_secrets(text)
    edges = [edge for find in finds for edge in (find.start, find.end)]
    assert edges == sorted(edges)
    assert all(0 <= find.start < find.end <= len(text) for find in finds)


def _parsed(pattern: str) -> Any:
    return _parser.parse(pattern, re.I)


def _parts(node: Any) -> Iterator[tuple[Any, bool]]:
    """The sequences within a node of a pattern, and whether they end where the node ends."""
    kind, value = node
    if kind in _REPEATS:
        yield value[2], value[1] == 1
    elif kind is _constants.SUBPATTERN:
        yield value[3], True
    elif kind is _constants.BRANCH:
        yield from ((branch, True) for branch in value[1])
    elif kind in (_constants.ASSERT, _constants.ASSERT_NOT):
        yield value[1], False


_REPEATS = (_constants.MAX_REPEAT, _constants.MIN_REPEAT)


def _may_be_left_out(node: Any) -> bool:
    return node[0] is _constants.MAX_REPEAT and node[1][0] == 0


def _unbounded(sequence: Any, *, ends: bool) -> Iterator[str]:
    """The repeats without an upper bound, but for one at the end, behind which nothing can fail."""
    for place, node in enumerate(sequence):
        is_last = ends and all(map(_may_be_left_out, sequence[place + 1 :]))
        if node[0] in _REPEATS and node[1][1] == _constants.MAXREPEAT and not is_last:
            yield str(node)
        for part, at_its_end in _parts(node):
            yield from _unbounded(part, ends=is_last and at_its_end)


@pytest.mark.parametrize("row", FORMS, ids=lambda row: f"{row[0]}: {row[6][:30]}")
def test_no_pattern_goes_back_over_more_than_a_fixed_number_of_signs(row: tuple[str, ...]) -> None:
    """What is announced by words is looked for again within it, so it has a longest form too."""
    _, look, _, pattern, *_ = row
    searched_on_from_its_end = look in ("token", "shape", "blob")
    assert list(_unbounded(_parsed(pattern), ends=searched_on_from_its_end)) == []


def test_the_check_of_patterns_sees_one_that_goes_back() -> None:
    for bad in (r"a\S*b", r"(?:a+)+b", r"a[^;]+;", r"(?=.*b)a", r"(?:a|b*)c"):
        assert list(_unbounded(_parsed(bad), ends=True)) != [], bad
    for good in (r"a\S{0,9}b", r"ab+", r"a(?:(?!END)[\s\S])*(?:END)?"):
        assert list(_unbounded(_parsed(good), ends=True)) == [], good
    assert list(_unbounded(_parsed("ab+"), ends=False)) != []


def _repeatable() -> list[str]:
    """Examples, their first halves and the prefixes of tokens, and pieces made to be slow."""
    pieces = dict.fromkeys(REPEATED.replace("\n", "").split("|"))
    for _, look, hints, _, _, *examples in FORMS:
        texts = [drawn(example, Random(1)) for example in examples]
        halves = [text[: len(text) // 2] for text in texts]
        pieces.update(dict.fromkeys([*(f"{text} " for text in texts), halves[0]]))
        if look == "token":
            pieces.update(dict.fromkeys(hints.split()))
    return [piece for piece in pieces if piece.strip()]


REPEATED = """
<|< |</|&#0|\x1b]|\x9d|\u200d|ه\u200d|password |password is |password for |pass:|key |sk-ant-|eyJ-|
-----BEGIN PRIVATE KEY-----|a://:|otpauth://|a@a.|login: |4|4444 |curl |seed |密码|secret_|a:1234:|
'a1B|token> |DE89 |user a pass |API_KEY= |passphrase a-|basic |://a:|{"kty"|KEY0=|auth0=|_PSK|
api-key=|session=|secret:|4111111111111111 |set password |log in as a |pin |wifi key|root:|
passwort auf |oauth:
"""


@pytest.mark.long
def test_a_text_made_to_be_slow_costs_as_much_as_a_few_hundred_scans_of_it() -> None:
    """A pattern that goes back over its text costs thousands, in processor time of one run."""
    assert [piece for piece in _repeatable() if _cost_in_scans(piece) > 400] == []


def _cost_in_scans(piece: str) -> float:
    text = piece * (30_000 // len(piece) + 1)
    scan = min(_seconds(lambda: re.findall(r"\S|\s", text)) for _ in range(3))
    return _seconds(lambda: (neutralise(text), find_secrets(text))) / scan


def _seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
