"""The command `tenants`: what the operator of a database sees of its profiles, and does to them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict

from commonplace.doors.caller import require_person
from commonplace.doors.cli.main import is_for_eyes, show, unconfirmed
from commonplace.doors.cli.pages import when
from commonplace.doors.cli.terminal import agrees, at_terminal, progress_bar
from commonplace.doors.cli.wrapping import cells, padded
from commonplace.model.clock import Clock
from commonplace.model.errors import BadValue
from commonplace.model.options import is_url, shown_value
from commonplace.tools.tool import Answer

if TYPE_CHECKING:
    from commonplace.doors.http.access_tokens import AccessTokens
    from commonplace.postgres.connection import Database
    from commonplace.postgres.tenants import Tenant, Tenants

NUMBER = re.compile(r"[0-9,]*%?\Z")
WORDS = {
    "list": (),
    "usage": (),
    "create": ("NAME",),
    "drop": ("NAME",),
    "rename": ("OLD", "NEW"),
    "suspend": ("NAME",),
    "read-only": ("NAME",),
    "open": ("NAME",),
    "quota": ("NAME",),
    "backup": ("NAME", "FILE"),
    "restore": ("FILE", "NAME"),
    "move": ("NAME", "TO-URL"),
}
"""What can be done, each with the words that it takes."""
STATES = {"suspend": "suspended", "read-only": "read-only", "open": ""}
SAID = {
    "suspend": "is suspended: every call to it is refused, on every host",
    "read-only": "is read-only: it is searched and read, and nothing in it changes",
    "open": "is open: it is read and written",
}
OUT_OF_REACH = (
    "what the server keeps: its log, its backups, replicas that lag behind",
    "what hosts keep of the profile in $XDG_STATE_HOME/commonplace",
    "backups and copies that were made of it",
    "what agents have already been shown",
)


def tenants_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="a PostgreSQL database")
    parser.add_argument(
        "action", nargs="?", default="list", choices=tuple(WORDS), help="what to do (default list)"
    )
    parser.add_argument(
        "words",
        nargs="*",
        metavar="NAME",
        help="the tenant; rename OLD NEW, backup NAME FILE, restore FILE NAME, move NAME TO-URL",
    )
    parser.add_argument("--csv", action="store_true", help="list or usage as CSV")
    parser.add_argument("--yes", action="store_true", help="drop without asking")
    parser.add_argument("--drop", action="store_true", help="drop what was moved")
    for name in ("records", "bytes", "requests-a-minute"):
        parser.add_argument(f"--{name}", type=int, metavar="N", help="quota; 0: none")


def tenants(arguments: argparse.Namespace) -> int:
    """List the tenants of a database, and create, drop, rename, suspend, limit or move one.

    What is set for a tenant holds at once, at every gateway and host. 'usage' shows how much of
    its quotas each has used. A tenant that is moved is written to until most of it is copied, and
    is read-only while the rest is.
    """
    _check(arguments)
    if arguments.action not in ("list", "usage"):
        require_person("change tenants")
    from commonplace.postgres.tenants import Tenants

    with closing(Tenants(arguments.url, clock=Clock())) as found:
        if arguments.action == "drop" and not _may_drop(arguments, found):
            return unconfirmed(again="--yes")
        show(DEEDS[arguments.action](arguments, found), as_json=arguments.json)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    if not is_url(arguments.url):
        raise BadValue(
            "URL",
            f"{arguments.url} is no database",
            next_step="Write: commonplace tenants postgresql://host/database [ACTION].",
        )
    wanted = WORDS[arguments.action]
    if len(arguments.words) != len(wanted):
        form = " ".join(("commonplace tenants URL", arguments.action, *wanted))
        raise BadValue(
            arguments.action, f"it takes {len(wanted)} words", next_step=f"Write: {form}."
        )


def _may_drop(arguments: argparse.Namespace, found: Tenants) -> bool:
    if arguments.yes:
        return True
    told = found.about(arguments.words[0])
    return at_terminal() and agrees(
        f"Erase {told.name}, with {told.records:,} records and {told.messages:,} messages, for "
        "good?"
    )


def _list(arguments: argparse.Namespace, found: Tenants) -> Answer:
    every = found.all()
    if arguments.csv:
        return Answer([asdict(each) for each in every], _csv(every))
    head = ("NAME", "RECORDS", "BYTES", "MESSAGES", "LAST USE", "STATE", "QUOTA")
    rows = [_row(each, for_eyes=is_for_eyes(arguments)) for each in every]
    text = _table([head, *rows]) if rows else "There are no tenants."
    return Answer([asdict(each) for each in every], text)


def _row(each: Tenant, *, for_eyes: bool) -> tuple[str, ...]:
    used = when(each.used, Clock()) if each.used and for_eyes else each.used
    counts = (f"{number:,}" for number in (each.records, each.bytes, each.messages))
    return each.name, *counts, used or "-", each.state, _quota(each)


def _quota(each: Tenant) -> str:
    limits = {
        "records": each.most_records,
        "bytes": each.most_bytes,
        "requests a minute": each.most_requests_a_minute,
    }
    return ", ".join(f"{most:,} {what}" for what, most in limits.items() if most) or "-"


def _usage(arguments: argparse.Namespace, found: Tenants) -> Answer:
    """The tenants with the most bytes first, and how much of its quotas each has used."""
    every = sorted(found.all(), key=lambda each: (-each.bytes, each.name))
    if arguments.csv:
        return Answer([asdict(each) for each in every], _csv(every))
    head = ("NAME", "RECORDS", "", "BYTES", "", "MESSAGES")
    rows = [
        (
            each.name,
            f"{each.records:,}",
            _share(each.records, each.most_records),
            f"{each.bytes:,}",
            _share(each.bytes, each.most_bytes),
            f"{each.messages:,}",
        )
        for each in every
    ]
    total = (
        f"{len(every):,} tenants, {sum(each.records for each in every):,} records, "
        f"{sum(each.bytes for each in every):,} bytes, "
        f"{sum(each.messages for each in every):,} messages"
    )
    return Answer([asdict(each) for each in every], f"{_table([head, *rows])}\n{total}")


def _share(there: int, most: int) -> str:
    return f"{there / most:.0%}" if most else ""


def _table(rows: Sequence[Sequence[str]]) -> str:
    """Rows below each other: the first is the head, and a column of numbers ends at the right."""
    columns = list(zip(*rows, strict=True))
    widths = [max(map(cells, column)) for column in columns]
    are_numbers = [all(NUMBER.match(cell) for cell in column[1:]) for column in columns]
    lines = (
        "  ".join(
            cell.rjust(width) if is_number else padded(cell, width)
            for cell, width, is_number in zip(row, widths, are_numbers, strict=True)
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def _csv(every: Iterable[Tenant]) -> str:
    import csv
    import io

    from commonplace.postgres.tenants import Tenant

    out = io.StringIO()
    written = csv.DictWriter(out, Tenant.__struct_fields__, lineterminator="\n")
    written.writeheader()
    written.writerows(asdict(each) for each in every)
    return out.getvalue().removesuffix("\n")


def _create(arguments: argparse.Namespace, found: Tenants) -> Answer:
    [name] = arguments.words
    found.create(name)
    url = shown_value(found.url_of(name))
    next_step = f"'commonplace token add AGENT --scope write --for-vault {name}' lets an agent in."
    return Answer({"name": name, "url": url}, f"Made {name}: {url}\n{next_step}")


def _drop(arguments: argparse.Namespace, found: Tenants) -> Answer:
    return _dropped(arguments.words[0], found)


def _dropped(name: str, found: Tenants) -> Answer:
    revoked: list[str] = []

    def revoke(database: Database) -> None:
        revoked[:] = _tokens(database).drop_vault(name)

    what = found.drop(name, also=revoke)
    data = asdict(what) | {"revoked": revoked, "out_of_reach": OUT_OF_REACH}
    lines = [
        f"Erased {name} from every table: {what.records:,} records, {what.bytes:,} bytes of "
        f"documents and journal, {what.messages:,} messages."
    ]
    lines += [f"Revoked the tokens that opened it alone: {', '.join(revoked)}."] if revoked else []
    lines += [f"Out of reach: {each}" for each in OUT_OF_REACH]
    return Answer(data, "\n".join(lines))


def _rename(arguments: argparse.Namespace, found: Tenants) -> Answer:
    old, new = arguments.words
    found.rename(old, new, also=lambda database: _tokens(database).rename_vault(old, new))
    return Answer({"old": old, "new": new}, f"{old} is {new} now. Its tokens open it as before.")


def _set_state(arguments: argparse.Namespace, found: Tenants) -> Answer:
    [name] = arguments.words
    found.set_state(name, STATES[arguments.action])
    state = STATES[arguments.action] or "open"
    return Answer({"name": name, "state": state}, f"{name} {SAID[arguments.action]}.")


def _set_quota(arguments: argparse.Namespace, found: Tenants) -> Answer:
    [name] = arguments.words
    given = (arguments.records, arguments.bytes, arguments.requests_a_minute)
    if any(number is not None and number < 0 for number in given):
        raise BadValue("quota", "it is less than nothing", next_step="Use 0 for none.")
    records, size, requests = given
    found.set_quota(name, records=records, size=size, requests=requests)
    told = found.about(name)
    return Answer(asdict(told), f"{name}: {_quota(told).replace('-', 'no quota')}")


def _back_up(arguments: argparse.Namespace, found: Tenants) -> Answer:
    from commonplace.doors.admin.backup import back_up
    from commonplace.memory import Memory

    name, file = arguments.words
    found.about(name)
    with Memory.open(found.url_of(name)) as memory:
        done = back_up(memory, Path(file), progress=progress_bar)
    text = (
        f"Backed up {name} to {done.file} ({done.size:,} bytes), and read back: "
        f"{done.documents:,} documents, {done.records:,} records, {done.messages:,} messages."
    )
    return Answer(asdict(done), text)


def _restore(arguments: argparse.Namespace, found: Tenants) -> Answer:
    from commonplace.doors.admin.backup import restore_backup

    file, name = arguments.words
    done = restore_backup(Path(file), found.url_of(name), progress=progress_bar)
    text = (
        f"Restored {name}: {done.documents:,} documents, {done.records:,} records, "
        f"{done.messages:,} messages."
    )
    return Answer(asdict(done), text)


def _move(arguments: argparse.Namespace, found: Tenants) -> Answer:
    from commonplace.doors.admin.tenants import move_tenant

    name, target = arguments.words[0], _target(*arguments.words)
    done = move_tenant(found, name, target, progress=progress_bar)
    tokens = _hand_over_tokens(name, found, target)
    lines = [f"{name} is at {shown_value(target)} now."]
    if done:
        lines += [
            f"Verified: {done.documents:,} documents, {done.records:,} records, "
            f"{done.entries:,} journal entries, {done.messages:,} messages."
        ]
    lines += [f"{tokens:,} tokens that open it alone are good there too."] if tokens else []
    data: dict[str, Any] = {"name": name, "copied": asdict(done) if done else None}
    if arguments.drop:
        dropped = _dropped(name, found)
        data["dropped"] = dropped.data
        lines += [str(dropped)]
    else:
        lines += [f"Here it is closed; 'commonplace tenants URL drop {name}' erases it."]
    return Answer(data | {"tokens": tokens}, "\n".join(lines))


def _target(name: str, url: str) -> str:
    """The URL to move to; without a profile of its own it is that of the same name."""
    from urllib.parse import parse_qs, urlsplit

    from msgspec.structs import replace

    from commonplace.postgres.urls import parse_url

    place = parse_url(url)
    named = "profile" in parse_qs(urlsplit(url).query)
    return (place if named else replace(place, profile=name)).url()


def _hand_over_tokens(name: str, found: Tenants, target: str) -> int:
    from commonplace.postgres.tenants import Tenants

    with closing(Tenants(target, clock=Clock())) as there:
        new = there.place.profile
        return _tokens(found.database).hand_over(name, _tokens(there.database), name=new)


def _tokens(database: Database) -> AccessTokens:
    from commonplace.doors.http.access_tokens import AccessTokens, DatabasePasses

    return AccessTokens(DatabasePasses(database), clock=Clock())


DEEDS: dict[str, Callable[[argparse.Namespace, Tenants], Answer]] = {
    "list": _list,
    "usage": _usage,
    "create": _create,
    "drop": _drop,
    "rename": _rename,
    "suspend": _set_state,
    "read-only": _set_state,
    "open": _set_state,
    "quota": _set_quota,
    "backup": _back_up,
    "restore": _restore,
    "move": _move,
}
