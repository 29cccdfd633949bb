"""The command by which the person trusts a vault, and what `init` and `setup` trust by themselves.

What a trusted vault may do is not known here: only that its files say so, and that somebody looked.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from commonplace.doors.cli.main import complain, show
from commonplace.doors.cli.terminal import agrees, at_terminal
from commonplace.doors.persons import agent_above, require_person
from commonplace.doors.which_vault import vault_here
from commonplace.model.clock import Clock
from commonplace.model.errors import BadValue, CommonplaceError, Conflict, NotFound, Refused
from commonplace.model.options import is_url, shown_value
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
from commonplace.tools.tool import Answer
from commonplace.trust.safety import one_line


def _trust_arguments(parser: argparse.ArgumentParser) -> None:
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

    It shows what they set and asks. Trusted is just this: when such a key changes, or the
    directory is another one or another user's, it has to be trusted again. Hooks and MCP use a
    trusted vault also where nobody names it. It is remembered outside of the vault.
    """
    if arguments.list:
        return _list(arguments)
    require_person("trust a vault")
    named = _named(arguments.path or arguments.vault)
    if arguments.revoke:
        return _revoke(arguments, recorded(named) or _root(named))
    root = _root(named)
    found = vault_files(root)
    if not arguments.json:
        print(_asked(root, found))
    if not (arguments.yes or _agrees(root)):
        raise Conflict("Nothing was trusted.", next_step="Repeat it when you have looked.")
    said = trust(root, keys=found.keys, shared=arguments.shared, at=Clock().stamp())
    show(Answer(_described(said), f"Trusted {one_line(said.root)}."), as_json=arguments.json)
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


def _named(path: str) -> str:
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


def _asked(root: str, found: VaultFiles) -> str:
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


def _list(arguments: argparse.Namespace) -> int:
    found = {each: _why_not(each.root) for each in all_trusted()}
    lines = [
        f"{each.at[:10]}  {one_line(each.root)}"
        + ("  shared" if each.shared else "")
        + (f"  ({why})" if why else "")
        for each, why in found.items()
    ]
    text = "\n".join(lines) or "No vault is trusted."
    described = [{**_described(each), "distrusted": why} for each, why in found.items()]
    show(Answer(described, text), as_json=arguments.json)
    return 0


def _why_not(root: str) -> str:
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


def _described(said: Trusted) -> dict[str, Any]:
    return {"root": said.root, "owner": said.owner, "shared": said.shared, "at": said.at}


COMMANDS = {"trust": (trust_vault, _trust_arguments)}
