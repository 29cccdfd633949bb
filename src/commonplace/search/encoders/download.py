"""Download the folder of a model from a hub, when somebody asks for it and never else.

A hub answers to `OWNER/NAME/resolve/REVISION/FILE`. The files are those that the encoder `onnx`
reads.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from http.client import HTTPException, HTTPMessage
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from msgspec import Struct

from commonplace.model.errors import BadModel, BadValue, NoAnswer

HUB = "https://huggingface.co"
NAME = re.compile(r"(?!\.)[\w.-]+/(?!\.)[\w.-]+")
MODELS, VOCABULARIES = ("onnx/model.onnx", "model.onnx"), ("vocab.txt", "tokenizer.json")
"""Of each of these the first that there is."""
SETTINGS = ("config.json", "1_Pooling/config.json", "config_sentence_transformers.json")
PIECE = 1 << 18
SECONDS = 30.0
LOCAL = ("127.0.0.1", "localhost", "::1")

OnProgress = Callable[[str], Callable[[int, int], None]]


class Fetched(Struct, frozen=True):
    """A model that is on this machine now, and what of it had to be fetched."""

    model: str
    folder: str
    files: tuple[str, ...]
    bytes: int


def fetch(
    model: str, folder: str, *, hub: str = HUB, revision: str = "main", progress: OnProgress
) -> Fetched:
    """Fetch what the encoder looks at into a folder. What is there already stays as it is."""
    if not NAME.fullmatch(model):
        raise BadValue("model", f"{model!r} is no OWNER/NAME", next_step="Name it as its hub does.")
    source = _Source(f"{_checked(hub)}/{model}/resolve/{quote(revision, safe='')}", folder)
    try:
        _make(folder)
        for names in (MODELS, VOCABULARIES):
            if not source.has_one_of(names, progress):
                raise BadModel(
                    source.address(names[0]),
                    "the hub has no such file",
                    next_step="Name a model that comes with ONNX files.",
                )
        for name in SETTINGS:
            source.has_one_of((name,), progress)
    except (URLError, HTTPException, OSError) as error:
        raise NoAnswer(
            hub,
            _said(error),
            wanted="model",
            next_step="Look at the name and the network, name another --hub, or copy the folder.",
        ) from None
    return Fetched(model, folder, tuple(source.fetched), source.bytes)


class _Source:
    """The files of one model, on the hub and in the folder."""

    def __init__(self, base: str, folder: str) -> None:
        self._base, self._folder = base, folder
        self._open = build_opener(_Redirect).open
        self.fetched: list[str] = []
        self.bytes = 0

    def address(self, name: str) -> str:
        return f"{self._base}/{name}"

    def has_one_of(self, names: Sequence[str], progress: OnProgress) -> bool:
        """Whether there is such a file; if none was in the folder, the first of them is now."""
        here = any(os.path.exists(self._path(name)) for name in names)
        return here or any(self._fetch(name, progress) for name in names)

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, *name.split("/"))

    def _fetch(self, name: str, progress: OnProgress) -> bool:
        try:
            with self._open(Request(self.address(name)), timeout=SECONDS) as answer:
                size = self._write(answer, self._path(name), progress(name))
        except HTTPError as error:
            error.close()
            if error.code == 404:
                return False
            raise
        self.fetched.append(name)
        self.bytes += size
        return True

    def _write(self, answer: Any, path: str, step: Callable[[int, int], None]) -> int:
        """The whole file or none: it gets its name when the last byte is on the disk."""
        _make(os.path.dirname(path))
        part, done, total = f"{path}.part", 0, int(answer.headers.get("Content-Length") or 0)
        try:
            with open(part, "wb") as file:
                for piece in _pieces(answer):
                    file.write(piece)
                    done += len(piece)
                    step(done, max(done, total))
                file.flush()
                os.fsync(file.fileno())
            if done < total:
                raise OSError(f"it ended after {done:,} of {total:,} bytes")
            os.replace(part, path)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(part)
        return done


def _make(folder: str) -> None:
    os.makedirs(folder, 0o700, exist_ok=True)


def _pieces(answer: Any) -> Iterator[bytes]:
    while piece := answer.read(PIECE):
        yield piece


class _Redirect(HTTPRedirectHandler):
    """A hub sends long files from elsewhere; wherever that is, it must be as safe as the hub."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        _checked(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _checked(url: str) -> str:
    """An address over which nobody can slip in another file: https, or this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOCAL):
        return url.rstrip("/")
    raise BadValue("hub", f"{url!r} is no https address", next_step=f"The usual one is {HUB}.")


def _said(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return f"{getattr(error, 'code', '') or type(reason).__name__}: {reason}".rstrip(".")
