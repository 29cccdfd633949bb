"""Measure how much of the code a reader has to hold in the head. Prints a table; it is no gate.

    python tools/house.py                       this checkout
    python tools/house.py --against DIRECTORY   another checkout in a column before it

Files and imports are read, not run. A store, a search and the commands are run on a small vault in
a temporary directory, with the Python that runs this script.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
DATA = ("secret_forms.py",)
"""Modules that are data, and not code."""
PARTS = re.compile(r"\blibrary\.(?:index|journal|vault|heads|progress|layout)\b")
"""A part of the library, reached through the library."""
INSIDE = re.compile(r"commonplace/(?:library/|library\.py|ledger|erasing|levelling|outside|past)")
"""Where the library's own parts are."""
HOOKS = ("session-start", "prompt-submit", "pre-tool", "post-tool", "stop")
TRACED = """
import contextlib, io, json, sys, tempfile
from commonplace.doors.cli import main

main = getattr(main, "main", main)
entered, depths, told = set(), [0], {}

def look(frame, event, _):
    name = frame.f_globals.get("__name__", "")
    if event == "call" and name.startswith("commonplace") and frame.f_code.co_name != "<module>":
        entered.add(name)
        depth, each = 0, frame
        while each:
            depth += each.f_globals.get("__name__", "").startswith("commonplace")
            each = each.f_back
        depths.append(depth)

with tempfile.TemporaryDirectory() as root, contextlib.redirect_stdout(io.StringIO()):
    main(["--vault", root, "init", "--yes"])
    for word in ("kettle", "lamp", "carpet"):
        main(["--vault", root, "store", f"The {word} was painted green by uncle Heinrich"])
    for words in (["store", "The window was painted blue"], ["search", "who painted the lamp?"]):
        entered.clear()
        depths[:] = [0]
        sys.setprofile(look)
        code = main(["--vault", root, *words])
        sys.setprofile(None)
        assert code == 0, words
        told[words[0]] = [len(entered), max(depths)]
print(json.dumps(told))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--against", type=Path, metavar="DIRECTORY", help="another checkout")
    other = parser.parse_args().against
    columns = [measured(root.resolve()) for root in ([other, HERE] if other else [HERE])]
    print("| | before | now |\n|---|---|---|" if other else "| | now |\n|---|---|")
    for name in columns[-1]:
        print(f"| {name} | {' | '.join(column[name] for column in columns)} |")


def measured(root: Path) -> dict[str, str]:
    """Every row of the table for one checkout."""
    top = root / "src/commonplace"
    files = [path for path in sorted(top.rglob("*.py")) if path.name not in DATA]
    sizes = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in files}
    longest = max(sizes, key=lambda path: sizes[path])
    entries = [
        each for each in top.iterdir() if each.suffix == ".py" or (each / "__init__.py").exists()
    ]
    twice = {name: places for name, places in classes(files).items() if len(places) > 1}
    again = same_names(top, files)
    reaching = sum(
        len(PARTS.findall(_code(path))) for path in files if not INSIDE.search(str(path))
    )
    chain = longest_chain(imports(top, files))
    traced = run(root, [sys.executable, "-c", TRACED])
    deeds = json.loads(traced.splitlines()[-1])
    loaded = [path for path in loaded_files(root, top) if path in sizes]
    methods = {name: public_methods(name, classes(files)) for name in ("Library", "Memory")}
    return {
        "top-level entries": str(len(entries)),
        "import layers": f"{len(chain)}",
        "files / lines": f"{len(files)} / {sum(sizes.values()):,}",
        "modules entered, call depth: store": "{}, {}".format(*deeds["store"]),
        "modules entered, call depth: search": "{}, {}".format(*deeds["search"]),
        "modules / lines loaded by search, brief, store, context, five hooks and mcp": (
            f"{len(loaded)} / {sum(sizes[path] for path in loaded):,}"
        ),
        "public methods: Library, Memory": ", ".join(str(len(each)) for each in methods.values()),
        "class names with two meanings": _counted(twice),
        "file names twice within a room": _counted(again),
        "places that reach through `library.`": str(reaching),
        "longest module": f"{sizes[longest]} ({longest.relative_to(top)})",
    }


def _counted(names: Iterable[str]) -> str:
    found = sorted(names)
    return f"{len(found)} ({', '.join(found)})" if 0 < len(found) <= 8 else str(len(found))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _code(path: Path) -> str:
    """The module without its docstrings and comments."""
    return ast.unparse(_tree(path))


def classes(files: Iterable[Path]) -> dict[str, list[ast.ClassDef]]:
    """The classes of modules, by name; those that begin with an underscore are their module's."""
    found: dict[str, list[ast.ClassDef]] = defaultdict(list)
    for path in files:
        for node in _tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(node)
    return found


def public_methods(name: str, known: Mapping[str, list[ast.ClassDef]]) -> set[str]:
    """The public methods and properties of a class, with those that it inherits."""
    found: set[str] = set()
    for node in known.get(name, ()):
        own = (each.name for each in node.body if isinstance(each, ast.FunctionDef))
        found |= {each for each in own if not each.startswith("_")}
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id != name:
                found |= public_methods(base.id, known)
    return found


def same_names(top: Path, files: Iterable[Path]) -> list[str]:
    """File names that stand twice within a room; each door is a room of its own."""
    rooms: dict[str, Counter[str]] = defaultdict(Counter)
    for path in files:
        parts = path.relative_to(top).parts
        room = "/".join(parts[: 2 if parts[0] == "doors" and len(parts) > 2 else 1])
        if len(parts) > 1 and path.stem != "__init__":
            rooms[room][path.name] += 1
    return [f"{room}/{name}" for room in rooms for name, count in rooms[room].items() if count > 1]


def imports(top: Path, files: Iterable[Path]) -> dict[str, set[str]]:
    """Which room imports which, wherever in a module the import stands."""
    rooms = {each.stem for each in top.iterdir() if each.stem not in ("__init__", "__main__")}
    graph: dict[str, set[str]] = {room: set() for room in rooms}
    for path in files:
        room = path.relative_to(top).parts[0].removesuffix(".py")
        if room in graph:
            graph[room] |= {each for each in _imported(_tree(path)) if each in rooms} - {room}
    return graph


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{each.name}" for each in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name.startswith("commonplace."))


def longest_chain(graph: Mapping[str, set[str]]) -> tuple[str, ...]:
    """The longest way from import to import. Rooms that import each other count one by one."""
    reached = {room: _reached(room, graph) for room in graph}
    cycles = {
        room: {room} | {each for each in reached[room] if room in reached[each]} for room in graph
    }

    @cache
    def below(room: str) -> tuple[str, ...]:
        own = cycles[room]
        nexts = {each for part in own for each in graph[part]} - own
        return (*sorted(own), *max((below(each) for each in sorted(nexts)), key=len, default=()))

    return max((below(room) for room in sorted(graph)), key=len, default=())


def _reached(room: str, graph: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    left = [room]
    while left:
        left += (new := graph[left.pop()] - found)
        found |= new
    return found


def loaded_files(root: Path, top: Path) -> set[Path]:
    """The modules of ours that the everyday commands load, all of them together."""
    with tempfile.TemporaryDirectory() as directory:
        vault = str(Path(directory) / "vault")
        at = [sys.executable, "-X", "importtime", "-m", "commonplace", "--vault", vault]
        run(root, [*at, "init", "--yes"], home=directory)
        run(root, [*at, "store", "The kettle is blue"], home=directory)
        said = [
            run(root, [*at, *words], home=directory, given=given, errors=True)
            for words, given in _commands()
        ]
    found: set[Path] = set()
    for name in set(re.findall(r"\|\s+(commonplace[\w.]*)$", "\n".join(said), re.M)):
        path = top.joinpath(*name.split(".")[1:])
        found |= {each for each in (path.with_suffix(".py"), path / "__init__.py") if each.exists()}
    return found


def _commands() -> Iterator[tuple[list[str], str]]:
    yield ["search", "blue"], ""
    yield ["brief"], ""
    yield ["store", "The lamp is green"], ""
    yield ["context", "--message", "lamp"], ""
    for event in HOOKS:
        yield (
            ["hook", event],
            json.dumps(
                {"session_id": "s", "prompt": "lamp", "tool_name": "Read", "tool_use_id": "t"}
            ),
        )
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}}
    call = {"name": "search", "arguments": {"query": "lamp"}}
    asked = [("initialize", begin), ("tools/list", {}), ("tools/call", call)]
    messages = (
        {"jsonrpc": "2.0", "id": at, "method": method, "params": params}
        for at, (method, params) in enumerate(asked)
    )
    yield ["mcp"], "".join(json.dumps(each) + "\n" for each in messages)


def run(
    root: Path, command: list[str], *, home: str = "", given: str = "", errors: bool = False
) -> str:
    """What a command of a checkout prints; `errors`: on standard error."""
    environ = {**os.environ, "PYTHONPATH": str(root / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    if home:
        environ |= {"HOME": home, "XDG_DATA_HOME": home, "XDG_STATE_HOME": home}
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, env=environ, cwd=home or None
    )
    if done.returncode:
        sys.exit(f"{' '.join(command[:8])} failed:\n{done.stderr[-2000:]}")
    return done.stderr if errors else done.stdout


if __name__ == "__main__":
    main()
