"""The gateway's settings: options, tokens, findings and changes, over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from commonplace import Memory
from commonplace.doors.admin.backup import restore_backup
from commonplace.doors.http.access_tokens import USED_SECONDS
from commonplace.doors.http.app import Gateway
from commonplace.model.options import DEFAULTS, GROUPS
from tests.data import clock_at
from tests.support.clocks import FixedClock
from tests.support.gateways import AT, client, made, person

FILE = (
    "# Mine.\ntext_limit = 500  # short ones\n\n[continuity]\n# as in claw\nmemoryMaxChars = 9000\n"
)


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    with Memory.open(tmp_path / "book", origin="owner", create=True) as memory:
        memory.store("Ann likes green tea", kind="preference", tags=["tea"])
    return made(tmp_path)


@pytest.fixture
def browser(gateway: Gateway) -> TestClient:
    return person(gateway)


@pytest.fixture
def file(gateway: Gateway) -> Path:
    path = Path(gateway.vaults.paths["book"]) / "commonplace.toml"
    path.write_text(FILE, encoding="utf-8")
    return path


def options(browser: TestClient) -> dict[str, dict[str, Any]]:
    told = browser.get(f"{AT}/options").json()["options"]
    return {each["name"]: each for each in told}


def test_every_option_is_in_one_group() -> None:
    assert sorted(" ".join(GROUPS.values()).split()) == sorted(DEFAULTS)


def test_an_option_says_where_it_is_set_and_whether_it_may_be_changed(
    browser: TestClient, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_TAG_LIMIT", "4")
    told = options(browser)
    assert set(told) == set(DEFAULTS)
    assert told["text_limit"]["value"] == 500
    assert told["text_limit"]["source"] == told["memory_max_chars"]["source"] == str(file)
    assert (told["text_limit"]["fixed"], told["scan_schedule"]["source"]) == ("", "")
    assert "COMMONPLACE_TAG_LIMIT" in told["tag_limit"]["fixed"]
    assert "how every document is read" in told["dialect"]["fixed"]
    assert "only you set it, by hand" in told["summarizer_command"]["fixed"]


def test_an_option_that_is_set_keeps_every_comment_and_counts_at_once(
    browser: TestClient, file: Path
) -> None:
    for name, value in (("text_limit", "50"), ("memory_max_chars", "70"), ("tag_limit", "3")):
        answer = browser.post(f"{AT}/options", json={"option": name, "value": value})
        assert answer.status_code == 200, answer.text
    said = FILE.replace("= 500 ", "= 50 ").replace("9000", "70")
    said = said.replace("ones\n", "ones\ntag_limit = 3\n")
    assert file.read_text(encoding="utf-8") == said
    told = options(browser)
    assert [told[name]["value"] for name in ("text_limit", "memory_max_chars")] == [50, 70]
    refused = browser.post(f"{AT}/records", json={"text": "x" * 60})
    assert refused.status_code == 400


def test_an_option_goes_back_to_its_default(browser: TestClient, file: Path) -> None:
    for name in ("text_limit", "memory_max_chars"):
        assert browser.post(f"{AT}/options", json={"option": name, "unset": True}).is_success
    assert options(browser)["text_limit"]["value"] == DEFAULTS["text_limit"]
    text = file.read_text(encoding="utf-8")
    assert "# Mine." in text
    assert "# as in claw" in text
    assert "imit" not in text


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("text_limit", "many", "no number from 0 up"),
        ("scan_schedule", "each full moon", "no schedule"),
        ("timezone", "Mars/Olympus", "no time zone"),
        ("nothing", "1", "no such option"),
        ("encoder_url", "http://elsewhere", "only you set it, by hand"),
        ("dialect", "earl", "how every document is read"),
    ],
)
def test_an_option_that_is_wrong_is_told_and_leaves_the_file(
    browser: TestClient, file: Path, name: str, value: str, why: str
) -> None:
    answer = browser.post(f"{AT}/options", json={"option": name, "value": value})
    assert answer.status_code in (400, 403)
    assert why in answer.json()["detail"]
    assert file.read_text(encoding="utf-8") == FILE


def test_only_the_owner_changes_options(gateway: Gateway, file: Path) -> None:
    given = {"option": "text_limit", "value": "50"}
    answer = client(gateway, "admin").post(f"{AT}/options", json=given)
    assert answer.status_code == 403
    assert file.read_text(encoding="utf-8") == FILE


def test_a_file_that_is_being_edited_does_not_close_the_gateway(
    browser: TestClient, file: Path
) -> None:
    assert browser.get(f"{AT}/records").is_success
    file.write_text("text_limit = ", encoding="utf-8")
    assert browser.get(f"{AT}/records").is_success
    file.write_text("text_limit = 51\n", encoding="utf-8")
    assert options(browser)["text_limit"]["value"] == 51


def test_a_token_is_made_on_the_page_and_shown_once(gateway: Gateway, browser: TestClient) -> None:
    answer = browser.post("/api/tokens", json={"name": "phone", "scope": "read", "vaults": []})
    assert answer.status_code == 201
    token = answer.json()["token"]
    reader = client(gateway)
    reader.headers["authorization"] = f"Bearer {token}"
    assert reader.get(f"{AT}/records").is_success
    [told] = browser.get("/api/tokens").json()["tokens"]
    assert token not in str(told)
    assert (told["name"], told["scope"]) == ("phone", "read")
    assert told["made"]
    assert told["used"]
    assert browser.post("/api/tokens", json={"name": "phone", "scope": "read"}).status_code == 409
    assert browser.post("/api/tokens", json={"name": "x", "scope": "all"}).status_code == 400
    unknown = {"name": "y", "scope": "read", "vaults": ["none"]}
    assert browser.post("/api/tokens", json=unknown).status_code == 404


def test_no_token_makes_another(gateway: Gateway) -> None:
    given = {"name": "more", "scope": "read"}
    assert client(gateway, "admin").post("/api/tokens", json=given).status_code == 403
    assert [each.name for each in gateway.tokens.named()] == ["admin 0"]


def test_a_use_is_noted_once_in_a_while(tmp_path: Path) -> None:
    clock: FixedClock = clock_at("2026-11-15T10:00:00Z")
    Memory.open(tmp_path / "book", create=True).close()
    gateway = made(tmp_path, clock=clock)
    reader = client(gateway, "read")
    uses = []
    for wait in (0, USED_SECONDS - 1, 2):
        clock.sleep(wait)
        assert reader.get(f"{AT}/records").is_success
        uses.append(gateway.tokens.named()[0].used)
    assert uses == [uses[0], uses[0], uses[0] + USED_SECONDS + 1]


def test_the_person_alone_is_told_where_vaults_are(gateway: Gateway, browser: TestClient) -> None:
    assert browser.get("/api/vaults").json()["places"] == gateway.vaults.paths
    assert "places" not in client(gateway, "admin").get("/api/vaults").json()


def store(gateway: Gateway, *texts: str, **given: Any) -> None:
    with Memory.open(gateway.vaults.paths["book"], origin="owner") as memory:
        for text in texts:
            memory.store(text, **given)


def groups(browser: TestClient, **given: Any) -> dict[str, dict[str, Any]]:
    told = browser.get(f"{AT}/findings", params=given).json()
    return {each["group"]: each for each in told["groups"]}


COLOURS = ("Ada's favourite colour is blue", "Ada's favourite colour is green")


def test_a_finding_shows_its_memories_and_which_of_them_would_go(
    gateway: Gateway, browser: TestClient
) -> None:
    store(gateway, *COLOURS)
    [group] = groups(browser).values()
    [finding] = group["findings"]
    assert (group["group"], group["count"], group["removes"]) == ("disagreement", 1, 1)
    told = {each["text"]: each["goes"] for each in finding["memories"]}
    assert told == {COLOURS[0]: True, COLOURS[1]: False}


def test_a_secret_of_a_finding_is_told_to_its_owner_alone(gateway: Gateway) -> None:
    store(gateway, "The safe opens with 7113", "The safe opens with 7113!", sensitivity="secret")
    assert "7113" in person(gateway).get(f"{AT}/findings").text
    told = client(gateway, "read").get(f"{AT}/findings").text
    assert "the secret mem-" in told
    assert "7113" not in told


def test_many_findings_are_mended_by_one_decision_that_is_one_undo(
    gateway: Gateway, browser: TestClient
) -> None:
    for number in range(4):
        store(gateway, f"Shelf {number} holds paper", f"shelf {number} holds paper.")
    group = groups(browser)["duplicate"]
    given = {"group": "duplicate", "decision": "mend", "etag": group["etag"]}
    done = browser.post(f"{AT}/findings", json=given).json()
    assert (done["count"], len(done["ids"])) == (4, 4)
    assert groups(browser) == {}
    browser.post(f"{AT}/undo", json={"position": done["position"]})
    assert groups(browser)["duplicate"]["count"] == 4


def test_the_person_chooses_which_memory_of_a_finding_stays(
    gateway: Gateway, browser: TestClient
) -> None:
    store(gateway, *COLOURS)
    [finding] = groups(browser)["disagreement"]["findings"]
    [old] = [each["id"] for each in finding["memories"] if each["goes"]]
    given = {"group": "disagreement", "decision": "mend", "marks": [finding["mark"]], "keep": old}
    assert browser.post(f"{AT}/findings", json=given).is_success
    told = browser.get(f"{AT}/records", params={"text": "favourite colour"}).json()["records"]
    assert COLOURS[0] in {each["text"] for each in told}
    assert COLOURS[1] not in {each["text"] for each in told}


def test_a_finding_that_was_left_comes_back_when_its_memory_changes(
    gateway: Gateway, browser: TestClient
) -> None:
    store(gateway, *COLOURS)
    group = groups(browser)["disagreement"]
    marks = [each["mark"] for each in group["findings"]]
    given = {"group": "disagreement", "decision": "leave", "marks": marks}
    assert browser.post(f"{AT}/findings", json=given).is_success
    assert groups(browser) == {}
    assert set(groups(browser, left=True)) == {"disagreement"}
    with Memory.open(gateway.vaults.paths["book"]) as memory:
        assert memory.scan() == []
        [document] = [name for name in memory.documents() if "is green" in memory.read(name).text]
        text = (memory.root / document).read_text(encoding="utf-8")
        (memory.root / document).write_text(text.replace("is green", "is red"), encoding="utf-8")
    assert set(groups(browser)) == {"disagreement"}


def test_what_was_left_is_looked_at_again(gateway: Gateway, browser: TestClient) -> None:
    store(gateway, *COLOURS)
    etag = groups(browser)["disagreement"]["etag"]
    given = {"group": "disagreement", "etag": etag}
    assert browser.post(f"{AT}/findings", json=given | {"decision": "leave"}).is_success
    assert browser.post(f"{AT}/findings", json=given | {"decision": "look-again"}).is_success
    assert set(groups(browser)) == {"disagreement"}


@pytest.mark.parametrize("decision", ["mend", "leave"])
def test_findings_that_changed_since_they_were_shown_are_not_decided_on(
    gateway: Gateway, browser: TestClient, decision: str
) -> None:
    store(gateway, "Shelf 1 holds paper", "shelf 1 holds paper.")
    group = groups(browser)["duplicate"]
    store(gateway, "Shelf 2 holds paper", "shelf 2 holds paper.")
    given = {"group": "duplicate", "decision": decision}
    whole = browser.post(f"{AT}/findings", json=given | {"etag": group["etag"]})
    gone = browser.post(f"{AT}/findings", json=given | {"marks": ["nothing"]})
    unmarked = browser.post(f"{AT}/findings", json=given)
    assert [each.status_code for each in (whole, gone, unmarked)] == [409, 409, 409]
    assert groups(browser)["duplicate"]["count"] == 2


def test_age_alone_suggests_no_removal(tmp_path: Path) -> None:
    clock = clock_at("2026-01-01T10:00:00Z")
    with Memory.open(tmp_path / "book", origin="owner", clock=clock, create=True) as memory:
        memory.store("The cellar is dry", kind="fact")
        memory.store("On holiday in the hills", valid_to="2026-01-03")
    group = groups(person(made(tmp_path)))
    assert {name: (each["deed"], each["removes"]) for name, each in group.items()} == {
        "old": ("", 0),
        "stale": ("strike", 1),
    }


def test_a_change_is_told_with_its_text_and_taken_back_by_its_position(
    gateway: Gateway, browser: TestClient
) -> None:
    browser.post(f"{AT}/records", json={"text": "Bea is a baker", "kind": "fact"})
    browser.post(f"{AT}/records", json={"text": "Cid is a cook", "kind": "fact"})
    page = browser.get(f"{AT}/activity", params={"deed": "remembered", "limit": 2}).json()
    assert [each["pieces"][0]["after"] for each in page["changes"]] == [
        "Cid is a cook",
        "Bea is a baker",
    ]
    assert (page["count"], page["changes"][0]["who"]) == (3, "you")
    after = {"deed": "remembered", "before": page["next"]}
    rest = browser.get(f"{AT}/activity", params=after).json()
    assert [each["pieces"][0]["after"] for each in rest["changes"]] == ["Ann likes green tea"]
    assert rest["next"] is None
    position = page["changes"][1]["position"]
    undone = browser.post(f"{AT}/undo", json={"position": position}).json()["undone"]
    assert undone["pieces"][0]["after"] == "Bea is a baker"
    told = browser.get(f"{AT}/activity/{position}").json()
    assert told["way"] == "redo"
    redone = browser.post(f"{AT}/redo", json={"position": position}).json()["redone"]
    assert redone["way"] == "undo"
    twice = browser.post(f"{AT}/redo", json={"position": position})
    assert twice.status_code == 404
    assert "not taken back" in twice.json()["detail"]


def test_a_program_hears_of_changes_without_their_texts(gateway: Gateway) -> None:
    told = client(gateway, "read").get(f"{AT}/activity")
    assert told.json()["count"] > 0
    assert "green tea" not in told.text


def test_memories_are_carried_away_in_one_file(gateway: Gateway, browser: TestClient) -> None:
    markdown = browser.get(f"{AT}/export/markdown")
    assert "- Ann likes green tea (preference, #tea)" in markdown.text
    assert markdown.headers["content-disposition"] == "attachment; filename*=utf-8''book.md"
    lines = browser.get(f"{AT}/export/jsonl").text.splitlines()
    assert [json.loads(line)["text"] for line in lines] == ["Ann likes green tea"]
    assert browser.get(f"{AT}/export/word").status_code == 400


def test_a_backup_is_one_file_that_makes_the_vault_again(
    tmp_path: Path, browser: TestClient
) -> None:
    answer = browser.get(f"{AT}/backup")
    assert answer.headers["content-type"] == "application/gzip"
    (tmp_path / "kept.tar.gz").write_bytes(answer.content)
    done = restore_backup(tmp_path / "kept.tar.gz", str(tmp_path / "again"))
    assert done.records == 1
    with Memory.open(tmp_path / "again") as memory:
        assert [hit.record.text for hit in memory.search("tea")] == ["Ann likes green tea"]


@pytest.mark.parametrize("path", ["export/markdown", "export/jsonl", "backup"])
def test_no_token_carries_a_vault_away(gateway: Gateway, path: str) -> None:
    assert client(gateway, "admin").get(f"{AT}/{path}").status_code == 403
    assert client(gateway).get(f"{AT}/{path}").status_code == 401


def test_tidying_is_shown_first_and_done_as_it_was_shown(
    gateway: Gateway, browser: TestClient
) -> None:
    book = Path(gateway.vaults.paths["book"])
    with Memory.open(book, origin="owner") as memory:
        name, text = memory.layout.memory, memory.read(memory.layout.memory).text
        line = next(each for each in text.splitlines() if "green tea" in each)
    (book / name).write_text(
        f"{text}\n{line.replace('green tea', 'dry toast')}\n", encoding="utf-8"
    )
    before = (book / name).read_bytes()
    plan = browser.post(f"{AT}/tidy").json()
    assert (book / name).read_bytes() == before
    assert plan["etag"]
    assert browser.post(f"{AT}/tidy", json={"etag": "another"}).status_code == 409
    done = browser.post(f"{AT}/tidy", json={"etag": plan["etag"]}).json()
    assert (book / name).read_bytes() != before
    assert browser.post(f"{AT}/tidy").json()["etag"] == ""
    assert browser.post(f"{AT}/undo", json={"position": done["position"]}).is_success
    assert (book / name).read_bytes() == before
