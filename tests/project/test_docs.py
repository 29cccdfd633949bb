"""The documents say what the code does."""

from __future__ import annotations

import re
import subprocess
import sys
import uuid
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import commonplace
from commonplace.memory import Memory
from commonplace.model.options import DEFAULTS
from tests.support.postgres import url_of_server

ROOT = Path(__file__).parents[2]


def script(name: str) -> ModuleType:
    """A script of docs/ that writes what the code says."""
    spec = spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_what_the_code_says() -> None:
    written = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert written == script("make_reference").reference(), "run: python docs/make_reference.py"


@pytest.mark.long
def test_the_picture_of_the_readme_shows_what_its_commands_print() -> None:
    written = (ROOT / "docs" / "terminal.svg").read_text(encoding="utf-8")
    assert written == script("make_picture").picture(), "run: python docs/make_picture.py"


INSTALLING = re.compile(r"\b(?:pipx?|tool) install\b.*?\bcommonplace\b(?!-memory)|\bcommonplace\[")


def test_whoever_installs_is_told_the_name_on_pypi() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("*.py"), ROOT / "pyproject.toml"]
    pages += [*ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py")]
    wrong = {page.name for page in pages if INSTALLING.search(page.read_text(encoding="utf-8"))}
    assert wrong == set(), "the distribution is commonplace-memory"


SHOWN = {
    "docs/history.md": "assistant Green tea.",
    "docs/heartbeat.md": "done diary/",
    "docs/context.md": "## Current Message\nAnd low water?",
}
PAGES = ("docs/use.md", "docs/backup.md", *SHOWN)


EVERY_PAGE = sorted(
    str(page.relative_to(ROOT))
    for place in ("*.md", "docs/**/*.md", "bench/*.md", "tests/*.md", "training/*.md")
    for page in ROOT.glob(place)
)


@pytest.mark.parametrize("name", EVERY_PAGE)
def test_every_link_leads_somewhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text):
        page = (ROOT / name).parent.joinpath(target) if target else ROOT / name
        assert page.exists(), target
        assert not anchor or anchor in anchors(page), f"{target}#{anchor}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, todo = set[Path](), [ROOT / "README.md"]
    while todo:
        page = todo.pop()
        reached.add(page)
        for target in re.findall(r"\]\(([^):#]+\.md)", page.read_text(encoding="utf-8")):
            linked = (page.parent / target).resolve()
            todo += [linked] if linked not in reached else []
    assert {ROOT / name for name in EVERY_PAGE} <= reached


def anchors(page: Path) -> set[str]:
    """What the headings of a page can be linked by."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@pytest.mark.parametrize("name", EVERY_PAGE)
def test_a_number_beside_an_option_is_its_default(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for option, number in re.findall(r"`(\w+)` \(([\d.,]+)[);]", text):
        if option in DEFAULTS:
            assert float(number.replace(",", "")) == DEFAULTS[option], option


def shell_blocks(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [body for language, body in fences if not language]


@pytest.mark.long
@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_page_runs_as_it_stands(tmp_path: Path, name: str) -> None:
    commands = [
        line.split("  #")[0].strip()
        for block in shell_blocks(name)
        for line in block.split("\n")
        if "commonplace " in line and not line.startswith("pip ")
    ]
    assert len(commands) >= 5
    bin_directory = Path(sys.executable).parent
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command],
            env={"HOME": str(tmp_path), "PATH": f"{bin_directory}:/usr/bin:/bin"},
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert "Nothing found" not in done.stdout, command


@pytest.mark.parametrize(("name", "shown"), SHOWN.items())
def test_the_python_example_of_a_page_runs_as_it_stands(
    tmp_path: Path, name: str, shown: str
) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    [example] = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    Memory.open(tmp_path / "commonplace", create=True).close()
    done = subprocess.run(
        [sys.executable, "-c", example],
        env={"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout


def test_every_python_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", text, re.M | re.DOTALL)
    assert len(examples) == text.count("```python") >= 5
    for example, shown in examples:
        done = subprocess.run(
            [sys.executable, "-c", example],
            env={"HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{example}\n{done.stderr}"
        assert done.stdout == shown, example


def fenced(name: str, language: str) -> list[str]:
    """The lines of a document's blocks in a language."""
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.long
def test_every_command_of_the_gateway_runs_as_it_stands(tmp_path: Path) -> None:
    bin_directory = Path(sys.executable).parent
    environ = {"HOME": str(tmp_path), "PATH": f"{bin_directory}:/usr/bin:/bin"}

    def run(command: str, **more: str) -> str:
        done = subprocess.run(
            ["bash", "-c", command],
            env={**environ, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        return done.stdout

    run(f"commonplace init {tmp_path}/book")
    run(f"commonplace --vault {tmp_path}/book store 'Ann likes green tea'")
    for command in fenced("docs/gateway.md", ""):
        run(command)
    token = run("commonplace token add docs --scope write").strip()
    serve = ["commonplace", "--vault", f"{tmp_path}/book", "serve", "--port", "0"]
    with subprocess.Popen(serve, env=environ, stdout=subprocess.PIPE, text=True) as gateway:
        try:
            assert gateway.stdout is not None
            said = "".join(gateway.stdout.readline() for _ in range(4))
            [address] = re.findall(r"(http://\S+)/login", said)
            given = {"AT": address, "TOKEN": token, "VAULT": "book"}
            answers = [run(command, **given) for command in fenced("docs/gateway.md", "sh")]
        finally:
            gateway.terminate()
    assert len(answers) == 8
    assert "Ann likes green tea" in answers[1]
    assert "Ann moved to Lisbon" in answers[3]


def test_the_package_offers_its_public_names_and_no_others() -> None:
    assert sorted(commonplace.__all__) == commonplace.__all__
    for name in commonplace.__all__:
        assert getattr(commonplace, name).__name__ == name
    with pytest.raises(AttributeError):
        _ = commonplace.nothing


HEAVY = ("asyncio", "numpy", "mcp", "pydantic", "starlette", "anthropic", "uuid", "ctypes", "shtab")
LOADED_FOR_FEW = ("dataclasses", "pathlib", "subprocess", "tempfile", "tomllib", "urllib")
"""What takes longer to load than what a cold read would use of it."""
LIGHT_COMMANDS = (
    ["search", "tea"],
    ["brief"],
    ["context"],
    ["read", "MEMORY.md"],
    ["tool", "memory_search", "{}"],
)


@pytest.mark.long
@pytest.mark.parametrize("command", LIGHT_COMMANDS, ids=" ".join)
def test_a_read_imports_nothing_heavy(tmp_path: Path, command: list[str]) -> None:
    with commonplace.Memory.open(tmp_path) as memory:
        memory.store("likes tea")
    loaded = loaded_by(
        "from commonplace.doors.cli.main import main\n"
        f"main(['--vault', {str(tmp_path)!r}, *{command!r}])\n"
    )
    assert ("argparse" in loaded) == (command[0] not in ("search", "brief"))
    # What msgspec, and from 3.14 on argparse, loads by itself is not ours to leave out.
    unasked = loaded_by(
        "import json, sqlite3, msgspec"
        + ("\nimport argparse; argparse.ArgumentParser()" if "argparse" in loaded else "")
    )
    assert loaded.intersection(HEAVY) <= unasked
    assert loaded.intersection(LOADED_FOR_FEW) <= unasked
    known = {"commonplace", "__editable___commonplace", *sys.stdlib_module_names} | unasked
    assert {name for name in loaded - known if not name.startswith("_")} == set()


def loaded_by(program: str) -> set[str]:
    """The packages and modules that a new interpreter has once it has run this."""
    told = "\nimport sys\nprint(*{name.split('.')[0] for name in sys.modules}, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program + told], capture_output=True, text=True, check=True
    )
    return set(done.stderr.strip().split("\n")[-1].split())


IN_MEMORIES = ("postgresql://me:password@host/memories?", "postgresql://…/memories?")
BLOCKS = {"init": "", "migrate": "commonplace init ~/commonplace"}
"""What a block of the page on PostgreSQL begins with, and what there is before it."""


@pytest.mark.parametrize("block", shell_blocks("docs/postgres.md"))
def test_every_command_of_the_page_on_postgresql_runs_as_it_stands(
    tmp_path: Path, block: str
) -> None:
    server = url_of_server()
    here = f"{server}{'&' if '?' in server else '?'}schema=d{uuid.uuid4().hex[:12]}&"
    for there in IN_MEMORIES:
        block = block.replace(there, here)
    # That one serves until it is told to stop; the gateway's own tests do.
    lines = [line for line in block.splitlines() if not line.startswith("commonplace serve")]
    before = BLOCKS.get(block.split()[1], f"commonplace init '{here}profile=alice'")
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join([before, *lines])],
        env={
            "HOME": str(tmp_path),
            "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
            "COMMONPLACE_VAULT": f"{here}profile=alice",
        },
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{lines}\n{done.stderr}"
