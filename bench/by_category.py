"""What search gives on a set of one-line memories, by kind of question, beside its bare parts.

    python bench/by_category.py short-memories.jsonl observations.jsonl.gz [--only typo,update]

The same questions are put to the product, to the vectors of its encoder alone and to plain BM25;
COMMONPLACE_ENCODER and COMMONPLACE_ENCODER_PATH choose the encoder. Each figure is any@1 / any@5 /
R@5, times 100. The last lines say how well the first score tells questions with an answer from
those without, as the area under the curve.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from commonplace.doors.admin import evaluate
from commonplace.search.index import Query
from question_sets import cases_in

SHOWN = ("any@1", "any@5", "R@5")
NO_ANSWER = "no-answer"
Scores = dict[str, list[float]]


def unanswered(path: Path) -> list[str]:
    """The questions of a JSONL file that nothing in it answers."""
    rows = [json.loads(line) for line in evaluate.text_of(path).splitlines() if line.strip()]
    return [row["question"] for row in rows if "question" in row and not row["evidence"]]


class Vectors:
    """The encoder's vectors alone: the nearest memories, whatever their words are."""

    def __init__(self, vault: evaluate.CaseVault) -> None:
        self._vault = vault

    def ask(self, question: evaluate.EvalQuestion, limit: int = evaluate.DEPTH) -> list[str]:
        library = self._vault.memory.library
        asked, _ = library.engine.asked(question.text)
        hits = library.index.nearest(asked, Query(limit=limit)) if asked else []
        return [self._vault.turns[hit.record.id] for hit in hits]


def first_score(vault: evaluate.CaseVault, text: str) -> float:
    hits = vault.memory.search(text, limit=1)
    return hits[0].score if hits else 0.0


def auc(right: Sequence[float], wrong: Sequence[float]) -> float:
    """How often a question with an answer has the higher score; level ones count half."""
    pairs = [(one > other) + 0.5 * (one == other) for one in right for other in wrong]
    return sum(pairs) / len(pairs)


def measure(path: Path, only: Sequence[str]) -> None:
    for case in cases_in(path):
        with TemporaryDirectory() as directory:
            root = Path(directory) / "vault"
            vault = evaluate.CaseVault(case, root, remembering=evaluate.Remembering())
            systems = {
                "product": vault,
                "vectors alone": Vectors(vault),
                "plain BM25": evaluate.PlainBM25(case),
            }
            figures, scores = asked(case, systems, vault, only)
            scores[NO_ANSWER] = [first_score(vault, text) for text in unanswered(path)]
            vault.memory.close()
        print(f"{case.name}, {len(case.turns)} memories: any@1 any@5 R@5")
        show(figures, systems)
        if scores[NO_ANSWER]:
            show_auc(scores)


def asked(
    case: evaluate.Case,
    systems: dict[str, evaluate.System],
    vault: evaluate.CaseVault,
    only: Sequence[str],
) -> tuple[dict[tuple[str, str], list[evaluate.Figures]], Scores]:
    """The figures of every question by category and system, and its first scores by category."""
    figures: dict[tuple[str, str], list[evaluate.Figures]] = defaultdict(list)
    scores: Scores = defaultdict(list)
    for question in case.questions:
        if only and question.category not in only:
            continue
        for name, system in systems.items():
            measured = evaluate.measured(system.ask(question), question.evidence)
            figures[question.category, name].append(measured)
            figures["all", name].append(measured)
        scores[question.category].append(first_score(vault, question.text))
    return figures, scores


def show(
    figures: dict[tuple[str, str], list[evaluate.Figures]], systems: dict[str, evaluate.System]
) -> None:
    print(f"{'':14}" + "".join(f"{name:22}" for name in systems))
    for category in dict.fromkeys(category for category, _ in figures):
        cells = []
        for name in systems:
            rows = figures[category, name]
            means = [100 * sum(row[each] for row in rows) / len(rows) for each in SHOWN]
            cells.append(" ".join(f"{mean:5.1f}" for mean in means))
        print(f"{category:14}" + "     ".join(cells))


def show_auc(scores: Scores) -> None:
    told = {
        category: auc(of, scores[NO_ANSWER])
        for category, of in scores.items()
        if category != NO_ANSWER
    }
    print("told from no answer, AUC: " + ", ".join(f"{it} {told[it]:.2f}" for it in told))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--only", default="", help="categories, joined by commas")
    arguments = parser.parse_args()
    for path in arguments.sets:
        measure(path, [name for name in arguments.only.split(",") if name])


if __name__ == "__main__":
    main()
