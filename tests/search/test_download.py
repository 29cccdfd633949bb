"""Fetching a model for the encoder onnx from a hub that is made here."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from commonplace.doors.cli.main import main
from commonplace.model.errors import BadModel, BadValue, NoAnswer
from commonplace.search.encoders.download import Fetched, fetch
from commonplace.search.encoders.onnx import encoder_in
from tests.search.test_onnx_encoder import DIM, write_model

MODEL = "someone/tiny"


class Hub(ThreadingHTTPServer):
    """Files of one model, the longest of them from elsewhere, as hubs do it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.cut = 0
        self.status = 200
        self.elsewhere = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answering(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        hub = self.server
        name = self.path.removeprefix(f"/{MODEL}/resolve/main/").removeprefix("/elsewhere/")
        hub.asked.append(self.path)
        if hub.status != 200 or name not in hub.files:
            self.send_error(hub.status if hub.status != 200 else 404)
        elif name == "model.onnx" and self.path.startswith(f"/{MODEL}"):
            self.send_response(302)
            self.send_header("Location", f"{hub.elsewhere or hub.url}/elsewhere/{name}")
            self.end_headers()
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(hub.files[name])))
            self.end_headers()
            self.wfile.write(hub.files[name][: len(hub.files[name]) - hub.cut])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    made = write_model(tmp_path / "made")
    with Hub() as hub:
        hub.files = {path.name: path.read_bytes() for path in made.iterdir()}
        hub.files["config.json"] = b'{"max_position_embeddings": 64}'
        running = threading.Thread(target=hub.serve_forever, args=(0.02,))
        running.start()
        yield hub
        hub.shutdown()
        running.join()


def quietly(_: str) -> Callable[[int, int], None]:
    return lambda done, total: None


def fetched(hub: Hub, folder: Path) -> Fetched:
    return fetch(MODEL, str(folder), hub=hub.url, progress=quietly)


def test_a_model_is_fetched_and_works(hub: Hub, tmp_path: Path) -> None:
    done = fetched(hub, tmp_path / "tiny")
    assert done.files == ("model.onnx", "vocab.txt", "config.json")
    assert done.bytes == sum(map(len, hub.files.values()))
    assert {path.name: path.read_bytes() for path in (tmp_path / "tiny").iterdir()} == hub.files
    assert encoder_in(done.folder).dim == DIM


def test_what_is_there_is_not_fetched_again(hub: Hub, tmp_path: Path) -> None:
    fetched(hub, tmp_path)
    (tmp_path / "config.json").unlink()
    hub.asked.clear()
    assert fetched(hub, tmp_path).files == ("config.json",)
    assert not any(path.endswith(("model.onnx", "vocab.txt")) for path in hub.asked)


def test_a_file_that_ends_early_is_not_left_behind(hub: Hub, tmp_path: Path) -> None:
    hub.cut = 5
    with pytest.raises(NoAnswer, match="it ended after"):
        fetched(hub, tmp_path / "tiny")
    assert not any((tmp_path / "tiny").iterdir())
    hub.cut = 0
    assert fetched(hub, tmp_path / "tiny").files[0] == "model.onnx"


def test_a_model_without_an_onnx_file_is_said_to_be_none(hub: Hub, tmp_path: Path) -> None:
    del hub.files["model.onnx"]
    with pytest.raises(BadModel, match=r"onnx/model\.onnx"):
        fetched(hub, tmp_path)


def test_a_hub_that_refuses_is_told_apart_from_a_file_that_is_not_there(
    hub: Hub, tmp_path: Path
) -> None:
    hub.status = 403
    with pytest.raises(NoAnswer, match="403"):
        fetched(hub, tmp_path)


def test_no_hub_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(NoAnswer, match="ConnectionRefusedError"):
        fetch(MODEL, str(tmp_path), hub="http://127.0.0.1:9", progress=quietly)


@pytest.mark.parametrize("name", ["tiny", "a/b/c", "../b", "a/..", "a b/c", "", "a/b?c"])
def test_a_name_that_no_hub_gives_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="OWNER/NAME"):
        fetch(name, str(tmp_path), progress=quietly)


def test_files_come_over_https_or_from_this_machine_alone(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="https"):
        fetch(MODEL, str(tmp_path), hub="http://hub.example", progress=quietly)
    hub.elsewhere = "http://files.example"
    with pytest.raises(BadValue, match="https"):
        fetched(hub, tmp_path)


def test_the_command_fetches_tries_and_says_how_to_use_it(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    assert main(["fetch", MODEL]) == 0
    folder = tmp_path / "data/commonplace/models/tiny"
    said = capsys.readouterr().out
    assert f"vectors have {DIM} numbers" in said
    assert f'encoder_path = "{folder}"' in said
    assert main(["fetch", MODEL, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["files"], told["dimensions"], told["folder"]) == ([], DIM, str(folder))


def test_the_command_says_that_a_model_is_none(
    hub: Hub, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hub.files["model.onnx"] = b"not a model"
    assert main(["fetch", MODEL, "--hub", hub.url, "--into", str(tmp_path / "x")]) == 8
    assert "cannot be used" in capsys.readouterr().err
