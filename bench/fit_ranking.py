"""Fit the weights of search, and say what they give on questions that had no part in the fit.

    python bench/fit_ranking.py locomo.json.gz longmemeval.json.gz [--keep DIR]

Needs numpy. Every set is stored and asked through the product; what its index gives as candidates
is kept in DIR, so that a change of the signals is measured in a minute. The loss is that of a
softmax over the candidates of a question; both sets weigh the same. Every second question of those
with roles is fitted once more with the roles unknown, so that a vault without them is served too.
Left-out figures: LoCoMo by conversation, LongMemEval by fifths of the questions, the same with
roles and speakers unknown, and each set by the other one's weights.
"""

from __future__ import annotations

import argparse
import pickle
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from commonplace.doors.admin import evaluate
from commonplace.search import ranking
from commonplace.search.index import Query
from commonplace.search.scene import Scene
from question_sets import cases_in

L2 = 3e-2
FOLDS = 5
FOREIGN = 40
"""How many questions of another vault are asked of each: nothing there answers them."""
VECTORS = ("alike_rank", "answers_alike", "session_best_alike")
COSINE = 0.35
"""What `alike` counts beside `alike_rank`, set by hand: among hundreds of turns either will do, but
in a vault of ten records the first and the tenth by rank are near, however unlike they are.
"""
ROLES = ("by_assistant", "of_assistant", "length_by_assistant")
WHO = (*ROLES, "speaker")
BY_HAND = ("beside_event", "superseded", "untrusted", "derived")
SHOWN = ("locomo turn R@5", "locomo turn R@10", "locomo session R@10", "longmemeval session any@1",
         "longmemeval session all@5", "longmemeval turn R@5", "longmemeval turn R@10")  # fmt: skip


def asked(name: str, path: Path) -> list[dict[str, Any]]:
    """Each question with its candidates, as the product finds them."""
    cases = [case for case in cases_in(path) if case.questions]
    remembering = evaluate.Remembering()
    rows: list[dict[str, Any]] = []
    for at, case in enumerate(cases):
        session = {turn.id: turn.session for turn in case.turns}
        with TemporaryDirectory() as directory:
            vault = evaluate.CaseVault(case, Path(directory) / "v", remembering=remembering)
            for question in case.questions:
                found, today = candidates(vault, question)
                turns = [vault.turns[each.id] for each in found]
                rows.append(
                    {
                        "set": name,
                        "fold": at % FOLDS,
                        "question": question.text,
                        "today": today,
                        "found": found,
                        "turns": turns,
                        "sessions": [session[turn] for turn in turns],
                        "evidence": set(question.evidence),
                        "wanted": {session[turn] for turn in question.evidence},
                    }
                )
            for question in cases[at - 1].questions[:FOREIGN]:
                found, today = candidates(vault, evaluate.Question(question.text, ()))
                row = {"set": name, "fold": at % FOLDS, "question": question.text, "today": today}
                rows.append(row | {"found": found, "turns": [], "evidence": set()})
            vault.memory.close()
        print(f"\r{name} {at + 1}/{len(cases)}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return rows


def candidates(vault: evaluate.CaseVault, question: evaluate.Question) -> Any:
    vault.clock.put(question.time)
    library = vault.memory.library
    vector, _ = library.engine.asked(question.text)
    return library.index.candidates(Query(text=question.text), vector), vault.clock.today()


def with_features(rows: list[dict[str, Any]], *, words_only: bool) -> list[str]:
    names: list[str] = []
    for row in rows:
        found = [without_vector(each) for each in row["found"]] if words_only else row["found"]
        found = [each for each in found if each]
        scene = Scene(found, row["question"], row["today"])
        columns = tied(ranking.features(scene))
        names = [name for name in columns if not (words_only and name in VECTORS)]
        row["columns"] = np.array([columns[name] for name in names]).T.reshape(
            len(found), len(names)
        )
        row["kept"] = found
        row["strength"] = ranking.strength(scene)
        row["roles"] = any(scene.assistant)
    return names


def tied(columns: dict[str, list[float]]) -> dict[str, list[float]]:
    """The same with one column for `alike` and `alike_rank`."""
    alike = columns.pop("alike")
    columns["alike_rank"] = [r + COSINE * a for r, a in zip(columns["alike_rank"], alike)]
    return columns


def without_vector(each: Any) -> Any:
    return each._replace(cosine=0.0, cosine_rank=-1)


def fit(rows: list[dict[str, Any]], names: list[str], l2: float = L2) -> np.ndarray:
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


def blanked(
    rows: list[dict[str, Any]], names: list[str], unknown: tuple[str, ...]
) -> list[dict[str, Any]]:
    """The same questions where some signals see nothing."""
    known = np.array([name not in unknown for name in names], float)
    return [row | {"columns": row["columns"] * known} for row in rows]


def measured(rows: list[dict[str, Any]], weights: Any) -> dict[str, float]:
    """Means of the figures, times 100; `weights` gives those for one row."""
    sums: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if not row["evidence"]:
            continue
        order = np.argsort(-(row["columns"] @ weights(row)), kind="stable")
        turns = [row["turns"][at] for at in order]
        sessions = list(dict.fromkeys(row["sessions"][at] for at in order))
        for level, found, wanted in (
            ("turn", turns, row["evidence"]),
            ("session", sessions, row["wanted"]),
        ):
            for name, value in evaluate.measured(found, list(wanted)).items():
                sums[f"{row['set']} {level} {name}"].append(value)
    return {name: 100 * float(np.mean(values)) for name, values in sums.items()}


def left_out(rows: list[dict[str, Any]], names: list[str]) -> list[np.ndarray]:
    """The weights for each fold, which had no part in them."""
    return [fit([r for r in rows if r["fold"] != fold], names) for fold in range(FOLDS)]


def of_fold(weights: list[np.ndarray]) -> Any:
    return lambda row: weights[row["fold"]]


def by_other_set(rows: list[dict[str, Any]], names: list[str]) -> dict[str, float]:
    sets = sorted({row["set"] for row in rows})
    one, other = (fit([r for r in rows if r["set"] == name], names) for name in sets)
    return measured(rows, lambda row: other if row["set"] == sets[0] else one)


def show(label: str, figures: dict[str, float]) -> None:
    print(f"{label:32}" + " ".join(f"{figures[name]:6.1f}" for name in SHOWN), flush=True)


def calibrated(rows: list[dict[str, Any]], weights: np.ndarray) -> np.ndarray:
    """The logistic curve from a score to how often such a hit is an answer."""
    inputs, targets = [], []
    for row in rows:
        if row["kept"]:
            z = row["columns"] @ weights
            for at in np.argsort(-z)[:20]:
                inputs.append([1.0, z[at] - z.max(), *row["strength"]])
                targets.append(bool(row["evidence"]) and row["turns"][at] in row["evidence"])
    x, y = np.array(inputs), np.array(targets, float)
    curve = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ curve))
        steepness = (x * (p * (1 - p))[:, None]).T @ x + 1e-3 * np.eye(len(curve))
        curve = curve + np.linalg.solve(steepness, x.T @ (y - p))
    return curve


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("locomo", type=Path)
    parser.add_argument("longmemeval", type=Path)
    parser.add_argument("--keep", type=Path, help="where candidates are kept between runs")
    parser.add_argument("--ablate", action="store_true", help="leave out each signal in turn")
    arguments = parser.parse_args()
    rows = []
    for name in ("locomo", "longmemeval"):
        kept = arguments.keep / f"{name}.pickle" if arguments.keep else None
        if kept and kept.exists():
            rows += pickle.loads(kept.read_bytes())
            continue
        found = asked(name, getattr(arguments, name))
        if kept:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(pickle.dumps(found))
        rows += found
    print(" " * 32 + " | ".join(SHOWN))
    names = with_features(rows, words_only=False)
    by_fold = left_out(rows, names)
    show("left out", measured(rows, of_fold(by_fold)))
    unknown = blanked(rows, names, WHO)
    show("left out, who said it unknown", measured(unknown, of_fold(by_fold)))
    show("by the other set's weights", by_other_set(rows, names))
    weights = fit(rows, names)
    show("in sample", measured(rows, lambda row: weights))
    if arguments.ablate:
        whole = [row["columns"] for row in rows]
        for at, name in enumerate(names):
            for row, x in zip(rows, whole):
                row["columns"] = np.delete(x, at, axis=1)
            without = left_out(rows, [n for n in names if n != name])
            show(f"without {name}", measured(rows, of_fold(without)))
        for row, x in zip(rows, whole):
            row["columns"] = x
    print("curve:", ", ".join(f"{value:.3f}" for value in calibrated(rows, weights)))
    words = with_features(rows, words_only=True)
    by_words = left_out(rows, words)
    show("words only, own weights", measured(rows, of_fold(by_words)))
    same = np.array([weights[names.index(name)] for name in words])
    show("words only, same weights", measured(rows, lambda row: same))
    alone = dict(zip(words, fit(rows, words)))
    print(f"    alike: ({COSINE * weights[names.index('alike_rank')]:.2f}, 0.00),")
    for name, weight in zip(names, weights):
        if name not in BY_HAND:
            print(f"    {name}: ({weight:.2f}, {alone.get(name, 0.0):.2f}),")


if __name__ == "__main__":
    main()
