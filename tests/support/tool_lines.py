"""A vault with lines that a tool wrote into its files, as hooks around that tool tell of it."""

from __future__ import annotations

from pathlib import Path

from commonplace.memory import Memory
from commonplace.storage.brackets import Bracket
from tests.support.clocks import SkippingClock


def written_by_a_tool(path: Path, layout: str, document: str, text: str) -> Memory:
    """The memory of a later session; one line of the vault is its owner's."""
    clock = SkippingClock()
    memory = Memory.open(path, layout, session="next", main=True, clock=clock, create=True)
    memory.for_session("", origin="owner").store("The harbour plan is in the blue folder")
    library, brackets = memory.library, memory.library.brackets
    began = clock.now().timestamp()

    def begin() -> None:
        library.take_in_changes()
        brackets.begin(Bracket("5e55-10", "t1", began=began))

    def end() -> None:
        library.take_in_changes()
        brackets.end(lambda each: True)

    library.locked(begin)
    (path / document).parent.mkdir(parents=True, exist_ok=True)
    with (path / document).open("a", encoding="utf-8") as file:
        file.write(f"\n{text}\n")
    library.locked(end)
    return memory
