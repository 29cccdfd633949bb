"""The grammar of moments, and which calls of tools are such moments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.model.errors import BadValue
from commonplace.model.moments import LONGEST, CalledTool, check_moments, moments, unknown_tools
from commonplace.model.shell_commands import LONGEST as LONGEST_LINE
from commonplace.model.shell_commands import commands_in


def shell(command: str, tool: str = "Bash") -> CalledTool:
    return CalledTool(tool, command=command, said=(command,))


def edit(path: str, tool: str = "Edit") -> CalledTool:
    return CalledTool(tool, paths=(path,), said=(path, "a deploy"))


def fits(moment: str, call: CalledTool) -> bool:
    [found] = moments(check_moments([moment]))
    return found.fits(call)


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        " git push",
        "git  push --force",
        "cd x && git push --force",
        "cd x; git push",
        "true || git push | tee log",
        "git add . \ngit push",
        "GIT_SSH=x git push",
        "sudo git push",
        "sudo -u root git push",
        "env A=b nohup git push &",
        "timeout 30 git push",
        "/usr/bin/git push",
        "git -C dir push origin",
        "git --no-pager -c a=b push",
        "\\git push",
        "'git' \"push\"",
        "git pu''sh",
        "(git push)",
        "{ git push; }",
        "if true; then git push; fi",
        "for x in a b; do git push $x; done",
        "! git push",
        "echo $(git push)",
        'echo "$(git push)"',
        "echo `git push`",
        "bash -c 'git push'",
        'sh -lc "cd x && git push"',
        "eval git push",
        "git \\\n push",
        "git push>log 2>&1",
        "cat <<'EOF' > notes\ndon't\nEOF\ngit push",
        "git push # now",
    ],
)
def test_a_command_is_known_wherever_it_stands_in_a_line(command: str) -> None:
    assert fits("Bash(git push*)", shell(command))
    assert fits("Bash(git push)", shell(command))


@pytest.mark.parametrize(
    "command",
    [
        "git pull",
        "git status # git push",
        "echo git push",
        "echo 'git push'",
        "git commit -m 'git push comes later'",
        "cat <<EOF\ngit push\nEOF",
        "git stash push",
        "legit push",
        "",
    ],
)
def test_other_commands_are_no_such_moment(command: str) -> None:
    assert not fits("Bash(git push*)", shell(command))


@pytest.mark.parametrize(
    ("pattern", "command", "expected"),
    [
        ("alembic *", "alembic upgrade head", True),
        ("alembic *", "alembic", True),
        ("alembic *", "alembicate x", False),
        ("alembic upgrade", "alembic -c prod.ini upgrade head", True),
        ("git push", "git pushall", False),
        ("git push*", "git pushall", True),
        ("git push:*", "git push origin", True),
        ("git push*--force", "git push origin --force", True),
        ("git push*--force", "git push origin --force-with-lease", False),
        ("git push *--force*", "git push origin --force-with-lease", True),
        ("*", "anything", True),
        ("curl*| sh", "curl x.example | sh", True),
    ],
)
def test_a_pattern_stands_for_the_beginning_of_a_command_in_whole_words(
    pattern: str, command: str, expected: bool
) -> None:
    assert fits(f"Bash({pattern})", shell(command)) is expected


@pytest.mark.parametrize(
    "tool",
    ["Bash", "shell", "exec_command", "run_shell_command", "execute_bash", "bash", "PowerShell"],
)
def test_every_clients_shell_is_the_same_tool(tool: str) -> None:
    for name in ("Bash", "shell", "run_shell_command"):
        assert fits(f"{name}(make*)", shell("make all", tool))


@pytest.mark.parametrize("tool", ["Write", "apply_patch", "replace", "write_file", "MultiEdit"])
def test_every_clients_editor_is_the_same_tool(tool: str) -> None:
    assert fits("Edit(src/**/*.sql)", edit("/home/u/p/src/a/b.sql", tool))
    assert fits("Write(src/**/*.sql)", edit("/home/u/p/src/b.sql", tool))
    assert not fits("Edit(src/**/*.sql)", edit("/home/u/p/src/b.py", tool))
    assert not fits("Bash(src*)", edit("src/b.sql", tool))


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("migrations/**", "/p/migrations/1.sql", True),
        ("migrations/**", "/p/migrations/a/1.sql", True),
        ("migrations/", "/p/migrations/a/1.sql", True),
        ("migrations/**", "/p/migrations", False),
        ("migrations/**", "/p/mymigrations/1.sql", False),
        ("migrations/*", "/p/migrations/a/1.sql", False),
        ("*.sql", "C:\\p\\a.sql", True),
        ("/etc/**", "/etc/hosts", True),
        ("/etc/**", "/p/etc/hosts", False),
        ("~/.ssh/*", "/home/u/.ssh/config", True),
        ("**/secret.txt", "/p/a/secret.txt", True),
        ("a/**/b/**/c", "/a/x/b/y/z/c", True),
        ("a/**/b/**/c", "/a/x/y/z/c", False),
    ],
)
def test_a_glob_fits_a_path_or_its_end(glob: str, path: str, expected: bool) -> None:
    assert fits(f"path:{glob}", edit(path)) is expected


def test_the_path_of_a_moment_may_be_named_by_a_command() -> None:
    assert fits("path:migrations/**", shell("cd p && sed -i s/a/b/ migrations/1.sql"))
    assert not fits("path:migrations/**", shell("ls"))


@pytest.mark.parametrize(
    "tool", ["mcp__github__open_pr", "mcp_github_open_pr", "github-open_pr", "mcp__github.open_pr"]
)
def test_a_servers_tools_are_known_by_every_clients_name_for_them(tool: str) -> None:
    assert fits("mcp__github__*", CalledTool(tool))
    assert fits("mcp__github__open_pr", CalledTool(tool))
    assert not fits("mcp__git__*", CalledTool(tool))


def test_a_tool_alone_is_the_moment_whatever_it_is_asked() -> None:
    assert fits("WebFetch", CalledTool("web_fetch", said=("https://a.example",)))
    assert fits(
        "WebFetch(https://a.example*)", CalledTool("WebFetch", said=("https://a.example/x",))
    )
    assert not fits(
        "WebFetch(https://a.example*)", CalledTool("WebFetch", said=("https://b.example",))
    )
    assert fits("Bash", shell("ls"))
    assert not fits("WebFetch", shell("ls"))


def test_words_are_looked_for_in_calls_and_in_prompts() -> None:
    said = "Please Deploy it to the staging server"
    for call in (CalledTool("mcp__ci__run", said=(said,)), CalledTool(said=(said,))):
        assert fits("words: release, deploy", call)
        assert fits("words: staging server", call)
        assert not fits("words: deployment, ploy, age", call)
    assert fits("words: c++", CalledTool(said=("in C++, please",)))
    assert not fits("WebFetch", CalledTool(said=("WebFetch",)))


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (" Bash( git  push * ) ", "Bash(git push *)"),
        ("Bash(git push:*)", "Bash(git push*)"),
        ("Bash(*)", "Bash"),
        ("words:deploy,  release", "words: deploy, release"),
        ("Path: src/**", "path:src/**"),
        ("mcp__github__*", "mcp__github__*"),
    ],
)
def test_a_moment_has_one_written_form(written: str, kept: str) -> None:
    assert check_moments([written, kept]) == (kept,)


@pytest.mark.parametrize(
    "text",
    ["", "  ", "Bash(git push", "git push", "*", "path:", "path:**", "words:", "words: , ,",
     "Bash(a\nb)x", "a" * (LONGEST + 1), "WebFetch\x1b", None, 3],
)  # fmt: skip
def test_what_is_no_moment_is_refused_with_a_next_step(text: object) -> None:
    with pytest.raises(BadValue, match="is no moment") as refused:
        check_moments([text])
    assert "Bash(git push*)" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Bsh(git push*)", "Did you mean Bash(git push*)?"),
        ("Edti(src/*)", "Did you mean Edit(src/*)?"),
        ("Edit([)", "is not closed"),
        ("path:src/[a", "is not closed"),
    ],
)
def test_a_slip_in_a_moment_is_refused_with_what_was_meant(text: str, said: str) -> None:
    with pytest.raises(BadValue) as refused:
        check_moments([text])
    assert said in str(refused.value)


def test_a_tool_that_no_known_client_has_is_kept_and_said() -> None:
    kept = check_moments(["Foo(bar)", "mcp__github__*", "Bash([ -f x*)", "Edit(a/[id]/b)", "LS"])
    assert unknown_tools(kept) == (
        "No client that is known here has a tool Foo; it is told if one has."
    )


def test_moments_are_a_list_of_few() -> None:
    with pytest.raises(BadValue, match="is not a list"):
        check_moments("Bash")
    with pytest.raises(BadValue, match="at most 10"):
        check_moments(["Bash"] * 11)


@given(st.text(max_size=60))
def test_what_is_kept_reads_the_same_again(text: str) -> None:
    try:
        kept = check_moments([text])
    except BadValue:
        return
    assert check_moments(kept) == kept
    assert [str(each) for each in moments(kept)] == list(kept)


@given(st.text("git psh'\"\\$()`;&|<>{}\n#-", max_size=80))
def test_no_line_is_too_strange_to_be_read(line: str) -> None:
    for command in commands_in(line):
        assert isinstance(command, str)
    for moment in moments(["Bash(git push*)", "path:src/**", "words: push"]):
        moment.fits(shell(line))


@pytest.mark.parametrize(
    "piece", ["$(", "`", "'", "a/", "git ", "bash -c '", "<<E\n", "*", "-a ", "(("]
)
def test_long_strange_lines_are_read_in_few_forms(piece: str) -> None:
    line = piece * 20_000
    for moment in moments(["Bash(a*b*c*d*e)", "path:**/a/**/b/**/c", "words: push"]):
        moment.fits(shell(line))
    assert sum(map(len, commands_in(line))) <= 20 * LONGEST_LINE
