"""The files of deploy/: images, services and units name only what there is, and hold no secret."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from commonplace.doors.cli.parser import build_parser
from commonplace.doors.http.server import GRACE_SECONDS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CONTAINERFILES = sorted(DEPLOY.rglob("Containerfile"))
UNITS = sorted((DEPLOY / "systemd").iterdir())
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
GATEWAYS = ("gateway-1", "gateway-2")
INSTRUCTIONS = {
    *("ARG", "CMD", "COPY", "ENTRYPOINT", "ENV", "EXPOSE", "FROM", "HEALTHCHECK", "LABEL", "RUN"),
    *("STOPSIGNAL", "USER", "VOLUME", "WORKDIR"),
}
LITERAL_SECRET = re.compile(r"(password|secret|token|key)\w*\s*[:=]\s*(?!\$\{)[\"']?\w", re.I)
MOUNTED = "/usr/local/bin/commonplace"


def instructions(path: Path) -> list[tuple[str, str]]:
    """The instructions of a Containerfile, with lines that go on joined."""
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(word, rest.strip()) for word, _, rest in _split(joined) if word]


def _split(text: str) -> list[tuple[str, str, str]]:
    return [line.strip().partition(" ") for line in text.splitlines()]


def is_pinned_without_a_host(image: str) -> bool:
    """Whether an image names a version, and no registry."""
    first, slash, _ = image.partition("/")
    name, _, tag = image.rpartition(":")
    is_host = bool(slash) and (first == "localhost" or "." in first or ":" in first)
    return bool(name) and tag not in ("", "latest") and not is_host


HOSTS = [
    ("python:3.13-slim", True),
    ("pgvector/pgvector:pg18", True),
    ("python", False),
    ("python:latest", False),
    ("registry.example/python:3.13", False),
    ("localhost/python:3.13", False),
]


@pytest.mark.parametrize(("image", "good"), HOSTS)
def test_an_image_with_a_host_or_without_a_version_is_seen(image: str, good: bool) -> None:
    assert is_pinned_without_a_host(image) is good


@pytest.mark.parametrize("path", CONTAINERFILES, ids=lambda path: path.parent.name)
def test_an_image_is_made_of_what_there_is_and_runs_as_nobody_who_may_do_much(path: Path) -> None:
    told = instructions(path)
    assert {word for word, _ in told} <= INSTRUCTIONS
    assert told[0][0] == "FROM"
    bases = [rest.split()[0] for word, rest in told if word == "FROM"]
    assert all(map(is_pinned_without_a_host, bases))
    last = [word for word, _ in told][::-1].index("FROM")
    users = [rest for word, rest in told[-last:] if word == "USER"]
    assert users
    assert users[-1] not in ("root", "0")
    context = ROOT if path.parent == DEPLOY else path.parent
    for word, rest in told:
        if word == "COPY" and "--from" not in rest:
            assert [each for each in rest.split()[:-1] if not (context / each).exists()] == []
        if word in ("ENV", "ARG"):
            assert not LITERAL_SECRET.search(rest)
        if word in ("CMD", "ENTRYPOINT"):
            assert json.loads(rest), "the form without a shell passes signals on"


def test_the_gateways_image_asks_whether_it_lives() -> None:
    told = dict(instructions(DEPLOY / "Containerfile"))
    assert "/health/live" in told["HEALTHCHECK"]
    compile(json.loads(told["HEALTHCHECK"].partition("CMD ")[2])[2], "the check", "exec")


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line of `commonplace` below deploy/, with where it stands."""
    told = dict(instructions(DEPLOY / "Containerfile"))
    yield "Containerfile", json.loads(told["CMD"])
    for name, service in SERVICES.items():
        if service.get("image") == "commonplace":
            yield name, service["command"]
    for path in UNITS:
        for line in re.findall(r"^ExecStart=(.*)$", path.read_text("utf-8"), re.M):
            program, *words = shlex.split(line)
            assert program == MOUNTED
            yield path.name, words
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    for line in re.findall(r"^#.*run --rm prepare (\w[^#]*)$", text, re.M):
        yield "compose.yaml", shlex.split(line)


@pytest.mark.parametrize("words", [pytest.param(words, id=where) for where, words in commands()])
def test_every_command_line_is_one_that_commonplace_knows(words: list[str]) -> None:
    build_parser(words).parse_args(words)


def test_there_are_as_many_command_lines_as_are_looked_at() -> None:
    wheres = {where for where, _ in commands()}
    assert wheres >= {"Containerfile", "prepare", *GATEWAYS, "commonplace.service", "compose.yaml"}


def test_the_services_need_each_other_and_reach_the_database_through_the_pooler() -> None:
    assert set(SERVICES) == {"postgres", "pgbouncer", "prepare", *GATEWAYS}
    for name, service in SERVICES.items():
        assert set(service.get("depends_on", {})) <= set(SERVICES), name
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        assert "build" in service or is_pinned_without_a_host(service["image"]), name
    for name in GATEWAYS:
        assert "--tenants" in SERVICES[name]["command"]
        assert "@pgbouncer:6432/" in SERVICES[name]["environment"]["COMMONPLACE_VAULT"]
        assert int(SERVICES[name]["stop_grace_period"].removesuffix("s")) > GRACE_SECONDS
    ports = [port for name in GATEWAYS for port in SERVICES[name]["ports"]]
    assert len(set(ports)) == len(ports) == len(GATEWAYS)
    mounts = [each.partition(":")[0] for each in SERVICES["postgres"]["volumes"]]
    assert [each for each in mounts if each.startswith(".") and not (DEPLOY / each).exists()] == []
    assert {each for each in mounts if not each.startswith(".")} == set(COMPOSE["volumes"])


def test_no_file_holds_a_secret_and_none_starts_without_one() -> None:
    for path in [each for each in DEPLOY.rglob("*") if each.is_file()]:
        lines = path.read_text("utf-8").splitlines()
        told = [line for line in lines if not line.lstrip().startswith(("#", "--", "quoted="))]
        assert [line for line in told if LITERAL_SECRET.search(line)] == [], path
    for name in ("postgres", "pgbouncer", "prepare", *GATEWAYS):
        environment = SERVICES[name]["environment"]
        given = environment.get("PGPASSWORD") or environment["POSTGRES_PASSWORD"]
        assert given.startswith("${COMMONPLACE_PASSWORD:?"), name


def test_the_pooler_lends_sessions_for_a_transaction() -> None:
    settings = configparser.ConfigParser()
    settings.read(DEPLOY / "pgbouncer" / "pgbouncer.ini")
    assert settings["pgbouncer"]["pool_mode"] == "transaction"
    assert "host=postgres" in settings["databases"]["memories"]
    assert subprocess.run(["sh", "-n", DEPLOY / "pgbouncer" / "start"], check=False).returncode == 0


def read_unit(path: Path) -> dict[str, list[tuple[str, str]]]:
    """The sections of a unit with their lines: a key may come more than once."""
    sections: dict[str, list[tuple[str, str]]] = {}
    section = ""
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
            sections[section] = []
        elif line and not line.startswith("#"):
            key, equals, value = line.partition("=")
            assert equals, line
            sections[section].append((key, value))
    return sections


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_a_unit_is_what_systemd_takes(path: Path, tmp_path: Path) -> None:
    sections = read_unit(path)
    assert set(sections) <= {"Unit", "Service", "Timer", "Install"}
    for key, value in sections.get("Service", []):
        assert key != "User" or value not in ("", "root")
    if not (program := shutil.which("systemd-analyze")):
        return
    for each in UNITS:
        # What is not installed here cannot be started.
        text = each.read_text("utf-8").replace(MOUNTED, "/bin/true")
        (tmp_path / each.name).write_text(text, encoding="utf-8")
    verify = [program, "verify", "--man=no", str(tmp_path / path.name)]
    done = subprocess.run(verify, capture_output=True, text=True, check=False)
    ours = [line for line in done.stderr.splitlines() if "commonplace" in line]
    assert ours == []


def test_a_stop_of_the_service_leaves_time_for_what_is_on() -> None:
    service = dict(read_unit(DEPLOY / "systemd" / "commonplace.service")["Service"])
    assert int(service["TimeoutStopSec"]) > GRACE_SECONDS
    assert service["KillMode"] == "mixed"
