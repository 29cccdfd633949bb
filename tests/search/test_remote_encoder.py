"""The remote encoder against an endpoint on loopback that answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.model.errors import BadOption, NoAnswer
from commonplace.model.options import Options
from commonplace.search.encoders import Encoder, encoder_named
from commonplace.search.encoders.hashed import HashedEncoder
from commonplace.search.encoders.remote import KEY, LONGEST, RemoteEncoder
from tests.contracts.encoder import EncoderContract

SECRET = "sk-of-the-test"


class Endpoint(ThreadingHTTPServer):
    """Embeds by hashing; `answers` are given first: a status and a body each."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, Any, dict[str, str]]] = []
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def tell(self, status: int, body: Any, **headers: str) -> None:
        self.answers.append((status, body, headers))

    def sent(self) -> list[str]:
        return [text for body in self.bodies for text in body["input"]]


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append(body)
        self.server.headers.append(dict(self.headers))
        status, answer, headers = (
            self.server.answers.pop(0) if self.server.answers else (200, embedded(body), {})
        )
        if self.path != "/v1/embeddings":
            status = 404
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def embedded(body: Any) -> Any:
    vectors = HashedEncoder().encode(body["input"])
    rows = [
        {"index": at, "embedding": [each / 127 for each in memoryview(vector).cast("b")]}
        for at, (vector, _) in enumerate(vectors)
    ]
    return {"data": rows[::-1]}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def encoder(endpoint: Endpoint, pauses: list[float]) -> RemoteEncoder:
    return RemoteEncoder(endpoint.url, "small", environ={KEY: SECRET}, pause=pauses.append)


class TestRemote(EncoderContract):
    @pytest.fixture
    def encoder(self, endpoint: Endpoint) -> Encoder:
        options = Options(encoder_url=endpoint.url, encoder_model="small")
        return encoder_named("remote", options, environ={})


def test_the_endpoint_is_asked_as_openai_is(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    encoder.encode(["tea", "coffee"])
    assert endpoint.bodies == [
        {"model": "small", "input": ["tea", "coffee"], "encoding_format": "float"}
    ]
    assert endpoint.headers[0]["Authorization"] == f"Bearer {SECRET}"
    assert (encoder.model, encoder.dim, encoder.leaves_machine) == ("remote-small", 256, True)


def test_without_a_key_none_is_sent(endpoint: Endpoint) -> None:
    RemoteEncoder(endpoint.url, "small", environ={}).encode(["tea"])
    assert "Authorization" not in endpoint.headers[0]


def test_many_texts_go_in_batches_and_come_back_in_order(
    endpoint: Endpoint, encoder: RemoteEncoder
) -> None:
    texts = [f"text number {number}" for number in range(150)]
    assert [vector for vector, _ in encoder.encode(texts)] == [
        vector for vector, _ in HashedEncoder().encode(texts)
    ]
    assert [len(body["input"]) for body in endpoint.bodies] == [64, 64, 22]


def test_long_texts_are_cut_and_share_no_batch_with_too_many(
    endpoint: Endpoint, encoder: RemoteEncoder
) -> None:
    encoder.encode(["tea " * 10_000] * 13)
    assert {len(text) for text in endpoint.sent()} == {LONGEST}
    assert [len(body["input"]) for body in endpoint.bodies] == [12, 1]


def test_a_text_without_words_is_not_sent(endpoint: Endpoint, encoder: RemoteEncoder) -> None:
    assert encoder.encode([" ", "tea"])[0] == (bytes(256), 0.0)
    assert endpoint.sent() == ["tea"]


@pytest.mark.parametrize("status", [429, 500, 503])
def test_an_endpoint_that_is_busy_is_asked_again(
    endpoint: Endpoint, encoder: RemoteEncoder, pauses: list[float], status: int
) -> None:
    endpoint.tell(status, {})
    endpoint.tell(status, {}, Retry_After="3")
    assert encoder.encode(["tea"])[0][1] > 0
    assert pauses == [0.5, 3.0]


def test_it_is_asked_three_times_and_no_longer_than_it_should_be(
    endpoint: Endpoint, encoder: RemoteEncoder, pauses: list[float]
) -> None:
    for _ in range(3):
        endpoint.tell(503, {}, Retry_After="9999")
    with pytest.raises(NoAnswer, match="503"):
        encoder.encode(["tea"])
    assert pauses == [10.0, 10.0]


def test_a_question_is_asked_once(
    endpoint: Endpoint, encoder: RemoteEncoder, pauses: list[float]
) -> None:
    endpoint.tell(503, {})
    with pytest.raises(NoAnswer):
        encoder.encode_query("tea?")
    assert pauses == []


def test_a_refusal_is_told_in_the_endpoints_words_and_without_the_key(
    endpoint: Endpoint, encoder: RemoteEncoder, pauses: list[float]
) -> None:
    endpoint.tell(401, {"error": {"message": "Incorrect\x1b[31m key.\n"}})
    with pytest.raises(NoAnswer) as caught:
        encoder.encode(["tea"])
    assert "401 Incorrect [31m key." in str(caught.value)
    assert SECRET not in str(caught.value)
    assert pauses == []


WRONG = {
    "no JSON": (b"<html>", "not a list of embeddings"),
    "no data": ({"object": "list"}, "not a list of embeddings"),
    "a list": ([1, 2], "not a list of embeddings"),
    "too few": ({"data": []}, "0 vectors came for 1"),
    "empty": ({"data": [{"embedding": []}]}, "empty"),
    "words": ({"data": [{"embedding": ["a"]}]}, "not a list of embeddings"),
    "no number": (b'{"data": [{"embedding": [NaN]}]}', "no number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_that_makes_no_sense_is_an_error(
    endpoint: Endpoint, encoder: RemoteEncoder, name: str
) -> None:
    body, problem = WRONG[name]
    endpoint.tell(200, body)
    with pytest.raises(NoAnswer, match=problem):
        encoder.encode(["tea"])


def test_a_model_that_changes_its_dimension_is_an_error(
    endpoint: Endpoint, encoder: RemoteEncoder
) -> None:
    encoder.encode(["tea"])
    endpoint.tell(200, {"data": [{"index": 0, "embedding": [0.5, 1.0]}]})
    with pytest.raises(NoAnswer, match="256 numbers"):
        encoder.encode(["coffee"])


def test_the_key_does_not_follow_to_another_address(
    endpoint: Endpoint, encoder: RemoteEncoder
) -> None:
    endpoint.tell(302, {}, Location=f"{endpoint.url}/elsewhere")
    with pytest.raises(NoAnswer, match="302"):
        encoder.encode(["tea"])
    assert len(endpoint.bodies) == 1


def test_nobody_there_is_said_at_once(endpoint: Endpoint, pauses: list[float]) -> None:
    nowhere = RemoteEncoder("http://127.0.0.1:9/v1", "small", environ={}, pause=pauses.append)
    with pytest.raises(NoAnswer, match="encoder_url"):
        nowhere.encode(["tea"])
    assert pauses == []


@pytest.mark.parametrize("url", ["", "ftp://host/v1", "file:///etc/passwd", "http://"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(BadOption, match="encoder_url"):
        RemoteEncoder(url, "small", environ={})


def test_a_key_goes_over_https_or_nowhere() -> None:
    with pytest.raises(BadOption, match="https"):
        RemoteEncoder("http://example.com/v1", "small", environ={KEY: SECRET})


def test_nothing_sensitive_is_ever_sent(endpoint: Endpoint, tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "encoder": "remote",
        "encoder_url": endpoint.url,
        "encoder_model": "small",
    }
    with Memory.open(tmp_path, session="s", environ={}, **options) as memory:
        for level in ("public", "personal", "sensitive", "secret"):
            memory.store(f"A {level} fact about tea", sensitivity=level)
        assert memory.search("tea")
    sent = " ".join(endpoint.sent())
    assert "public fact" in sent
    assert "personal fact" in sent
    assert "sensitive fact" not in sent
    assert "secret fact" not in sent


def test_search_goes_on_by_words_when_the_endpoint_is_gone(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "encoder": "remote",
        "encoder_url": "http://127.0.0.1:9/v1",
        "encoder_model": "m",
    }
    with Memory.open(tmp_path, session="s", environ={}, **options) as memory:
        memory.store("Prefers green tea")
        found = memory.search("tea")
    assert [hit.record.text for hit in found] == ["Prefers green tea"]
    assert "gave no vectors" in found.degraded
