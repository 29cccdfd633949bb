"""Measure how well search finds what answers a question, through the product itself.

Every set is stored in a temporary vault as a program would store it and asked through
`Memory.search`, with grep and plain BM25 beside it. bench/question_sets.py reads published sets.
"""

from __future__ import annotations

import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import log
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from commonplace import __version__
from commonplace.memory import Memory
from commonplace.model.clock import Clock, stamp
from commonplace.model.errors import BadValue
from commonplace.model.records import WEAK, Hit, SearchResult
from commonplace.search.index import Query
from commonplace.search.words import STOP

if TYPE_CHECKING:
    from commonplace.search.encoders import Encoder, Weigh

DEPTH = 100
"""How many hits are asked for: session measures need more than the first ten."""
CUTS = (1, 5, 10)
LONGEST_TURN = 1_000_000
"""Characters of a turn that are stored: evidence is by turn, so none is split or refused."""
ENCODER = "COMMONPLACE_ENCODER"
SECOND = 1_000_000_000
WORD = re.compile(r"\w+")
ENDINGS = re.compile(r"(?:ing|edly|ed|es|s|ly)\Z")

OnProgress = Callable[[int, int], None]


class Turn(Struct, frozen=True):
    """One thing that was said or noted."""

    id: str
    text: str
    session: str = ""
    time: str = ""
    """ISO 8601."""
    username: str = ""
    kind: str = "note"


class EvalQuestion(Struct, frozen=True):
    """A question, with the ids of the turns that answer it; none for one that nothing answers."""

    text: str
    evidence: tuple[str, ...]
    category: str = ""
    time: str = ""
    """When it is asked; the time of the last turn when it is not told."""


class Case(Struct, frozen=True):
    """What one vault holds, and the questions to ask of it."""

    name: str
    turns: tuple[Turn, ...]
    questions: tuple[EvalQuestion, ...]
    unanswered: tuple[EvalQuestion, ...] = ()
    """Those that nothing in it answers: search should say so."""


def cases_in(path: Path) -> list[Case]:
    """The cases of a JSONL file, gzipped or not, with a record or a question a line."""
    return cases_of(text_of(path), path)


def text_of(path: Path) -> str:
    """The text of a file of questions, unpacked if it is gzipped."""
    try:
        data = path.read_bytes()
        if data.startswith(b"\x1f\x8b"):
            data = gzip.decompress(data)
        return data.decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise BadValue(
            "file", f"{path} cannot be read: {error}", next_step="Name a JSON or JSONL file."
        ) from None


def cases_of(text: str, path: Path) -> list[Case]:
    """The cases of the text of a JSONL file."""
    turns: dict[str, list[Turn]] = {}
    questions: dict[str, list[EvalQuestion]] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
            vault = str(data.get("vault", ""))
            if "question" in data:
                questions.setdefault(vault, []).append(_question(data))
            else:
                turns.setdefault(vault, []).append(_turn(data))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise BadValue(
                "file",
                f"line {number} of {path} is neither a record nor a question",
                next_step='A record is {"id", "text"}, a question {"question", "evidence"}.',
            ) from None
    if not questions:
        raise BadValue(
            "file",
            f"{path} has no questions",
            next_step='A question is a line {"question": "…", "evidence": ["id of a record"]}.',
        )
    return [
        _checked(_case(vault or path.name, turns.get(vault, ()), asked))
        for vault, asked in questions.items()
    ]


def _case(name: str, turns: Iterable[Turn], asked: Sequence[EvalQuestion]) -> Case:
    answered = tuple(each for each in asked if each.evidence)
    return Case(name, tuple(turns), answered, tuple(each for each in asked if not each.evidence))


def _checked(case: Case) -> Case:
    """The case itself, when the evidence of every question is there."""
    known = {turn.id for turn in case.turns}
    for question in case.questions:
        strange = [key for key in question.evidence if key not in known]
        if strange:
            raise BadValue(
                "file",
                f"the evidence of {question.text!r} is {strange[0]!r}, which is no record there",
                next_step="Name the ids of records of the same file and vault.",
            )
    return case


def _turn(data: Mapping[str, Any]) -> Turn:
    return Turn(
        id=str(data["id"]),
        text=str(data["text"]),
        session=str(data.get("session", "")),
        time=_time(str(data.get("time", ""))),
        username=str(data.get("username", "")),
        kind=str(data.get("kind", "note")),
    )


def _question(data: Mapping[str, Any]) -> EvalQuestion:
    return EvalQuestion(
        text=str(data["question"]),
        evidence=tuple(map(str, data["evidence"])),
        category=str(data.get("category", "")),
        time=_time(str(data.get("time", ""))),
    )


def _time(text: str) -> str:
    return stamp(datetime.fromisoformat(text).replace(tzinfo=UTC)) if text else ""


class PastClock(Clock):
    """Goes a second a look from wherever it is put, so that turns have an order."""

    def __init__(self) -> None:
        self.at = 0
        super().__init__(zone="UTC", now_ns=self._next)

    def _next(self) -> int:
        self.at += SECOND // 100
        return self.at

    def put(self, time: str) -> None:
        moment = datetime.fromisoformat(time) if time else datetime(2000, 1, 1, tzinfo=UTC)
        self.at = max(self.at, int(moment.timestamp()) * SECOND)


class CaseVault:
    """One case, stored and asked as any program would do it."""

    def __init__(self, case: Case, root: Path, *, remembering: Remembering) -> None:
        self.clock = PastClock()
        # Of the environment the encoder alone has a part in what is measured.
        environ = {name: os.environ[name] for name in os.environ if name.startswith(ENCODER)}
        self.memory = Memory.open(
            root,
            "native",
            clock=self.clock,
            create=True,
            environ=environ,
            text_limit=LONGEST_TURN,
            document_limit=0,
        )
        embedder = self.memory.library.engine.embedder
        embedder.use(remembering.over(embedder.encoder()))
        self.turns: dict[str, str] = {}
        """The turn that each record id was made of."""
        for session, turns in _by_session(case.turns):
            self._store(session, turns)
        self.memory.session = ""
        self.memory.library.refresh()
        embedder.embed_all(lambda done, total: None)

    def _store(self, session: str, turns: Sequence[Turn]) -> None:
        self.clock.put(turns[0].time)
        self.memory.session = session
        said = [turn for turn in turns if turn.text.strip()]
        stored = self.memory.store_all(
            {"text": turn.text, "username": turn.username, "kind": turn.kind} for turn in said
        )
        self.turns.update(zip((record.id for record in stored), (turn.id for turn in said)))

    def ask(self, question: EvalQuestion, limit: int = DEPTH) -> list[str]:
        return self.turns_of(self.found(question, limit))

    def found(self, question: EvalQuestion, limit: int = DEPTH) -> SearchResult:
        self.clock.put(question.time)
        return self.memory.search(question.text, limit=limit)

    def turns_of(self, hits: Iterable[Hit]) -> list[str]:
        return [self.turns[hit.record.id] for hit in hits if hit.record.id in self.turns]

    def in_context(self, question: EvalQuestion, tokens: int) -> float:
        """The share of the evidence in a context of so many tokens for this question."""
        self.clock.put(question.time)
        context = self.memory.context(question.text, tokens=tokens)
        shown = {self.turns.get(line.record_id) for line in context.lines}
        return len(shown.intersection(question.evidence)) / len(set(question.evidence))


def _by_session(turns: Sequence[Turn]) -> Iterator[tuple[str, list[Turn]]]:
    """Runs of turns of one session, in the order of time."""
    run: list[Turn] = []
    for turn in sorted(turns, key=lambda turn: turn.time):
        if run and (turn.session, turn.time) != (run[0].session, run[0].time):
            yield run[0].session, run
            run = []
        run.append(turn)
    if run:
        yield run[0].session, run


class System(Protocol):
    """Whatever finds turns for a question."""

    def ask(self, question: EvalQuestion, limit: int = DEPTH) -> list[str]:
        """The ids of turns, best first."""


class Grep:
    """What a person with grep would look at first: the texts with most of the question's words."""

    def __init__(self, case: Case) -> None:
        self._texts = [(turn.id, turn.text.lower()) for turn in reversed(case.turns)]

    def ask(self, question: EvalQuestion, limit: int = DEPTH) -> list[str]:
        words = _told(question.text)
        counts = [(sum(word in text for word in words), key) for key, text in self._texts]
        counts.sort(key=lambda pair: pair[0], reverse=True)
        return [key for count, key in counts[:limit] if count]


class PlainBM25:
    """BM25 as textbooks have it: k1 1.2, b 0.75, stop words out, endings cut off."""

    def __init__(self, case: Case) -> None:
        self._ids = [turn.id for turn in case.turns]
        self._bags = [Counter(map(_stem, WORD.findall(turn.text.lower()))) for turn in case.turns]
        self._sizes = [bag.total() for bag in self._bags]
        self._mean = sum(self._sizes) / max(len(self._sizes), 1) or 1.0

    def ask(self, question: EvalQuestion, limit: int = DEPTH) -> list[str]:
        scores = [0.0] * len(self._ids)
        for word in {_stem(word) for word in _told(question.text)}:
            self._add(scores, word)
        best = sorted(range(len(scores)), key=lambda at: -scores[at])[:limit]
        return [self._ids[at] for at in best if scores[at] > 0]

    def _add(self, scores: list[float], word: str) -> None:
        counts = [bag[word] for bag in self._bags]
        having = sum(count > 0 for count in counts)
        rarity = log(1 + (len(counts) - having + 0.5) / (having + 0.5))
        for at, count in enumerate(counts):
            if count:
                slack = 1.2 * (0.25 + 0.75 * self._sizes[at] / self._mean)
                scores[at] += rarity * count * 2.2 / (count + slack)


def _told(question: str) -> list[str]:
    """The words of a question that say something."""
    words = list(dict.fromkeys(WORD.findall(question.lower())))
    return [word for word in words if word not in STOP] or words


def _stem(word: str) -> str:
    return ENDINGS.sub("", word) if len(word) > 4 else word


Figures = dict[str, float]


def measured(found: Sequence[str], evidence: Sequence[str], cuts: Sequence[int] = CUTS) -> Figures:
    """What one answer is worth: the share, any and all of the evidence among the first few."""
    wanted = set(evidence)
    gains = [key in wanted for key in found[:10]]
    ideal = sum(1 / log(at + 2) for at in range(min(len(wanted), 10)))
    first = next((at for at, key in enumerate(found) if key in wanted), None)
    figures = {
        "NDCG@10": sum(gain / log(at + 2) for at, gain in enumerate(gains)) / ideal,
        "MRR": 0.0 if first is None else 1 / (first + 1),
    }
    for cut in cuts:
        there = len(wanted.intersection(found[:cut]))
        figures[f"R@{cut}"] = there / len(wanted)
        figures[f"any@{cut}"] = float(there > 0)
        figures[f"all@{cut}"] = float(there == len(wanted))
    return figures


class Answered(Struct, frozen=True):
    """What one system gave for one question."""

    system: str
    question: EvalQuestion
    turns: Figures
    sessions: Figures
    score: float = 0.0
    """That of the first hit; 0 when nothing was found."""
    in_context: float | None = None
    """The share of the evidence that is in a context for the question, where that was asked."""


def answered(system: str, question: EvalQuestion, found: Sequence[str], case: Case) -> Answered:
    """The figures of one answer: of turns, and of sessions in the order of their best turns."""
    session = {turn.id: turn.session for turn in case.turns}
    sessions = list(dict.fromkeys(session[key] for key in found))
    wanted = list(dict.fromkeys(session[key] for key in question.evidence))
    return Answered(
        system, question, measured(found, question.evidence), measured(sessions, wanted)
    )


SYSTEMS = ("commonplace", "bm25", "grep")


def run(
    cases: Sequence[Case],
    *,
    limit: int = 0,
    tokens: int = 0,
    progress: OnProgress = lambda done, total: None,
) -> list[Answered]:
    """Every question put to search and to what it is compared with; `limit` takes the first few.

    With `tokens` also how much of the evidence a context of so many has. Questions without an
    answer are put to search alone.
    """
    chosen = _first(cases, limit)
    total = sum(len(case.questions) + len(case.unanswered) for case in chosen)
    results: list[Answered] = []
    remembering, done = Remembering(), 0
    for case in chosen:
        with TemporaryDirectory(prefix="commonplace-eval-") as directory:
            vault = CaseVault(case, Path(directory) / "vault", remembering=remembering)
            beside: tuple[System, ...] = (PlainBM25(case), Grep(case))
            for question in (*case.questions, *case.unanswered):
                results.append(_of_vault(vault, question, case, tokens))
                if question.evidence:
                    answers = zip(SYSTEMS[1:], [system.ask(question) for system in beside])
                    results += [answered(name, question, found, case) for name, found in answers]
                done += 1
                progress(done, total)
            vault.memory.close()
    return results


def _of_vault(vault: CaseVault, question: EvalQuestion, case: Case, tokens: int) -> Answered:
    hits = vault.found(question)
    if not question.evidence:
        return Answered(SYSTEMS[0], question, {}, {}, _first_score(hits))
    return replace(
        answered(SYSTEMS[0], question, vault.turns_of(hits), case),
        score=_first_score(hits),
        in_context=vault.in_context(question, tokens) if tokens else None,
    )


def _first_score(hits: SearchResult) -> float:
    return hits[0].score if hits else 0.0


def _first(cases: Sequence[Case], limit: int) -> list[Case]:
    """The cases with questions, cut where there are enough of those."""
    chosen: list[Case] = []
    left = limit or sum(len(case.questions) + len(case.unanswered) for case in cases)
    for case in cases:
        questions = case.questions[:left]
        unanswered = case.unanswered[: left - len(questions)]
        if questions or unanswered:
            chosen.append(Case(case.name, case.turns, questions, unanswered))
            left -= len(questions) + len(unanswered)
    return chosen


def summed(results: Iterable[Answered]) -> dict[str, dict[str, Any]]:
    """The means, times 100, by category, with `all` for the whole set."""
    groups: dict[str, dict[str, list[Answered]]] = {}
    for each in (each for each in results if each.question.evidence):
        for category in ("all", each.question.category or "-"):
            groups.setdefault(category, {}).setdefault(each.system, []).append(each)
    return {
        category: {
            "questions": len(systems[SYSTEMS[0]]),
            **_in_context(systems[SYSTEMS[0]]),
            **{name: _means(each) for name, each in systems.items()},
        }
        for category, systems in groups.items()
    }


def _means(results: Sequence[Answered]) -> dict[str, Figures]:
    return {
        level: {
            name: round(100 * sum(getattr(each, level)[name] for each in results) / len(results), 1)
            for name in results[0].turns
        }
        for level in ("turns", "sessions")
    }


def _in_context(results: Sequence[Answered]) -> Figures:
    shares = [each.in_context for each in results if each.in_context is not None]
    return {"in context": round(100 * sum(shares) / len(shares), 1)} if shares else {}


class Doubt(Struct, frozen=True):
    """How well a search knows that it has no answer; shares of a hundred, the area of one."""

    unanswered: int
    """Questions that nothing answers."""
    doubted: float
    """The share of those for which search found nothing, or weak hits alone."""
    wrongly_doubted: float
    """The share of questions whose first hit is right that were called weak all the same."""
    area: float
    """How often a question with an answer has the higher first score than one without."""


def doubt(results: Sequence[Answered]) -> Doubt | None:
    """How well search knows what it does not know; None without questions that tell."""
    own = [each for each in results if each.system == SYSTEMS[0]]
    without = [each.score for each in own if not each.question.evidence]
    with_answer = [each.score for each in own if each.question.evidence]
    if not without or not with_answer:
        return None
    right = [each.score for each in own if each.turns.get("any@1")]
    ahead = sum((one > other) + 0.5 * (one == other) for one in with_answer for other in without)
    return Doubt(
        len(without),
        _share_of_weak(without),
        _share_of_weak(right),
        round(ahead / len(with_answer) / len(without), 3),
    )


def _share_of_weak(scores: Sequence[float]) -> float:
    return round(100 * sum(score < WEAK for score in scores) / max(len(scores), 1), 1)


def edition() -> str:
    """The version, with the commit when this runs from a checkout."""
    from subprocess import DEVNULL, PIPE
    from subprocess import run as started

    named = f"commonplace {__version__}"
    root = Path(__file__).parents[4]
    if not (root / ".git").exists():
        return named
    command = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    done = started(command, stdout=PIPE, stderr=DEVNULL, text=True, check=False)
    return f"{named}, commit {done.stdout.strip()}" if done.returncode == 0 else named


def known_items(memory: Memory, *, count: int, seed: int = 1) -> Case:
    """Questions whose answers are known: some of a record's words, to find it among all others.

    Half of the words that say something, in their order, the rarer first: as one remembers a note.
    """
    memory.library.refresh()
    hits = memory.library.search(Query(limit=1 << 30, include_passages=False))
    records = sorted((hit.record for hit in hits), key=lambda record: record.id)
    bags = {record.id: _told(record.text) for record in records}
    rarity = Counter(word for words in bags.values() for word in words)
    able = [record for record in records if len(bags[record.id]) > 2]
    chosen = Random(seed).sample(able, min(count, len(able)))
    turns = tuple(Turn(each.id, each.text, each.session) for each in records)
    return Case(
        "self",
        turns,
        tuple(
            EvalQuestion(_recalled(bags[each.id], rarity), (each.id,), each.kind) for each in chosen
        ),
    )


def _recalled(words: Sequence[str], rarity: Mapping[str, int]) -> str:
    kept = set(sorted(words, key=lambda word: (rarity[word], word))[: max(2, len(words) // 2)])
    return " ".join([word for word in words if word in kept][:8])


class Missed(Struct, frozen=True):
    """A known item that was not among the first ten."""

    id: str
    text: str
    question: str
    rank: int
    """0 when it was not found at all."""


def run_self(
    memory: Memory,
    *,
    count: int = 100,
    seed: int = 1,
    progress: OnProgress = lambda done, total: None,
) -> tuple[list[Answered], list[Missed]]:
    """Known-item questions put to the vault itself, which is only read."""
    case = known_items(memory, count=count, seed=seed)
    texts = {turn.id: turn.text for turn in case.turns}
    beside = (PlainBM25(case), Grep(case))
    results: list[Answered] = []
    missed: list[Missed] = []
    for number, question in enumerate(case.questions, 1):
        hits = memory.search(question.text, limit=DEPTH, include_passages=False)
        found = [hit.record.id for hit in hits if hit.record.id in texts]
        (wanted,) = question.evidence
        if wanted not in found[:10]:
            rank = found.index(wanted) + 1 if wanted in found else 0
            missed.append(Missed(wanted, texts[wanted], question.text, rank))
        answers = (found, *(system.ask(question) for system in beside))
        for name, answer in zip(SYSTEMS, answers, strict=True):
            results.append(answered(name, question, answer, case))
        progress(number, len(case.questions))
    return results, missed


class Remembering:
    """An encoder that makes each text's vector once: cases share most of their turns."""

    leaves_machine = False

    def __init__(self) -> None:
        self._kept: dict[str, tuple[bytes, float]] = {}
        self._encoder: Encoder | None = None

    def over(self, encoder: Encoder) -> Remembering:
        if self._encoder is None:
            self._encoder = encoder
        return self

    @property
    def _own(self) -> Encoder:
        assert self._encoder is not None, "it is over an encoder"
        return self._encoder

    @property
    def model(self) -> str:
        return self._own.model

    @property
    def dim(self) -> int:
        return self._own.dim

    def encode(self, texts: Sequence[str]) -> list[tuple[bytes, float]]:
        missing = [text for text in texts if text not in self._kept]
        self._kept.update(zip(missing, self._own.encode(missing), strict=True))
        return [self._kept[text] for text in texts]

    def encode_query(self, text: str, weigh: Weigh | None = None) -> tuple[bytes, float]:
        return self._own.encode_query(text, weigh)
