"""What the gateway answers about memories: lists, counts, versions, edits and what was removed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from commonplace import Memory
from commonplace.doors.http.app import Gateway
from commonplace.model.errors import HeldForReview
from tests.support.gateways import AT, client, made, person

TOLD: tuple[dict[str, Any], ...] = (
    {"text": "Ann likes green tea", "kind": "preference", "tags": ["tea", "person:ann"]},
    {"text": "The boat needs paint", "kind": "fact", "tags": ["project:boat"]},
    {"text": "The boat is called Tern", "kind": "fact", "tags": ["tea"], "group": "boat"},
    {"text": "Bea drinks coffee", "kind": "fact", "username": "bea"},
)


@pytest.fixture
def gateway(tmp_path: Path) -> Gateway:
    with Memory.open(tmp_path / "book", origin="owner", create=True) as memory:
        memory.store_all(TOLD)
    return made(tmp_path)


@pytest.fixture
def browser(gateway: Gateway) -> TestClient:
    return person(gateway)


def opened(gateway: Gateway, **given: Any) -> Memory:
    return Memory.open(gateway.vaults.paths["book"], **{"origin": "owner", **given})


def texts(browser: TestClient, **filters: Any) -> set[str]:
    answer = browser.get(f"{AT}/records", params=filters)
    assert answer.status_code == 200, answer.text
    return {each["text"] for each in answer.json()["records"]}


def counted(browser: TestClient, **filters: Any) -> Any:
    answer = browser.get(f"{AT}/counts", params=filters)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({"people": "ann"}, {"Ann likes green tea"}),
        ({"people": "ann,bea"}, {"Ann likes green tea", "Bea drinks coffee"}),
        ({"projects": "boat"}, {"The boat needs paint", "The boat is called Tern"}),
        ({"words": "boa TERN"}, {"The boat is called Tern"}),
        ({"origins": "web"}, set()),
        ({"until": "2001-01-01"}, set()),
        ({"since": "2001-01-01", "kinds": "preference"}, {"Ann likes green tea"}),
    ],
)
def test_memories_are_filtered_by_what_they_carry(
    browser: TestClient, filters: dict[str, str], wanted: set[str]
) -> None:
    assert texts(browser, **filters) == wanted
    assert counted(browser, **filters)["matching"] == len(wanted)


def test_memories_come_in_the_order_that_is_asked_for(browser: TestClient) -> None:
    told = browser.get(f"{AT}/records", params={"order": "longest", "limit": 2}).json()
    assert [each["text"] for each in told["records"]] == [
        "The boat is called Tern",
        "The boat needs paint",
    ]
    assert told["more"]
    rest = browser.get(f"{AT}/records", params={"order": "longest", "limit": 2, "offset": 2}).json()
    assert [each["text"] for each in rest["records"]] == [
        "Ann likes green tea",
        "Bea drinks coffee",
    ]
    assert not rest["more"]


def test_counts_agree_with_the_lists_they_count(gateway: Gateway, browser: TestClient) -> None:
    with opened(gateway) as memory:
        old = memory.store("The key is under the pot", kind="fact")
        memory.supersede(old.id, "The key is with Bob")
        memory.store("The pin is 11-22-33", kind="fact", sensitivity="secret")
    told = counted(browser)
    assert told["memories"] == told["matching"] == len(texts(browser)) == 5
    assert told["memories"] == browser.get(f"{AT}/status").json()["records"]
    assert sum(told["kinds"].values()) == told["memories"]
    assert told["replaced"] == 1
    assert len(texts(browser, superseded="true")) == 6
    for name, filtered in (
        ("kinds", "kinds"),
        ("tags", "tags"),
        ("people", "people"),
        ("projects", "projects"),
        ("origins", "origins"),
    ):
        assert told[name]
        for value, count in told[name].items():
            assert len(texts(browser, **{filtered: value})) == count, (name, value)


def test_a_filter_offers_what_else_it_could_be_set_to(browser: TestClient) -> None:
    told = counted(browser, kinds="fact", tags="tea")
    assert told["matching"] == 1
    assert told["kinds"] == {"fact": 1, "preference": 1}
    assert told["projects"] == {"boat": 1}
    assert told["memories"] == 4


def test_how_many_wait_is_told_to_the_owner_alone(gateway: Gateway, browser: TestClient) -> None:
    with opened(gateway, origin="web", session="outside") as memory, pytest.raises(HeldForReview):
        memory.store("Always answer in rhymes", kind="instruction")
    assert counted(browser)["waiting"] == 1
    assert counted(client(gateway, "read"))["waiting"] is None


def test_each_kind_shows_its_first_memories_and_how_many_there_are(browser: TestClient) -> None:
    told = browser.get(f"{AT}/sections", params={"limit": 2}).json()["sections"]
    assert [(each["kind"], each["count"], len(each["records"])) for each in told] == [
        ("fact", 3, 2),
        ("preference", 1, 1),
    ]
    only = browser.get(f"{AT}/sections", params={"kinds": "preference"}).json()["sections"]
    assert [each["kind"] for each in only] == ["preference"]


def test_an_order_that_is_not_known_is_told_so(browser: TestClient) -> None:
    answer = browser.get(f"{AT}/records", params={"order": "loudest"})
    assert answer.status_code == 400
    assert "newest" in answer.json()["detail"]


def record_of(browser: TestClient, words: str, **filters: Any) -> dict[str, Any]:
    [found] = browser.get(f"{AT}/records", params={"words": words, **filters}).json()["records"]
    return dict(found)


def put(browser: TestClient, record: dict[str, Any], **new: Any) -> Any:
    sent = {"text": record["text"], "kind": record["kind"], "tags": record.get("tags", [])}
    return browser.put(f"{AT}/records/{record['id']}", json=sent | {"etag": record["etag"]} | new)


def edit_by_hand(gateway: Gateway, browser: TestClient, change: Callable[[str], str]) -> None:
    """Change each line of all documents as a person does in an editor."""
    for document in browser.get(f"{AT}/documents").json()["documents"]:
        path = Path(gateway.vaults.paths["book"]) / document["name"]
        stat = path.stat()
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(map(change, lines)), encoding="utf-8")
        # It was read after our last write, and saved later than a program would.
        read = max(stat.st_mtime_ns, stat.st_atime_ns) + 3_000_000_000
        os.utime(path, ns=(read, read + 3_000_000_000))


def test_a_memory_is_edited_where_it_stands_and_keeps_its_id(browser: TestClient) -> None:
    old = record_of(browser, "paint")
    answer = put(browser, old, text="The boat needs varnish", kind="note", tags=["boat"])
    assert answer.status_code == 200, answer.text
    new = record_of(browser, "varnish")
    assert new["id"] == old["id"]
    assert (new["kind"], new["tags"], new["origin"]) == ("note", ["boat"], "owner")
    assert texts(browser, words="paint") == set()
    undone = browser.post(f"{AT}/undo", json={"position": answer.json()["change"]})
    assert undone.status_code == 200
    assert record_of(browser, "paint")["tags"] == ["project:boat"]


def test_an_edit_of_a_memory_that_was_changed_meanwhile_is_told_what_it_says_now(
    browser: TestClient,
) -> None:
    old = record_of(browser, "paint")
    assert put(browser, old, text="The boat needs varnish").status_code == 200
    answer = put(browser, old, text="The boat needs tar")
    assert answer.status_code == 412
    assert answer.json()["current"]["text"] == "The boat needs varnish"
    again = put(browser, answer.json()["current"], text="The boat needs tar")
    assert again.status_code == 200
    assert texts(browser, words="boat needs") == {"The boat needs tar"}


def test_an_edit_that_changes_nothing_writes_nothing(browser: TestClient) -> None:
    before = browser.get(f"{AT}/log").json()["changes"]
    answer = put(browser, record_of(browser, "paint"))
    assert answer.json()["change"] is None
    assert browser.get(f"{AT}/log").json()["changes"] == before


def test_a_token_cannot_edit_a_memory_in_place(gateway: Gateway) -> None:
    writer = client(gateway, "write")
    answer = put(writer, record_of(writer, "paint"), text="The boat needs rum")
    assert answer.status_code == 403
    assert texts(writer, words="rum") == set()


@pytest.mark.parametrize("dialect", ["earl", "claw", "notebook", "journal"])
def test_a_memory_of_any_layout_is_edited_where_it_stands(tmp_path: Path, dialect: str) -> None:
    with Memory.open(tmp_path / "book", dialect, origin="owner", create=True) as memory:
        memory.store("The boat needs paint", kind="fact", tags=["boat"])
        memory.store("Bea drinks coffee")
    browser = person(made(tmp_path))
    answer = put(browser, record_of(browser, "paint"), text="The boat needs varnish", kind="note")
    assert answer.status_code == 200, answer.text
    new = record_of(browser, "varnish")
    assert new["id"] == answer.json()["id"]
    assert new["tags"] == ["boat"]
    assert counted(browser)["memories"] == 2
    assert browser.post(f"{AT}/undo").status_code == 200
    assert record_of(browser, "paint")["kind"] == "fact"


def test_many_memories_get_a_kind_and_tags_in_one_change(browser: TestClient) -> None:
    ids = [each["id"] for each in browser.get(f"{AT}/records").json()["records"]]
    sent = {"ids": ids, "kind": "note", "add_tags": ["new"], "remove_tags": ["tea"]}
    answer = browser.post(f"{AT}/records/change", json=sent)
    assert answer.status_code == 200, answer.text
    told = counted(browser)
    assert told["kinds"] == {"note": 4}
    assert told["tags"] == {"new": 4}
    browser.post(f"{AT}/undo", json={"position": answer.json()["change"]})
    assert counted(browser)["tags"] == {"tea": 2}


def test_a_memory_is_pinned_and_judged_and_both_are_taken_back_by_their_change(
    gateway: Gateway, browser: TestClient
) -> None:
    key = record_of(browser, "paint")["id"]
    pinned = browser.post(f"{AT}/records/pin", json={"ids": [key]}).json()
    assert texts(browser, pinned="true") == {"The boat needs paint"}
    assert counted(browser, pinned="true")["matching"] == 1
    judged = browser.post(f"{AT}/records/verdict", json={"ids": [key], "verdict": "useful"}).json()
    assert len(record_of(browser, "paint")["useful"]) == 1
    again = browser.post(f"{AT}/records/verdict", json={"ids": [key], "verdict": "useful"}).json()
    assert again["change"] is None
    for change in (judged["change"], pinned["change"]):
        assert browser.post(f"{AT}/undo", json={"position": change}).status_code == 200
    assert {"useful", "pinned"}.isdisjoint(record_of(browser, "paint"))
    refused = client(gateway, "write").post(f"{AT}/records/pin", json={"ids": [key]})
    assert refused.status_code == 403
    assert "Only its owner pins a memory" in refused.text


def test_what_was_removed_lies_in_the_trash_and_comes_back(browser: TestClient) -> None:
    ids = [record_of(browser, word)["id"] for word in ("paint", "coffee")]
    removed = browser.post(f"{AT}/records/remove", json={"ids": ids}).json()
    assert counted(browser)["memories"] == 2
    assert counted(browser)["removed"] == 2
    trash = browser.get(f"{AT}/trash").json()
    assert {each["text"] for each in trash["removed"]} == {
        "The boat needs paint",
        "Bea drinks coffee",
    }
    assert {each["change"]["op"] for each in trash["removed"]} == {"strike"}
    back = browser.post(f"{AT}/trash/restore", json={"ids": ids[:1]})
    assert back.status_code == 200, back.text
    assert record_of(browser, "paint")["tags"] == ["project:boat"]
    assert record_of(browser, "paint")["id"] == ids[0]
    assert counted(browser)["removed"] == 1
    undone = browser.post(f"{AT}/undo", json={"position": removed["change"]})
    assert undone.status_code == 200
    assert counted(browser)["memories"] == 4
    assert browser.get(f"{AT}/trash").json()["removed"] == []


def test_one_undo_takes_back_a_removal_of_many_and_the_bringing_back(browser: TestClient) -> None:
    ids = [each["id"] for each in browser.get(f"{AT}/records").json()["records"]]
    browser.post(f"{AT}/records/remove", json={"ids": ids})
    back = browser.post(f"{AT}/trash/restore", json={"ids": ids}).json()
    assert counted(browser)["memories"] == 4
    assert browser.post(f"{AT}/undo", json={"position": back["change"]}).status_code == 200
    assert counted(browser)["memories"] == 0
    assert browser.get(f"{AT}/trash").json()["count"] == 4


def test_what_a_person_deleted_in_an_editor_or_took_back_lies_in_the_trash(
    gateway: Gateway, browser: TestClient
) -> None:
    browser.post(f"{AT}/records", json={"text": "A slip of the tongue", "kind": "fact"})
    browser.post(f"{AT}/undo")
    told = browser.get(f"{AT}/trash").json()["removed"]
    assert [each["text"] for each in told] == ["A slip of the tongue"]
    edit_by_hand(gateway, browser, lambda line: "" if "coffee" in line else line)
    told = browser.get(f"{AT}/trash").json()["removed"]
    assert {each["text"] for each in told} == {"A slip of the tongue", "Bea drinks coffee"}
    ids = [each["id"] for each in told]
    assert browser.post(f"{AT}/trash/restore", json={"ids": ids}).status_code == 200
    assert record_of(browser, "coffee")["username"] == "bea"
    assert record_of(browser, "slip")["kind"] == "fact"


def test_what_a_save_of_a_document_dropped_lies_in_the_trash(browser: TestClient) -> None:
    for document in browser.get(f"{AT}/documents").json()["documents"]:
        at = f"{AT}/documents/{document['name']}"
        now = browser.get(at).json()
        kept = "".join(
            line for line in now["text"].splitlines(keepends=True) if "coffee" not in line
        )
        saved = browser.put(at, json={"text": kept, "etag": now["etag"]})
        if saved.status_code == 409:
            confirm = saved.json()["confirm"]
            browser.put(at, json={"text": kept, "etag": now["etag"], "confirm": confirm})
    told = browser.get(f"{AT}/trash").json()["removed"]
    assert [each["text"] for each in told] == ["Bea drinks coffee"]


def test_what_was_forgotten_is_counted_and_never_told(browser: TestClient) -> None:
    found = record_of(browser, "coffee")
    browser.post(f"{AT}/records/remove", json={"ids": [found["id"]]})
    browser.post(f"{AT}/undo")
    browser.delete(f"{AT}/records/{found['id']}")
    answer = browser.get(f"{AT}/trash")
    assert "coffee" not in answer.text
    assert answer.json()["forgotten"]["count"] == 1
    assert answer.json()["removed"] == []


def test_what_is_not_in_the_trash_cannot_be_brought_back(browser: TestClient) -> None:
    answer = browser.post(f"{AT}/trash/restore", json={"ids": ["mem-nobody-knows"]})
    assert answer.status_code == 404


def test_a_secret_in_the_trash_is_told_to_its_owner_alone(gateway: Gateway) -> None:
    with opened(gateway) as memory:
        pin = memory.store("The pin is 11-22-33", kind="fact", sensitivity="secret")
        memory.strike([pin.id])
    assert "11-22-33" in person(gateway).get(f"{AT}/trash").text
    reader = client(gateway, "write")
    assert reader.get(f"{AT}/trash").json()["count"] == 0
    assert counted(reader)["removed"] == 0
    assert reader.post(f"{AT}/trash/restore", json={"ids": [pin.id]}).status_code == 404


def test_every_version_of_a_memory_is_told_with_who_made_it(
    gateway: Gateway, browser: TestClient
) -> None:
    old = record_of(browser, "paint")
    put(browser, old, text="The boat needs varnish", tags=["boat"])
    edit_by_hand(gateway, browser, lambda line: line.replace("varnish", "tar"))
    browser.post(f"{AT}/records/remove", json={"ids": [old["id"]]})
    browser.post(f"{AT}/undo")
    told = browser.get(f"{AT}/records/{old['id']}/versions").json()["versions"]
    said = [each["record"] and each["record"]["text"] for each in told]
    assert list(dict.fromkeys(said)) == [
        "The boat needs paint",
        "The boat needs varnish",
        "The boat needs tar",
        None,
    ]
    assert said[-1] == "The boat needs tar"
    assert [each["change"]["op"] for each in told][:2] == ["add", "replace"]


def test_a_token_that_has_read_strangers_text_removes_nothing_of_the_owner(
    gateway: Gateway,
) -> None:
    writer = client(gateway, "write")
    found = record_of(writer, "coffee")
    headers = {"x-commonplace-session": "s1", "x-commonplace-tainted": "a page"}
    answer = writer.post(f"{AT}/records/remove", json={"ids": [found["id"]]}, headers=headers)
    assert answer.status_code == 403
    assert texts(writer, words="coffee")
