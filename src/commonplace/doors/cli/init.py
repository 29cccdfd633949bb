"""`init`: three questions at most, and then the vault is made in one go.

Everything is asked before anything is made: whoever stops at a question leaves nothing behind.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from commonplace.doors.cli.main import complain, show
from commonplace.doors.cli.terminal import agrees, answer_to, at_terminal, paint
from commonplace.doors.cli.trust import trust_what_was_made
from commonplace.doors.cli.wrapping import below, columns, folded
from commonplace.doors.which_vault import HOME, command
from commonplace.model.errors import BadValue, CommonplaceError
from commonplace.model.options import Options, is_url
from commonplace.model.records import OWNER
from commonplace.storage.option_files import load
from commonplace.tools.tool import Answer

if TYPE_CHECKING:
    from commonplace.doors.admin.init import Beginning
    from commonplace.doors.setup.connections import ClientState
    from commonplace.markdown.layouts import Layout

MOST_ASKED = 3
ABOUT_YOU = "What is your name, and what should agents know about you?"
ABOUT_AGENT = "What is the agent called, and how should it be?"
FILES = {
    "commonplace.toml": "options",
    ".gitignore": "keeps your memory out of git",
}
EXAMPLE = 'remember "Prefers dark mode in all editors" --kind preference'


class Wishes(Struct, frozen=True):
    """What a person answered: the first texts of documents, and the clients to connect."""

    texts: dict[str, str] = {}
    clients: tuple[str, ...] = ()


def init_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", default="", help=f"where; else --vault, or {HOME}")
    parser.add_argument("--yes", action="store_true", help="ask nothing")


def init(arguments: argparse.Namespace) -> int:
    """Make a vault, or complete the one that is there. Nothing is overwritten.

    At a terminal it asks who you are, who the agent is and which clients to connect; Enter skips a
    question.
    """
    named = arguments.path or arguments.vault or HOME
    if is_url(named):
        from commonplace.doors.admin.init import begin_at

        return _told(begin_at(named, dialect=arguments.dialect), (), arguments)
    path = Path(named).expanduser()
    try:
        return _made(path, arguments)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        complain(["stopped; nothing was written."])
        return 130


def _made(path: Path, arguments: argparse.Namespace) -> int:
    from commonplace.doors.admin.init import begin

    asked = _consent(path, sure=arguments.yes)
    if asked is None:
        return 2
    dialect = arguments.dialect or _detected(path)
    wishes = Wishes()
    if at_terminal() and not (arguments.yes or arguments.json):
        wishes = _asked(path, dialect, most=MOST_ASKED - asked)
    done = begin(path, dialect=dialect, texts=wishes.texts)
    trust_what_was_made(done.shown)
    return _told(done, wishes.clients, arguments)


def _consent(path: Path, *, sure: bool) -> int | None:
    """How many questions it took to know that the vault may be here; None if it may not."""
    others = [entry.name for entry in path.iterdir()] if path.is_dir() else []
    if sure or not others or _is_vault(path):
        return 0
    said = f"{path} holds {len(others)} entries already, and its markdown would become memory"
    if not at_terminal():
        raise BadValue("path", said, next_step="Repeat with --yes, or name another.")
    return 1 if agrees(f"{said}. Go on?") else None


def _is_vault(path: Path) -> bool:
    return (path / ".commonplace").is_dir() or (path / "commonplace.toml").is_file()


def _detected(path: Path) -> str:
    """The dialect of what is there already; empty where nothing tells."""
    from commonplace.opening import dialect_of, find_root

    if not path.is_dir():
        return ""
    root = find_root(path)
    return load(root).options.dialect or dialect_of(root)


def _asked(path: Path, dialect: str, *, most: int) -> Wishes:
    """Ask what is not known yet, as many questions as may be asked."""
    from commonplace.doors.admin.init import check_place, root_of
    from commonplace.markdown.layouts import layout_named

    layout = layout_named(dialect or "native")
    root = root_of(path, layout)
    check_place(root)
    blank = [name for name in (layout.user, layout.soul) if name and _is_blank(root / name)]
    found = _clients_to_connect(root)
    count = min(len(blank) + bool(found), most)
    if not count:
        return Wishes()
    begun = f"{_counted(count)}; Enter skips one. Nothing is written before the last."
    print("\n".join(folded(begun, columns(2))), file=sys.stderr)
    questions = {layout.user: ABOUT_YOU, layout.soul: ABOUT_AGENT}
    texts, chosen = dict[str, str](), tuple[str, ...]()
    with suppress(EOFError):  # Who ends typing skips the rest.
        for name in blank:
            texts[name] = _answer(questions[name], name)
        chosen = _chosen(found) if found and count > len(blank) else ()
    return Wishes({name: text for name, text in texts.items() if text}, chosen)


def _counted(count: int) -> str:
    return "One question" if count == 1 else f"{('', '', 'Two', 'Three')[count]} questions"


def _is_blank(path: Path) -> bool:
    return not path.exists() or not path.read_bytes().strip()


def _clients_to_connect(vault: Path) -> list[ClientState]:
    """The clients that are installed here and do not use the vault yet."""
    from commonplace.doors.setup.connections import clients_here

    found = clients_here(str(vault))
    return [each for each in found if each.installed and not each.connected and not each.trouble]


def _chosen(found: list[ClientState]) -> tuple[str, ...]:
    """The clients to connect: numbers, names or all; none by Enter."""
    rows = "".join(f"\n  {number} {each.title}" for number, each in enumerate(found, start=1))
    asked = paint("Which of these clients shall have this memory?", "bold", stream=sys.stderr)
    question = f"\n{asked} (such as: 1 2, or all){rows}\n> "
    names = {str(at): each.name for at, each in enumerate(found, start=1)}
    names |= {each.name: each.name for each in found}
    while said := answer_to(question).lower().replace(",", " ").split():
        if said == ["all"]:
            return tuple(each.name for each in found)
        if all(word in names for word in said):
            return tuple(dict.fromkeys(names[word] for word in said))
        question = f"Name them by their numbers, 1 to {len(found)}; Enter connects none.\n> "
    return ()


def _connected(names: tuple[str, ...], vault: str) -> list[str]:
    """Connect clients to the vault. Returns what to say of each; of the others it complains."""
    if not names:
        return []
    from commonplace.doors.setup.clients import CLIENTS
    from commonplace.doors.setup.connections import connect
    from commonplace.memory import Memory

    done = []
    with Memory.open(vault, origin=OWNER.origin) as memory:
        for name in names:
            try:
                notes = connect(memory, name).notes
                done += [f"{CLIENTS[name].title} is connected.", *(f"  {note}" for note in notes)]
            except CommonplaceError as error:
                complain([f"{CLIENTS[name].title} is not connected. {error}"])
    return done


def _answer(question: str, document: str) -> str:
    from commonplace.trust.admission import without_secrets

    said = answer_to(f"\n{paint(question, 'bold', stream=sys.stderr)} ({document})\n> ")
    return f"{without_secrets(said, Options())}\n" if said else ""


def _told(done: Beginning, clients: tuple[str, ...], arguments: argparse.Namespace) -> int:
    """Connect the clients, and say what was made and what to do next."""
    connected = _connected(clients, done.shown)
    data = {"vault": done.shown, "dialect": done.layout.name, "created": done.created}
    lines = [f"Made {done.shown}:", *_rows(done)]
    if not done.created:
        lines = [f"{done.shown} is a vault, and nothing was missing."]
    lines += connected
    lines += ["", f"Next: {command(done.shown)} {EXAMPLE}"]
    if not connected:
        lines.append(f"      {command(done.shown)} setup     # connects your agents")
    show(Answer(data, "\n".join(lines)), as_json=arguments.json)
    return 0


def _rows(done: Beginning) -> list[str]:
    about = _documents(done.layout) | FILES
    return [
        line
        for name in done.created
        for line in below(
            name, _about(name, about, done), indent=2, gap=20, width=min(columns(), 100)
        )
    ]


def _about(name: str, about: dict[str, str], done: Beginning) -> str:
    empty = name in (done.layout.soul, done.layout.user) and name not in done.filled
    return about.get(name, "") + (" (empty: yours to write)" if empty else "")


def _documents(layout: Layout) -> dict[str, str]:
    return {
        layout.soul: "who the agent is",
        layout.user: "who you are",
        layout.memory: "what is remembered",
    }
