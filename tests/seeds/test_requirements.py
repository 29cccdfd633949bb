"""Holds the claims of the seed documents and the tests that are tagged with them together.

Reads the tests as text, so the answer is the same whichever of them are selected to run.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .requirements import CAPABILITIES, CLAIMS, Claim

TESTS = Path(__file__).resolve().parents[1]
SEEDS = ("earl", "journal", "notebook", "claw", "typed")
ID = re.compile(rf"({'|'.join(SEEDS)})\.[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Tag:
    """One id in a `claim` mark, and its place."""

    id: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.id}"


def tags_in(source: str, *, file: str) -> list[Tag]:
    """Every id that a decorator or a `pytestmark` of the source names.

    An argument that is not a string literal becomes a tag of its source text: no claim has such
    an id, so it is reported and not overlooked.
    """
    return [
        Tag(_id_of(argument), file, argument.lineno)
        for mark in _marks_in(ast.parse(source, filename=file))
        if isinstance(mark, ast.Call)
        and ast.unparse(mark.func) in {"pytest.mark.claim", "mark.claim"}
        for argument in [*mark.args, *(keyword.value for keyword in mark.keywords)]
    ]


def _id_of(argument: ast.expr) -> str:
    if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
        return argument.value
    return f"<{ast.unparse(argument)}>"


def _marks_in(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from node.decorator_list
        if isinstance(node, ast.Module | ast.ClassDef):
            yield from _pytestmarks_in(node.body)


def _pytestmarks_in(body: list[ast.stmt]) -> Iterator[ast.expr]:
    for statement in body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="pytestmark")], value=value)
                | ast.AnnAssign(target=ast.Name(id="pytestmark"), value=ast.expr() as value)
            ):
                yield from value.elts if isinstance(value, ast.List | ast.Tuple) else [value]


def all_tags() -> list[Tag]:
    """The tags of every Python file below `tests/`."""
    return [
        tag
        for path in sorted(TESTS.rglob("*.py"))
        for tag in tags_in(
            path.read_text(encoding="utf-8"), file=path.relative_to(TESTS.parent).as_posix()
        )
    ]


def untested(claims: Iterable[Claim], tags: Iterable[Tag]) -> list[str]:
    """Ids of the claims that should be served now and that no test names."""
    tagged = {tag.id for tag in tags}
    return [claim.id for claim in claims if claim.awaits is None and claim.id not in tagged]


def unknown(claims: Iterable[Claim], tags: Iterable[Tag]) -> list[Tag]:
    """Tags that name no claim."""
    known = {claim.id for claim in claims}
    return [tag for tag in tags if tag.id not in known]


def served_early(claims: Iterable[Claim], tags: Iterable[Tag]) -> list[Tag]:
    """Tags that name a claim which is still marked as awaiting a capability."""
    awaiting = {claim.id for claim in claims if claim.awaits is not None}
    return [tag for tag in tags if tag.id in awaiting]


def repeated(values: Iterable[str]) -> list[str]:
    return [value for value, count in Counter(values).items() if count > 1]


def listing(title: str, items: Iterable[object]) -> str:
    return "\n  ".join([title, *map(str, items)])


def test_every_claim_that_awaits_nothing_has_a_test() -> None:
    missing = untested(CLAIMS, all_tags())
    assert not missing, listing(f"{len(missing)} claims have no test:", missing)


def test_every_tag_names_a_claim() -> None:
    strays = unknown(CLAIMS, all_tags())
    assert not strays, listing("these tags name no claim:", strays)


def test_a_claim_that_has_a_test_awaits_nothing() -> None:
    early = served_early(CLAIMS, all_tags())
    assert not early, listing("these claims have a test; take their `awaits` away:", early)


def test_ids_are_unique() -> None:
    assert repeated(claim.id for claim in CLAIMS) == []


def test_an_id_is_its_seed_and_a_short_name() -> None:
    assert [claim.id for claim in CLAIMS if not ID.fullmatch(claim.id)] == []


def test_a_source_is_the_seed_of_the_id_and_a_heading() -> None:
    def is_right(claim: Claim) -> bool:
        seed, _, heading = claim.source.partition(", ")
        return seed == claim.id.partition(".")[0] and bool(heading.strip())

    assert [claim.id for claim in CLAIMS if not is_right(claim)] == []


def test_every_awaited_word_is_a_capability() -> None:
    awaited = {claim.awaits for claim in CLAIMS if claim.awaits is not None}
    assert awaited - CAPABILITIES == set()


def test_there_are_at_least_150_claims() -> None:
    assert len(CLAIMS) >= 150


def test_the_claims_of_all_five_seeds_are_there_in_order() -> None:
    assert tuple(dict.fromkeys(claim.id.partition(".")[0] for claim in CLAIMS)) == SEEDS


def test_the_claims_of_a_seed_and_of_a_heading_stand_together() -> None:
    sources = [claim.source for claim in CLAIMS]
    starts = [
        source for before, source in zip(["", *sources], sources, strict=False) if before != source
    ]
    assert repeated(starts) == []


def test_a_sentence_ends_with_a_full_stop() -> None:
    assert [claim.id for claim in CLAIMS if not claim.sentence.endswith(".")] == []


def test_an_open_question_is_asked_once_and_as_a_question() -> None:
    asked = [claim.open_question for claim in CLAIMS if claim.open_question]
    assert [question for question in asked if not question.endswith("?")] == []
    assert repeated(asked) == []


def test_no_sentence_is_repeated() -> None:
    assert repeated(claim.sentence.casefold() for claim in CLAIMS) == []


SAMPLE = '''
import pytest
from pytest import mark

pytestmark = [pytest.mark.slow, pytest.mark.claim("earl.of-the-module")]
OTHER = pytest.mark.claim("earl.in-no-test")


@pytest.mark.claim("earl.one", "earl.two")
def test_two_claims(): ...


@pytest.mark.slow
@mark.claim(
    "earl.three",
)
async def test_several_marks(): ...


@pytest.mark.claim("earl.of-the-class")
class TestClass:
    pytestmark = pytest.mark.claim("earl.of-the-body")

    @pytest.mark.claim("earl.of-the-method")
    def test_method(self): ...


@pytest.mark.claim(NAME, *NAMES)
def test_not_a_literal(): ...


@pytest.mark.parametrize("claim", ["earl.a-parameter"])
def test_no_claim(claim):
    """@pytest.mark.claim("earl.in-a-docstring")"""
    # @pytest.mark.claim("earl.in-a-comment")
'''


def test_the_collector_finds_each_tag_at_its_line() -> None:
    assert sorted(tags_in(SAMPLE, file="tests/test_sample.py"), key=lambda tag: tag.line) == [
        Tag("earl.of-the-module", "tests/test_sample.py", 5),
        Tag("earl.one", "tests/test_sample.py", 9),
        Tag("earl.two", "tests/test_sample.py", 9),
        Tag("earl.three", "tests/test_sample.py", 15),
        Tag("earl.of-the-class", "tests/test_sample.py", 20),
        Tag("earl.of-the-body", "tests/test_sample.py", 22),
        Tag("earl.of-the-method", "tests/test_sample.py", 24),
        Tag("<NAME>", "tests/test_sample.py", 28),
        Tag("<*NAMES>", "tests/test_sample.py", 28),
    ]


def test_the_collector_takes_a_single_mark_and_an_annotated_one() -> None:
    single = 'pytestmark = pytest.mark.claim("earl.one")'
    annotated = 'pytestmark: list[object] = [pytest.mark.claim("earl.two")]'
    assert tags_in(f"{single}\n{annotated}\npytestmark: object\n", file="x.py") == [
        Tag("earl.one", "x.py", 1),
        Tag("earl.two", "x.py", 2),
    ]


def test_the_collector_reads_the_files_below_tests() -> None:
    assert Path(__file__).resolve() in TESTS.rglob("*.py")


def test_each_check_can_fail() -> None:
    served = Claim("earl.served", "earl, Memory", "Served.")
    forgotten = Claim("earl.forgotten", "earl, Memory", "Forgotten.")
    early = Claim("earl.early", "earl, Memory", "Early.", awaits="tools")
    later = Claim("earl.later", "earl, Memory", "Later.", awaits="tools")
    claims = (served, forgotten, early, later)
    source = '@pytest.mark.claim("earl.served", "earl.early", "earl.typo")\ndef test_it(): ...\n'
    tags = tags_in(source, file="tests/test_it.py")

    assert untested(claims, tags) == ["earl.forgotten"]
    assert served_early(claims, tags) == [Tag("earl.early", "tests/test_it.py", 1)]
    assert list(map(str, unknown(claims, tags))) == ["tests/test_it.py:1: earl.typo"]
    assert repeated(["a", "b", "a"]) == ["a"]
