"""Vectors from an endpoint that speaks OpenAI's /v1/embeddings, by the standard library.

Its texts leave this machine. `leaves_machine` says so, and the index then gives it no text that is
marked sensitive or secret.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.client import HTTPException
from math import isfinite
from time import sleep
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from commonplace.model.errors import BadOption, NoAnswer
from commonplace.search.encoders import Weigh, rounded

KEY = "COMMONPLACE_ENCODER_KEY"
"""The key comes from the environment and from nowhere else."""
TEXTS, CHARACTERS = 64, 100_000
"""Most of a batch."""
LONGEST = 8_000
"""Characters of a text that are sent; endpoints refuse what is much longer."""
SECONDS = {"text": 30.0, "question": 10.0}
TRIES = {"text": 3, "question": 1}
"""Somebody waits for a question; texts can wait."""
PAUSE, LONGEST_PAUSE = 0.5, 10.0
LOCAL = ("127.0.0.1", "localhost", "::1")


class RemoteEncoder:
    """Vectors that another program makes."""

    leaves_machine = True

    def __init__(
        self,
        url: str,
        name: str,
        *,
        environ: Mapping[str, str],
        pause: Callable[[float], None] = sleep,
    ) -> None:
        key = environ.get(KEY, "")
        self._url = _checked(url, key) + "/embeddings"
        self._name = name
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._pause = pause
        self._open = build_opener(_NoRedirect).open
        self._dim = 0
        self.model = f"remote-{name}"

    @property
    def dim(self) -> int:
        """How long its vectors are: asked once, with a word that says nothing."""
        if not self._dim:
            self._vectors(["text"], wanted="question")
        return self._dim

    def encode(self, texts: Sequence[str]) -> list[tuple[bytes, float]]:
        found = [(b"", 0.0)] * len(texts)
        for batch in _batches(texts):
            vectors = self._vectors([texts[at][:LONGEST] for at in batch], wanted="text")
            for at, vector in zip(batch, vectors):
                found[at] = vector
        return [each if each[0] else (bytes(self.dim), 0.0) for each in found]

    def encode_query(self, text: str, weigh: Weigh | None = None) -> tuple[bytes, float]:
        if not text.strip():
            return bytes(self.dim), 0.0
        [vector] = self._vectors([text[:LONGEST]], wanted="question")
        return vector

    def _vectors(self, texts: list[str], *, wanted: str) -> list[tuple[bytes, float]]:
        # Half of a surrogate pair is no UTF-8 and would be refused.
        sendable = [each.encode("utf-8", "replace").decode("utf-8") for each in texts]
        body = json.dumps({"model": self._name, "input": sendable, "encoding_format": "float"})
        vectors = self._read(self._asked(body.encode("utf-8"), wanted), len(texts))
        self._dim = self._dim or len(vectors[0])
        if any(len(each) != self._dim for each in vectors):
            raise NoAnswer(self._url, f"a vector is not {self._dim} numbers long")
        return [rounded(each) for each in vectors]

    def _asked(self, body: bytes, wanted: str) -> bytes:
        for tried in range(1, TRIES[wanted] + 1):
            request = Request(self._url, data=body, headers=self._headers)
            try:
                with self._open(request, timeout=SECONDS[wanted]) as answer:
                    return answer.read()  # type: ignore[no-any-return]
            except HTTPError as error:
                if tried == TRIES[wanted] or not (error.code == 429 or error.code >= 500):
                    raise NoAnswer(self._url, _said(error)) from None
                wait = _asked_to_wait(error) or PAUSE * 2 ** (tried - 1)
                error.close()
            except (URLError, HTTPException, OSError) as error:
                reason = getattr(error, "reason", error)
                if tried == TRIES[wanted] or isinstance(reason, ConnectionRefusedError):
                    raise NoAnswer(self._url, f"{type(reason).__name__}: {reason}") from None
                wait = PAUSE * 2 ** (tried - 1)
            self._pause(min(wait, LONGEST_PAUSE))
        raise AssertionError("the last try answers or raises")

    def _read(self, answer: bytes, count: int) -> list[list[float]]:
        try:
            rows = json.loads(answer)["data"]
            ordered = sorted(rows, key=lambda row: row.get("index", 0))
            vectors = [[float(each) for each in row["embedding"]] for row in ordered]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise NoAnswer(self._url, "the answer is not a list of embeddings") from None
        if len(vectors) != count:
            raise NoAnswer(self._url, f"{len(vectors)} vectors came for {count} texts")
        if not all(vector and all(map(isfinite, vector)) for vector in vectors):
            raise NoAnswer(self._url, "a vector is empty or holds what is no number")
        return vectors


class _NoRedirect(HTTPRedirectHandler):
    """The key and the texts go to the endpoint that was named and to no other."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _checked(url: str, key: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        problem = f"{url!r} is no http address such as http://127.0.0.1:11434/v1"
        raise BadOption("encoder_url", problem, source="encoder remote")
    if key and parts.scheme == "http" and parts.hostname not in LOCAL:
        problem = f"the key in {KEY} goes over https only, and {url} is not"
        raise BadOption("encoder_url", problem, source="encoder remote")
    return url.rstrip("/").removesuffix("/embeddings")


def _batches(texts: Sequence[str]) -> Iterator[list[int]]:
    """Where the texts stand that go together; one without words is not sent."""
    batch: list[int] = []
    size = 0
    for at, text in enumerate(texts):
        if not text.strip():
            continue
        length = min(len(text), LONGEST)
        if batch and (len(batch) == TEXTS or size + length > CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(at)
        size += length
    if batch:
        yield batch


def _said(error: HTTPError) -> str:
    """The status, and the endpoint's own words if it has any."""
    try:
        message = json.loads(error.read(10_000))["error"]
        words = message["message"] if isinstance(message, dict) else message
    except (ValueError, KeyError, TypeError, OSError, HTTPException):
        words = error.reason
    finally:
        error.close()
    shown = "".join(each if each.isprintable() else " " for each in str(words))
    return f"{error.code} {' '.join(shown.split())[:200]}".strip().rstrip(".")


def _asked_to_wait(error: HTTPError) -> float:
    try:
        return max(0.0, float(error.headers.get("Retry-After", "")))
    except ValueError:
        return 0.0
