"""Writes docs/reference.md from the code itself: python docs/make_reference.py."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from commonplace import tools
from commonplace.doors.cli.main import COMMANDS
from commonplace.doors.cli.parser import build_parser
from commonplace.model import errors
from commonplace.model.options import DEFAULTS, HARMFUL, descriptions

HEAD = """\
# Reference

Written from the code by `python docs/make_reference.py`; the tests fail when it is not up to date.
"""


def commands() -> list[str]:
    parser = build_parser(())
    lines = ["## Commands", "", "These options may stand before or after any command:", ""]
    lines += _options(parser)
    [chosen] = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    for name in COMMANDS:
        command = chosen.choices[name]
        lines += ["", f"### commonplace {name}", "", command.description or "", ""]
        lines += _options(command, without=_flags(parser))
        for word, below in _words_of(command).items():
            lines += ["", f"#### commonplace {name} {word}", "", below.description or "", ""]
            lines += _options(below, without=_flags(parser))
    return lines


def _words_of(command: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    found = [a for a in command._actions if isinstance(a, argparse._SubParsersAction)]
    return dict(found[0].choices) if found else {}


def _flags(parser: argparse.ArgumentParser) -> set[str]:
    return {flag for action in parser._actions for flag in action.option_strings}


def _options(parser: argparse.ArgumentParser, without: set[str] = frozenset()) -> list[str]:  # type: ignore[assignment]
    lines = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or without.intersection(
            action.option_strings
        ):
            continue
        name = ", ".join(action.option_strings) or str(action.metavar or action.dest).upper()
        if name != "-h, --help":
            lines.append(f"- `{name}`: {(action.help or '').replace('%%', '%')}")
    return lines


def tool_sets() -> list[str]:
    lines = ["## Tools", "", "By dialect; `commonplace --dialect NAME mcp` serves a set over MCP."]
    for dialect in tools.DIALECTS:
        lines += ["", f"### {dialect}", ""]
        for tool in tools.table(dialect).values():
            first = tool.description.split("\n")[0]
            lines.append(f"- **`{tool.name}`**: {first}")
            for name, about in tool.schema()["properties"].items():
                lines.append(f"  - `{name}` ({about.get('type', 'any')}): {_about(about)}")
    return lines


def _about(schema: dict[str, Any]) -> str:
    extra = ""
    if "enum" in schema:
        extra = " One of " + ", ".join(f"`{value}`" for value in schema["enum"]) + "."
    if "default" in schema:
        extra += f" Default `{schema['default']}`."
    return str(schema.get("description", "")) + extra


def options() -> list[str]:
    lines = [
        "## Options",
        "",
        "In `commonplace.toml` of the vault, in `~/.config/commonplace/commonplace.toml`, in the",
        "environment as `COMMONPLACE_NAME`, or as arguments of `Memory.open`; later ones win. The",
        "names of CursorClaw's `continuity` table (`memoryMaxRecords`) are accepted for the same.",
        "Options marked * count in the file of a vault only where it was trusted with",
        "`commonplace trust`.",
        "",
        "| option | default | what it does |",
        "|---|---|---|",
    ]
    for name, description in descriptions().items():
        star = " *" if name in HARMFUL else ""
        lines.append(f"| `{name}`{star} | `{DEFAULTS[name]!r}` | {description} |")
    return lines


def error_tree() -> list[str]:
    lines = [
        "## Errors",
        "",
        "Each says what is wrong and what to do next, in the same words everywhere.",
        "",
        "| error | exit code | HTTP | when |",
        "|---|---|---|---|",
    ]
    for name, error in vars(errors).items():
        if isinstance(error, type) and issubclass(error, errors.CommonplaceError):
            about = (error.__doc__ or "").strip()
            lines.append(f"| `{name}` | {error.exit_code} | {error.status} | {about} |")
    return lines


def reference() -> str:
    parts = [commands(), tool_sets(), options(), error_tree()]
    return HEAD + "".join("\n" + "\n".join(part) + "\n" for part in parts)


if __name__ == "__main__":
    Path(__file__).with_name("reference.md").write_text(reference(), encoding="utf-8")
