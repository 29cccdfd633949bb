"""The commands of trust: `trust` a vault, `review` what waits, and what a `session` has read."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from commonplace.doors.caller import agent_above, require_person
from commonplace.doors.cli import pages
from commonplace.doors.cli.everyday import listed_as, note_listed
from commonplace.doors.cli.main import complain, is_for_eyes, open_memory, show
from commonplace.doors.cli.terminal import agrees, answer_to, ask, at_terminal
from commonplace.doors.which_vault import vault_here
from commonplace.library import accounts
from commonplace.library.approvals import ASKED
from commonplace.model.clock import Clock
from commonplace.model.errors import (
    BadValue,
    CommonplaceError,
    Conflict,
    NotFound,
    Refused,
)
from commonplace.model.options import is_url, shown_value
from commonplace.model.records import Origin, Record
from commonplace.opening import find_root
from commonplace.storage.option_files import VaultFiles, vault_files, why_distrusted
from commonplace.storage.state_places import STATE
from commonplace.storage.trusted import (
    Trusted,
    all_trusted,
    command_for,
    recorded,
    revoke,
    trust,
    trusted,
    unheeded,
)
from commonplace.storage.version_control import is_kept
from commonplace.tools.hits import described
from commonplace.tools.tool import Answer
from commonplace.trust.neutralise import neutralise, one_line

if TYPE_CHECKING:
    from commonplace.library.accounts import Account
    from commonplace.memory import Memory
    from commonplace.storage.sessions import Session

PAST = {"approve": "Approved", "reject": "Rejected"}
USEFUL = "useful"
KEYS = {"y": "approve", "yes": "approve", "u": USEFUL, "w": "reject"}
"""What a person may answer about each that waits in turn; anything else lets it wait."""


def trust_vault_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", nargs="?", default="", metavar="PATH", help="the vault; none: the one here"
    )
    deed = parser.add_mutually_exclusive_group()
    deed.add_argument("--list", action="store_true", help="list the vaults that are trusted")
    deed.add_argument("--revoke", action="store_true", help="trust it no longer")
    deed.add_argument(
        "--shared", action="store_true", help="other users' machine files in it are used as well"
    )
    parser.add_argument("--yes", action="store_true", help="ask nothing, in a script of your own")


def trust_vault(arguments: argparse.Namespace) -> int:
    """Trust a vault: let its own files set commands, URLs and other keys that could do harm.

    It shows what they set and asks. When such a key changes, or the directory is replaced or
    becomes another user's, the vault must be trusted again. Hooks and MCP use a trusted vault even
    where nobody names it. Trust is remembered outside of the vault.
    """
    if arguments.list:
        return _list_trusted(arguments)
    require_person("trust a vault")
    named = _directory(arguments.path or arguments.vault)
    if arguments.revoke:
        return _revoke(arguments, recorded(named) or _root(named))
    root = _root(named)
    found = vault_files(root)
    if not arguments.json:
        print(_said_of_vault(root, found))
    if not (arguments.yes or _agrees(root)):
        raise Conflict("Nothing was trusted.", next_step="Repeat it when you have looked.")
    said = trust(root, keys=found.keys, shared=arguments.shared, at=Clock().stamp())
    show(Answer(_trusted_data(said), f"Trusted {one_line(said.root)}."), as_json=arguments.json)
    return 0


def trust_what_was_made(root: str) -> None:
    """Trust a vault that the person made or set a client up for, unless it calls for a look.

    Harmful keys, and machine files that version control has, came from elsewhere.
    """
    found = vault_files(root)
    if trusted(root) is None and not (found.harmful or is_kept(root, STATE) or agent_above()):
        trust(root, keys="", at=Clock().stamp())
    if found.harmful and not found.is_trusted(trusted(root)):
        said = unheeded(found.harmful, why_distrusted(root, found))
        complain([f"{said} '{one_line(command_for(root))}' trusts it."])


def _directory(path: str) -> str:
    """The directory that is meant: the working directory, if it is a vault, where none is named."""
    if is_url(path):
        raise BadValue(
            "PATH", "only a vault in files is trusted", next_step="Use 'commonplace trust PATH'."
        )
    named = os.path.expanduser(path) or vault_here()
    if not named:
        raise NotFound(
            "The working directory is no vault.",
            next_step="Name one: 'commonplace trust PATH'; 'commonplace trust --list' lists them.",
        )
    return named


def _root(named: str) -> str:
    if not os.path.isdir(named):
        raise NotFound(
            f"There is no directory {one_line(named)}.",
            next_step="Look at the path; 'commonplace trust --list' shows what is trusted.",
        )
    return os.path.realpath(find_root(named))


def _said_of_vault(root: str, found: VaultFiles) -> str:
    """What is to be trusted: whose it is, and what its files set."""
    lines = [f"{one_line(root)}, of {_owner(root)}"]
    for name, said in found.harmful.items():
        lines.append(f"{name} sets, and it will count:")
        lines += [f"  {key} = {one_line(json.dumps(_shown(said[key])))}" for key in sorted(said)]
    return "\n".join(lines if found.harmful else [*lines, "Its files set nothing harmful."])


def _shown(value: Any) -> Any:
    return shown_value(value) if isinstance(value, str | int | float | bool) else str(value)


def _owner(root: str) -> str:
    """The user whose directory it is, by name if there is one."""
    number = os.stat(root).st_uid
    try:
        import pwd

        return "you" if number == os.geteuid() else f"user {pwd.getpwuid(number).pw_name}"
    except (ImportError, KeyError):
        return f"user {number}"


def _agrees(root: str) -> bool:
    if not at_terminal():
        raise Refused(
            "A vault is trusted by hand, and this is no terminal.",
            next_step=f"Run '{one_line(command_for(root))}' in a terminal.",
        )
    return agrees("Trust it?")


def _list_trusted(arguments: argparse.Namespace) -> int:
    found = {each: _why_distrusted(each.root) for each in all_trusted()}
    lines = [
        f"{each.at[:10]}  {one_line(each.root)}"
        + ("  shared" if each.shared else "")
        + (f"  ({why})" if why else "")
        for each, why in found.items()
    ]
    text = "\n".join(lines) or "No vault is trusted."
    listed = [{**_trusted_data(each), "distrusted": why} for each, why in found.items()]
    show(Answer(listed, text), as_json=arguments.json)
    return 0


def _why_distrusted(root: str) -> str:
    """Why what is listed does not count as it stands; empty where it does."""
    try:
        return why_distrusted(root, vault_files(root))
    except CommonplaceError as error:
        return one_line(error.what)


def _revoke(arguments: argparse.Namespace, root: str) -> int:
    was = revoke(root)
    text = f"{one_line(root)} is {'no longer' if was else 'not'} trusted."
    show(Answer({"root": root, "revoked": was}, text), as_json=arguments.json)
    return 0


def _trusted_data(said: Trusted) -> dict[str, Any]:
    return {"root": said.root, "owner": said.owner, "shared": said.shared, "at": said.at}


def review_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="*", metavar="ID", help="records; none: list what waits")
    parser.add_argument("--all", action="store_true", help="decide on all that waits")
    decision = parser.add_mutually_exclusive_group()
    decision.add_argument("--approve", action="store_true", help="let it in, exactly as it is")
    decision.add_argument("--reject", action="store_true", help="take it off the list")
    parser.add_argument(
        "--answer", default="", metavar="TEXT", help="with --approve: the answer to a question"
    )
    parser.add_argument("--as-owner", action="store_true", help="decide without a terminal")
    parser.add_argument("--yes", action="store_true", help="decide without being asked")


def review(arguments: argparse.Namespace) -> int:
    """List, approve or reject what waits: untrusted rules, suggestions, what you once forgot.

    At a terminal it shows what you decide on, and asks. With --approve or --reject alone it asks
    about each in turn. A question that you asked again and again is kept with your answer: at a
    terminal you are asked for it, else say --answer. --all leaves such questions out.
    """
    with open_memory(arguments) as memory:
        if not (arguments.approve or arguments.reject):
            return _list_waiting(memory, arguments)
        require_person("decide what is let in", memory.notes)
        if memory.origin != Origin.OWNER and not arguments.as_owner:
            raise Refused(
                "Only the owner decides what is let in, and this is not a terminal.",
                next_step="Decide in a terminal, or say --as-owner.",
            )
        return _decide(memory, arguments)


def _list_waiting(memory: Memory, arguments: argparse.Namespace) -> int:
    """Show what waits, each with what the user said and what an approval would change."""
    parts = [part.removeprefix("#") for part in _meant(memory, arguments.id)]
    every = memory.review()
    waiting = [each for each in every if not parts or any(part in each.id for part in parts)]
    reasons, rests = memory.review_reasons(), memory.accounts(waiting)
    data = [_record_data(each, rests[each.id], reasons.get(each.id, "")) for each in waiting]
    way = "'commonplace review ID… --approve' or '--reject' decides on some, '--all' on all."
    if is_for_eyes(arguments):
        note_listed(memory, [each.id for each in waiting])
        lines = [
            pages.waiting(each, rests[str(each["id"])].lines(), memory.clock, number=number)
            for number, each in enumerate(data, start=1)
        ]
        lines += pages.heading(way, "") if waiting else []
    else:
        lines = [_told_record(each, rests[each.id], reasons.get(each.id, "")) for each in waiting]
        lines += [way] if waiting else []
    text = "\n".join(lines) or "Nothing waits for approval."
    show(Answer(data, text), as_json=arguments.json)
    return 0


def _meant(memory: Memory, said: Sequence[str]) -> list[str]:
    """The ids that a person means: numbers of the last list, ids, or parts of them."""
    return [listed_as(memory, each) or each for each in said]


def _decide(memory: Memory, arguments: argparse.Namespace) -> int:
    """Approve or reject what is named, or all, or of each in turn what the person says yes to."""
    waiting = memory.review(_meant(memory, arguments.id) or None)
    in_turn = not (arguments.id or arguments.all)
    questions = _questions(memory) if arguments.approve else frozenset()
    if arguments.all and (left := [each.id for each in waiting if each.id in questions]):
        waiting = [each for each in waiting if each.id not in questions]
        complain([f"{', '.join(left)}: approve questions one by one, with their answers."])
    if in_turn and waiting:
        _check_can_ask(waiting, arguments)
        if arguments.approve:
            keys = "y approves, u approves what is useful, w rejects what is wrong."
            print(keys, file=_aside(arguments))
    asked = [[record] for record in waiting] if in_turn else [waiting]
    data = [each for some in asked for each in _decided(memory, some, arguments, in_turn=in_turn)]
    only = data[0] if len(data) == 1 and arguments.id else data
    if arguments.json:
        show(Answer(only, ""), as_json=True)
    elif not waiting:
        print("Nothing waits for approval.")
    return 0


def _check_can_ask(waiting: Sequence[Record], arguments: argparse.Namespace) -> None:
    if arguments.yes or not at_terminal():
        named = ", ".join(record.id for record in waiting)
        raise BadValue(
            "ID",
            f"none is named. These wait: {named}",
            next_step=f"Say which, 'commonplace review ID… --{_deed(arguments)}', or --all.",
        )


def _said_of(waiting: Sequence[Record], arguments: argparse.Namespace, *, in_turn: bool) -> str:
    """What the person says: what was asked, one of `KEYS` where each is asked about, or nothing."""
    deed = _deed(arguments)
    question = f"{deed.title()} {_these(waiting)}?"
    if in_turn and deed == "approve":
        return KEYS.get(ask(f"{question} [y/N] "), "")
    return deed if _agreed(question, arguments) else ""


def _decided(
    memory: Memory, waiting: Sequence[Record], arguments: argparse.Namespace, *, in_turn: bool
) -> list[dict[str, object]]:
    """Show records, ask where there is somebody to ask, and _decide on them as they were shown."""
    rests, reasons = memory.accounts(waiting), memory.review_reasons()
    for each in waiting:
        print(_told_record(each, rests[each.id], reasons.get(each.id, "")), file=_aside(arguments))
    said = _said_of(waiting, arguments, in_turn=in_turn) if waiting else _deed(arguments)
    deed = "approve" if said == USEFUL else said
    if not said:
        if not in_turn:
            raise Conflict(
                "Nothing was decided.", next_step="Repeat it when you have looked, or say --yes."
            )
        print("It still waits.", file=_aside(arguments))
        return []
    answer = arguments.answer
    if not answer and deed == "approve" and len(waiting) == 1 and _is_asked(arguments):
        answer = _answer(memory, waiting[0])
    decided = memory.decide(deed, [each.id for each in waiting], shown=waiting, answer=answer)
    if said == USEFUL:
        memory.judge(USEFUL, *(record.id for record in decided))
    for record in decided:
        print(f"{PAST[deed]} {record.id}.", file=_aside(arguments))
    return [
        described(record) | {"account": accounts.data_of(rests[record.id])} for record in decided
    ]


def _questions(memory: Memory) -> frozenset[str]:
    """The ids of the questions that history suggested to be kept with an answer."""
    learned = memory.library.approvals.learned()
    return frozenset(key for key, what in learned.items() if what == ASKED)


def _answer(memory: Memory, record: Record) -> str:
    """What the person at the terminal answers to a question; nothing for what is none."""
    if record.id not in _questions(memory):
        return ""
    try:
        return answer_to("Its answer: ")
    except EOFError:
        return ""


def _deed(arguments: argparse.Namespace) -> str:
    return "approve" if arguments.approve else "reject"


def _these(waiting: Sequence[Record]) -> str:
    return waiting[0].id if len(waiting) == 1 else f"these {len(waiting)}"


def _agreed(question: str, arguments: argparse.Namespace) -> bool:
    return not _is_asked(arguments) or agrees(question)


def _is_asked(arguments: argparse.Namespace) -> bool:
    """Whether there is somebody to ask, who did not say yes beforehand."""
    return at_terminal() and not arguments.yes


def _aside(arguments: argparse.Namespace) -> TextIO:
    """Where to tell what is decided on: beside the JSON, if that is asked for."""
    return sys.stderr if arguments.json else sys.stdout


def _told_record(record: Record, account: Account, reason: str) -> str:
    head = (
        f"{record.id}  {record.timestamp[:16]}  from {record.origin}, session "
        f"{one_line(record.session) or 'unknown'}" + (f"; {reason}" if reason else "")
    )
    shown = [line for line in account.lines() if not line.startswith("the agent's wording: ")]
    rest = [f"    {neutralise(line)}" for line in shown]
    return "\n".join([head, f"    {record.kind}: {neutralise(record.text)}", *rest])


def _record_data(record: Record, account: Account, reason: str) -> dict[str, object]:
    return described(record) | {"why": reason, "account": accounts.data_of(account)}


def session_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="?",
        choices=("show", "taint"),
        default="show",
        help="what to do (default show)",
    )
    parser.add_argument(
        "--what", default="", metavar="TEXT", help="the name of what was read, such as a URL"
    )


def session(arguments: argparse.Namespace) -> int:
    """Show which untrusted text a session has read, or mark the session as tainted.

    What a tainted session stores counts as coming from that text: rules wait for your approval.
    Hooks mark sessions by themselves; a program of your own does it with 'session taint'.
    """
    with open_memory(arguments) as memory:
        if not memory.session:
            raise BadValue("--session", "it is missing", next_step="Name the session with it.")
        if arguments.action == "taint":
            memory.taint(arguments.what)
        found = memory.sessions.read(memory.session)
    show(Answer(_session_data(found), _told_session(found)), as_json=arguments.json)
    return 0


def _session_data(found: Session) -> dict[str, Any]:
    read = [{"what": what, "at": at} for what, at in found.taints]
    return {"session": found.id, "tainted": found.tainted, "read": read}


def _told_session(found: Session) -> str:
    if not found.tainted:
        return f"Session {found.id} has read nothing but the user's own words."
    lines = [f"  {at[:16].replace('T', ' '):16}  {what}" for what, at in found.taints]
    return "\n".join([f"Session {found.id} is tainted. It has read:", *lines])
