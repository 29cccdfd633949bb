"""Fit the weights of search, and say what they give on questions that had no part in the fit.

    python bench/fit_ranking.py SET … [--keep DIR] [--also PICKLE …] [--ablate]

Needs numpy. A set is whatever bench/question_sets.py reads: conversations (LoCoMo, LongMemEval)
give the weights of turns, one-line memories those of memories. Every set is stored and asked
through the product; what its index gives as candidates is kept in DIR, under the name of the set
and of the encoder, so that a change of the signals is measured in a minute. `--also` takes what was
kept of another encoder: one table serves all of them.

The loss is that of a softmax over the candidates of a question; all sets weigh the same. Every
second question of those with roles is fitted once more with the roles unknown, so that a vault
without them is served too. Left-out figures: LoCoMo by conversation, LongMemEval by fifths of the
questions, memories by fifths of the evidence.
"""

from __future__ import annotations

import argparse
import pickle
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

import numpy as np

from by_category import NO_ANSWER, auc, unanswered
from commonplace.doors.admin import evaluate
from commonplace.search import ranking
from commonplace.search.index import Query
from commonplace.search.ranking import MEMORY, TURN
from commonplace.search.scene import Scene
from question_sets import cases_in

Row = dict[str, Any]
"""A question with its candidates, what is right, and what the signals say."""
Weigh = Callable[[Row], np.ndarray]

L2 = 3e-2
FOLDS = 5
FOREIGN = 40
"""How many questions of another vault are asked of each: nothing there answers them."""
VECTORS = ("alike", "alike_rank", "alike_unsaid", "answers_alike", "session_best_alike")
COSINE = 0.35
"""What `alike` counts beside `alike_rank`, set by hand: among hundreds of records either will do,
but in a vault of ten records the first and the tenth by rank are near, however unlike they are.
"""
ROLES = ("by_assistant", "of_assistant", "length_by_assistant")
WHO = (*ROLES, "speaker")
BY_HAND = ("follows", "tells_change", "beside_event", "superseded", "untrusted", "derived")
FOLLOWS = (0.8, 2.5)
"""What the two signals of the second look count for memories, chosen on parts left out."""
OF_MEMORIES = (
    *("words_rank", "alike_rank", "alike_unsaid", "told", "told_aside", "phrases"),
    *("told_around", "session_best_alike", "told_in_session", "tells_when", "in_period"),
)
"""What tells one memory from another; the rest is about conversations."""
UNTOLD = ("recent", "speaker", "asks", "of_oneself", "answers_words", "answers_alike")
"""What is set by hand for memories: the sets have no use for it."""
ONLY_OF_MEMORIES = ("told", "told_aside", "alike_unsaid")
OF_TURNS = ("turn R@5", "turn R@10", "session R@10", "session any@1", "session all@5")


def asked(path: Path) -> tuple[str, list[Row]]:
    """The name of the encoder, and each question with its candidates as the product finds them."""
    cases = [case for case in cases_in(path) if case.questions]
    remembering, model = evaluate.Remembering(), ""
    rows: list[Row] = []
    for at, case in enumerate(cases):
        session = {turn.id: turn.session for turn in case.turns}
        with TemporaryDirectory() as directory:
            vault = evaluate.CaseVault(case, Path(directory) / "v", remembering=remembering)
            model = remembering.model
            for question in case.questions:
                row = with_candidates(vault, question)
                row["sessions"] = [session[turn] for turn in row["turns"]]
                row["wanted"] = {session[turn] for turn in question.evidence}
                row["fold"] = at % FOLDS if len(cases) > 1 else of_evidence(question.evidence)
                rows.append(row)
            for text in strange_to(case, cases[at - 1], path):
                row = with_candidates(vault, evaluate.EvalQuestion(text, (), NO_ANSWER))
                rows.append(row | {"fold": at % FOLDS if len(cases) > 1 else crc32(text.encode())})
            vault.memory.close()
        print(f"\r{path.name} {at + 1}/{len(cases)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return model, [row | {"set": path.name.split(".")[0]} for row in rows]


def of_evidence(evidence: Sequence[str]) -> int:
    """The same for all questions about one memory."""
    return crc32(evidence[0].encode()) % FOLDS


def strange_to(case: evaluate.Case, other: evaluate.Case, path: Path) -> list[str]:
    """Questions that a case does not answer."""
    if case is other:
        return unanswered(path)
    return [question.text for question in other.questions[:FOREIGN]]


def with_candidates(vault: evaluate.CaseVault, question: evaluate.EvalQuestion) -> Row:
    vault.clock.put(question.time)
    read = vault.memory.library.engine.compare(Query(text=question.text))
    return {
        "question": read.query.text,
        "aside": read.question.aside,
        "category": question.category,
        "today": vault.clock.today(),
        "found": read.found,
        "turns": [vault.turns[each.id] for each in read.found],
        "evidence": set(question.evidence),
    }


def with_features(rows: list[Row], of: int, *, words_only: bool) -> list[str]:
    names: list[str] = []
    for row in rows:
        found = [without_vector(each) for each in row["found"]] if words_only else row["found"]
        scene = row["scene"] = Scene(found, row["question"], row["today"], aside=row["aside"])
        columns = ranking.features(scene)
        names = names or [name for name in columns if is_fitted(name, of, words_only=words_only)]
        if not words_only:
            pairs = zip(columns["alike_rank"], columns["alike"])
            columns["alike_rank"] = [rank + COSINE * alike for rank, alike in pairs]
        row["columns"] = np.array([columns[name] for name in names]).T.reshape(
            len(found), len(names)
        )
        row["strength"] = ranking.strength(scene)
        row["roles"] = any(scene.assistant)
    return names


def is_fitted(name: str, of: int, *, words_only: bool) -> bool:
    if name in (*BY_HAND, "alike") or (words_only and name in VECTORS):
        return False
    return name in OF_MEMORIES if of == MEMORY else name not in ONLY_OF_MEMORIES


def without_vector(each: Any) -> Any:
    return each._replace(cosine=0.0, cosine_rank=-1)


def fit(rows: list[Row], names: list[str], l2: float = L2) -> np.ndarray:
    """Newton's method on a convex loss."""
    having = [row for row in rows if row["roles"]]
    rows = [*rows, *blanked(having[::2], names, ROLES)]
    count: dict[str, int] = defaultdict(int)
    items = []
    for row in rows:
        right = np.array([turn in row["evidence"] for turn in row["turns"]], float)
        if right.any():
            count[row["set"]] += 1
            items.append((row["columns"], right / right.sum(), row["set"]))
    everything = np.concatenate([x for x, _, _ in items])
    mean, spread = everything.mean(0), everything.std(0) + 1e-9
    fixed = spread < 1e-6
    items = [
        ((x - mean) / spread, right, 1 / (count[name] * len(count))) for x, right, name in items
    ]
    u = np.zeros(len(names))

    def loss(u: np.ndarray) -> float:
        total = 0.5 * l2 * u @ u
        for x, right, weight in items:
            z = x @ u
            total += weight * (z.max() + np.log(np.exp(z - z.max()).sum()) - right @ z)
        return float(total)

    now = loss(u)
    for _ in range(20):
        slope, curve = l2 * u, l2 * np.eye(len(u))
        for x, right, weight in items:
            z = x @ u
            p = np.exp(z - z.max())
            p /= p.sum()
            middle = p @ x
            slope = slope + weight * (middle - right @ x)
            curve = curve + weight * ((x * p[:, None]).T @ x - np.outer(middle, middle))
        step, size = np.linalg.solve(curve, slope), 1.0
        while (then := loss(u - size * step)) > now and size > 1e-3:
            size /= 2
        u, before, now = u - size * step, now, then
        if before - now < 1e-6:
            break
    return np.where(fixed, 0.0, u / spread)


def blanked(rows: list[Row], names: list[str], unknown: tuple[str, ...]) -> list[Row]:
    """The same questions where some signals see nothing."""
    known = np.array([name not in unknown for name in names], float)
    return [row | {"columns": row["columns"] * known} for row in rows]


def left_out(rows: list[Row], names: list[str]) -> Weigh:
    """The weights for each row, which had no part in them."""
    folds = [fit([r for r in rows if r["fold"] % FOLDS != fold], names) for fold in range(FOLDS)]
    return lambda row: folds[row["fold"] % FOLDS]


def order_of(row: Row, weigh: Weigh) -> list[int]:
    """The candidates, best first; of those that are level the newest."""
    score = row["columns"] @ weigh(row)
    if not row["sessions"] or not any(row["sessions"]):
        score = score + np.dot(FOLLOWS, followed(row, score))
    newest = sorted(range(len(score)), key=lambda at: row["found"][at].timestamp, reverse=True)
    return sorted(newest, key=lambda at: -score[at])


def followed(row: Row, score: np.ndarray) -> Any:
    """The columns of the second look, which goes by what all other signals give."""
    scene = row["scene"]
    scene.__dict__.pop("followed", None)
    scene.totals = score.tolist()
    return np.array(scene.followed)


def measured_turns(rows: list[Row], weigh: Weigh) -> dict[str, dict[str, float]]:
    """Means of the figures by set, times 100."""
    sums: dict[str, list[dict[str, float]]] = defaultdict(list)
    for row in rows:
        if row["evidence"]:
            order = order_of(row, weigh)
            turns = [row["turns"][at] for at in order]
            sessions = list(dict.fromkeys(row["sessions"][at] for at in order))
            of_turns = evaluate.measured(turns, list(row["evidence"]))
            of_sessions = evaluate.measured(sessions, list(row["wanted"]))
            figures = {f"turn {name}": value for name, value in of_turns.items()}
            figures |= {f"session {name}": value for name, value in of_sessions.items()}
            sums[row["set"]].append(figures)
    return means(sums)


def measured_memories(rows: list[Row], weigh: Weigh) -> dict[str, dict[str, float]]:
    """The same by category."""
    sums: dict[str, list[dict[str, float]]] = defaultdict(list)
    for row in rows:
        if row["evidence"]:
            turns = [row["turns"][at] for at in order_of(row, weigh)]
            figures = evaluate.measured(turns, list(row["evidence"]))
            for name in (f"{row['set']}, all", f"{row['set']}, {row['category']}"):
                sums[name].append(figures)
    return means(sums)


def means(sums: dict[str, list[dict[str, float]]]) -> dict[str, dict[str, float]]:
    return {
        name: {each: 100 * float(np.mean([it[each] for it in of])) for each in of[0]}
        for name, of in sorted(sums.items())
    }


def show(label: str, figures: dict[str, dict[str, float]], shown: Sequence[str]) -> None:
    print(f"\n{label}: {' '.join(shown)}")
    for name, values in figures.items():
        print(f"{name:40}" + " ".join(f"{values[each]:5.1f}" for each in shown), flush=True)


def calibrated(rows: list[Row], weights: np.ndarray) -> np.ndarray:
    """The logistic curve from a score to how often such a hit is an answer."""
    inputs, targets = [], []
    for row in rows:
        if len(row["columns"]):
            z = row["columns"] @ weights
            for at in np.argsort(-z)[:20]:
                inputs.append([1.0, *row["strength"], z[at] - z.max()])
                targets.append(bool(row["evidence"]) and row["turns"][at] in row["evidence"])
    x, y = np.array(inputs), np.array(targets, float)
    curve = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ curve))
        steepness = (x * (p * (1 - p))[:, None]).T @ x + 1e-3 * np.eye(len(curve))
        curve = curve + np.linalg.solve(steepness, x.T @ (y - p))
    return curve


def show_told_apart(rows: list[Row], curve: np.ndarray) -> None:
    """How well the first score tells questions with an answer from those without, by category."""
    scores: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        scores[row["category"]].append(float(np.dot(curve[1:3], row["strength"])))
    if NO_ANSWER in scores:
        strange = scores.pop(NO_ANSWER)
        told = [f"{name or 'all'} {auc(of, strange):.2f}" for name, of in scores.items()]
        print("told from no answer, AUC:", ", ".join(told))


def fitted(rows: list[Row], of: int, *, ablate: bool) -> tuple[dict[str, float], dict[str, float]]:
    """The weights with vectors and by words alone; the figures are printed on the way."""
    measured = measured_turns if of == TURN else measured_memories
    shown = OF_TURNS if of == TURN else ("any@1", "any@5", "R@5")
    names = with_features(rows, of, words_only=False)
    fair = left_out(rows, names)
    show("left out", measured(rows, fair), shown)
    if of == TURN:
        unknown = measured(blanked(rows, names, WHO), fair)
        show("left out, who said it unknown", unknown, shown)
    weights = fit(rows, names)
    show("in sample", measured(rows, lambda row: weights), shown)
    curve = calibrated(rows, weights)
    print("curve:", ", ".join(f"{value:.2f}" for value in curve))
    show_told_apart(rows, curve)
    if ablate:
        show_ablated(rows, names, measured, shown)
    words = with_features(rows, of, words_only=True)
    show("words only, left out", measured(rows, left_out(rows, words)), shown)
    told = dict(zip(names, map(float, weights)))
    told["alike"] = COSINE * told["alike_rank"]
    return told, dict(zip(words, map(float, fit(rows, words))))


def show_ablated(
    rows: list[Row], names: list[str], measured: Callable[..., Any], shown: Sequence[str]
) -> None:
    """The figures without each signal in turn."""
    whole = [row["columns"] for row in rows]
    for at, name in enumerate(names):
        for row, x in zip(rows, whole):
            row["columns"] = np.delete(x, at, axis=1)
        without = left_out(rows, [other for other in names if other != name])
        show(f"without {name}", measured(rows, without), shown)
    for row, x in zip(rows, whole):
        row["columns"] = x


def group_of(row: Row) -> int:
    """Whether its candidates are turns or memories, as the product sees them."""
    turns = Scene(row["found"], row["question"], row["today"]).turns()
    return TURN if any(turns) else MEMORY


def kept(path: Path, directory: Path | None) -> list[Row]:
    """The rows of a set, from where they were kept if they were."""
    name = path.name.split(".")[0]
    there = next(iter(directory.glob(f"{name}@*.pickle")), None) if directory else None
    if there:
        return list(pickle.loads(there.read_bytes()))
    model, rows = asked(path)
    if directory:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"{name}@{model}.pickle").write_bytes(pickle.dumps(rows))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--keep", type=Path, help="where candidates are kept between runs")
    parser.add_argument("--also", type=Path, nargs="*", default=[], help="kept of another encoder")
    parser.add_argument("--ablate", action="store_true", help="leave out each signal in turn")
    arguments = parser.parse_args()
    rows = [row for path in arguments.sets for row in kept(path, arguments.keep)]
    for path in arguments.also:
        again = pickle.loads(path.read_bytes())
        rows += [row | {"set": path.name.removesuffix(".pickle")} for row in again]
    groups = {
        of: [row for row in rows if row["found"] and group_of(row) == of] for of in (TURN, MEMORY)
    }
    columns: list[dict[str, float]] = []
    for group, members in groups.items():
        columns += fitted(members, group, ablate=arguments.ablate) if members else ({}, {})
    print()
    for signal, weights in ranking.WEIGHTS.items():
        name = signal.__name__
        new = [column.get(name, 0.0) if column else old for column, old in zip(columns, weights)]
        if name in UNTOLD:
            new[MEMORY:] = weights[MEMORY:]
        if name == "told_aside":
            new[:MEMORY] = weights[:MEMORY]
        now = weights if name in BY_HAND else new
        print(f"    {name}: _of({', '.join(f'{value:.2f}' for value in now)}),")


if __name__ == "__main__":
    main()
