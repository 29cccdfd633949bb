"""The command line in the hands of a shell: pipes, closed streams, full disks and lost places."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from commonplace.memory import Memory
from commonplace.model.options import DEFAULTS
from tests.data import contents, example
from tests.support.plain_user import as_plain_user

COMMAND = f"{shlex.quote(sys.executable)} -m commonplace"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with nothing in it, and nothing set."""
    for name in [name for name in os.environ if name.startswith(("COMMONPLACE_", "XDG_"))]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault that the environment names, with one record in it."""
    path = tmp_path / "vault"
    with Memory.open(path, create=True) as memory:
        memory.store("Likes tea ☕ and cake 🍰")
        memory.update("- Ada\n", document="USER.md")
    monkeypatch.setenv("COMMONPLACE_VAULT", str(path))
    return path


def shell(line: str, *, cwd: Path | None = None) -> tuple[int, str, str]:
    """What a line gives in a shell that knows `c`: its exit code, output and errors."""
    done = subprocess.run(
        ["bash", "-c", f'c() {{ {COMMAND} "$@"; }}; {line}'],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=300,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def is_told(code: int, out: str, err: str, *, exit_code: int = 6) -> bool:
    """Whether it failed with one sentence and its next step, and not with a traceback."""
    lines = err.splitlines()
    return (code, out, len(lines)) == (exit_code, "", 1) and lines[0].startswith("commonplace: ")


def test_what_echo_ends_with_is_no_part_of_what_is_said(vault: Path) -> None:
    code, out, _ = shell("echo USER.md | c read -")
    assert (code, out.splitlines()[0]) == (0, "- Ada")
    code, out, _ = shell("echo 'Has a dog' | c store - --json")
    record = json.loads(out)
    assert record["text"] == "Has a dog"
    assert shell(f"echo {record['id']} | c delete -")[0] == 0
    code, out, _ = shell("echo Hello | c history append - --role user --json")
    assert json.loads(out)["content"] == "Hello"


def test_only_one_newline_is_taken_from_what_is_piped(vault: Path) -> None:
    _, out, _ = shell(r"printf 'Two\n\nlines\n\n' | c history append - --role user --json")
    assert json.loads(out)["content"] == "Two\n\nlines\n"


@pytest.mark.parametrize("said", ["'- Name: Ann'", "- <<< '- Name: Ann'"])
def test_a_line_that_is_added_to_a_rewritten_document_is_a_line_of_its_own(
    vault: Path, said: str
) -> None:
    assert shell(f"c update USER.md {said} --mode rewrite")[0] == 0
    assert shell(f"echo '- Drinks tea' >> {vault}/USER.md")[0] == 0
    assert (vault / "USER.md").read_text() == "- Name: Ann\n- Drinks tea\n"


def test_a_document_that_is_rewritten_as_nothing_is_empty(vault: Path) -> None:
    assert shell("c update USER.md '' --mode rewrite")[0] == 0
    assert (vault / "USER.md").read_bytes() == b""


@pytest.mark.parametrize(
    "line", ["c store -", "c diary -", "c history append - --role user", "c history load -"]
)
def test_a_closed_input_is_told_from_an_empty_one(vault: Path, line: str) -> None:
    before = contents(vault)
    assert is_told(*(told := shell(f"{line} <&-"))), told
    assert "standard input is closed" in told[2].lower()
    assert contents(vault) == before


def test_an_input_that_is_no_text_is_refused(vault: Path) -> None:
    told = shell(r"printf '\xff\xfe' | PYTHONIOENCODING=utf-8 c store -")
    assert is_told(*told, exit_code=2), told
    assert "UTF-8" in told[2]


def test_what_reads_no_input_does_without_one(vault: Path) -> None:
    assert shell("c search tea <&-")[0] == 0
    assert shell("c store 'Has a cat' <&-")[0] == 0


@pytest.mark.parametrize("line", ["c search tea", "c store 'Has a dog'", "c doctor", "c --help"])
def test_nothing_is_done_where_nothing_can_be_answered(vault: Path, line: str) -> None:
    before = contents(vault)
    assert is_told(*(told := shell(f"{line} >&-"))), told
    assert "Standard output is closed" in told[2]
    assert contents(vault) == before


def test_without_a_place_for_errors_the_exit_code_tells(vault: Path) -> None:
    assert shell("c search tea 2>&-")[0] == 0
    assert shell("c read nothing.md 2>&-") == (3, "", "")


@pytest.mark.parametrize("line", ["c search tea", "c read long.md"])
def test_an_answer_that_a_full_disk_does_not_take_is_an_error(vault: Path, line: str) -> None:
    with Memory.open(vault, create=True) as memory:
        memory.update("tea\n" * 20_000, document="long.md")
    told = shell(f"{line} > /dev/full")
    assert is_told(*told), told
    assert "No space left" in told[2]


def test_letters_that_the_output_has_not_are_replaced(vault: Path) -> None:
    code, out, err = shell("PYTHONIOENCODING=ascii c search tea")
    assert (code, err) == (0, "")
    assert "Likes tea ? and cake ?" in out


def test_json_says_every_letter_whatever_the_output_takes(vault: Path) -> None:
    _, out, _ = shell("PYTHONIOENCODING=ascii c search tea --json")
    assert json.loads(out)["hits"][0]["text"] == "Likes tea ☕ and cake 🍰"
    shell("c history append 'Tea ☕' --role user")
    _, out, _ = shell("PYTHONIOENCODING=ascii c history dump")
    assert json.loads(out)["content"] == "Tea ☕"
    _, out, _ = shell("PYTHONIOENCODING=ascii c context --format json")
    assert "🍰" in json.loads(out)["text"]


@pytest.mark.parametrize("where", ["vault", "home/.config/commonplace"])
def test_options_that_may_not_be_read_are_named(vault: Path, where: str) -> None:
    path = vault.parent / where / "commonplace.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('timezone = "UTC"\n')
    path.chmod(0)
    done = as_plain_user("-m", "commonplace", "search", "tea")
    assert is_told(done.returncode, done.stdout, done.stderr), done.stderr
    assert str(path) in done.stderr


@pytest.mark.parametrize("command", ["search tea", "status", "init --yes", "tool"])
def test_a_vault_that_may_not_be_looked_into_is_named(vault: Path, command: str) -> None:
    vault.chmod(0)
    try:
        done = as_plain_user("-m", "commonplace", *command.split(), said="")
    finally:
        vault.chmod(0o700)
    assert is_told(done.returncode, done.stdout, done.stderr), done.stderr
    assert str(vault) in done.stderr


def test_a_client_is_told_of_a_vault_that_may_not_be_looked_into(vault: Path) -> None:
    call = {"name": "search", "arguments": {"query": "tea"}}
    said = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    vault.chmod(0)
    try:
        done = as_plain_user("-m", "commonplace", "mcp", said=f"{said}\n")
    finally:
        vault.chmod(0o700)
    told = json.loads(done.stdout)["error"]["message"]
    assert f"{vault} cannot be read: permission denied" in told
    assert done.stderr == ""


def test_a_working_directory_that_is_gone_is_told(vault: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    told = shell("unset COMMONPLACE_VAULT; rmdir ../gone; c search tea", cwd=gone)
    assert is_told(*told), told
    assert "--vault" in told[2]
    gone.mkdir()
    assert shell("rmdir ../gone; c search tea", cwd=gone)[0] == 0


@pytest.mark.parametrize("words", ["--writers 0", "--writers -1", "--kills -1"])
def test_a_selftest_needs_somebody_who_writes(vault: Path, words: str) -> None:
    told = shell(f"c selftest {words}")
    assert is_told(*told, exit_code=2), told
    assert sorted(path.name for path in vault.parent.iterdir()) == ["home", "vault"]


def test_evidence_that_no_record_is_names_its_question(vault: Path, tmp_path: Path) -> None:
    lines = [{"id": "r1", "text": "Likes tea"}, {"question": "What?", "evidence": ["r1", "r9"]}]
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = shell(f"c eval {file}")
    assert is_told(*told, exit_code=2), told
    assert "r9" in told[2]
    assert "What?" in told[2]


@pytest.mark.parametrize("bad", ["colour = 1", "tag_limit = -1", "tag_limit = = 1"])
def test_the_options_are_listed_also_where_one_of_them_is_bad(vault: Path, bad: str) -> None:
    (vault / "commonplace.toml").write_text(f"{bad}\n")
    code, _, err = shell("c search tea")
    assert (code, "'commonplace status --options' lists" in err) == (2, True)
    code, out, err = shell("c status --options")
    assert (code, err) == (0, "")
    assert str(vault / "commonplace.toml") in out.splitlines()[0]
    assert "tag_limit = 10  # most tags of a record" in out
    data = json.loads(shell("c status --options --json")[1])
    assert {option["name"] for option in data["options"]} == set(DEFAULTS)
    assert shell("c status")[0] == 2


@pytest.mark.parametrize("dialect", ["earl", "journal"])
def test_what_has_no_main_document_is_not_told_to_force_its_compaction(
    tmp_path: Path, dialect: str
) -> None:
    where = example(dialect, tmp_path)
    before = contents(where)
    for words in ("", "--force", "--dry-run"):
        code, out, err = shell(f"c --vault {where} compact {words}")
        assert (code, err) == (0, "")
        assert "this layout has no document to compact" in out.lower()
        assert "Repeat" not in out
    assert contents(where).items() >= before.items()


@pytest.mark.parametrize(("dialect", "named"), [("earl", "USER.md"), ("claw", "MEMORY.md")])
def test_a_name_that_the_layout_has_no_place_for_is_told_one_that_it_has(
    tmp_path: Path, dialect: str, named: str
) -> None:
    where = example(dialect, tmp_path)
    code, _, err = shell(f"c --vault {where} update notes/home.md hi")
    assert (code, err.endswith(f"such as {named}.\n")) == (2, True)


@pytest.mark.parametrize("path", ["file", "file/below"])
def test_no_vault_is_made_where_a_file_is(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("mine")
    told = shell(f"c init {path}", cwd=tmp_path)
    assert is_told(*told, exit_code=2), told
    assert "file is a file" in told[2]


def test_the_columns_of_the_log_line_up_in_colour_too(vault: Path) -> None:
    shell("c update notes.md 'Ada, at length' --mode rewrite")
    plain, painted = shell("c log")[1], shell("FORCE_COLOR=1 c log")[1]
    assert {"add", "replace"} <= set(plain.split())
    assert (re.sub(r"\x1b\[\d*m", "", painted), painted != plain) == (plain, True)


def test_blame_shows_lines_without_their_ends(vault: Path) -> None:
    (vault / "old.md").write_bytes(b"# Old\r\n\r\n- Tea\r\n")
    shown = [line[-8:].strip() for line in shell("c blame old.md")[1].splitlines()]
    assert shown == ["1  # Old", "2", "3  - Tea"]
    told = json.loads(shell("c blame old.md --json")[1])
    assert [line["text"] for line in told] == ["# Old", "", "- Tea"]


def test_a_record_that_was_replaced_does_not_look_current(vault: Path) -> None:
    shell("c store 'Has a dog called Rex'")
    [old] = json.loads(shell("c search 'dog called' --json")[1])["hits"]
    shell(f"c store 'Has a dog called Max' --supersedes {old['id']}")
    hits = json.loads(shell("c search 'dog called' --include-superseded --json")[1])["hits"]
    by_id = {hit["id"]: hit for hit in hits}
    [new] = [key for key in by_id if key != old["id"]]
    assert by_id[old["id"]]["superseded_by"] == [new]
    assert "superseded_by" not in by_id[new]
    lines = shell("c search 'dog called' --include-superseded")[1].splitlines()
    assert [line.endswith(f", replaced by {new}") for line in lines] == ["Rex" in x for x in lines]


def test_messages_are_forgotten_as_records_are(vault: Path) -> None:
    key = shell("c history append Hello --role user")[1].strip()
    code, out, err = shell(f"c history forget {key}")
    assert (code, "Hello" in out) == (4, True)
    assert err == "commonplace: Nothing was erased. Repeat with --confirm to erase this.\n"
    assert shell(f"c history forget {key} --confirm") == (0, "Erased 1 messages.\n", "")


@pytest.mark.parametrize("words", ["nosuch", "nosuch --confirm", "--query nosuch", "--of nosuch"])
def test_forgetting_what_nobody_said_is_an_error(vault: Path, words: str) -> None:
    shell("c history append Hello --role user")
    told = shell(f"c history forget {words}")
    assert is_told(*told, exit_code=3), told
    assert "no such message" in told[2].lower()
