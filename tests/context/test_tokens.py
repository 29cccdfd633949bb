"""The estimate of tokens stays near the real count, whatever the text is made of."""

from __future__ import annotations

import sys

import pytest

from commonplace.context import tokens
from commonplace.model.errors import MissingExtra
from tests.support.tokenizer import exact

ENGLISH = """\
The harbour master keeps a ledger of every boat that ties up at the north quay, with the hour, the
draught and the name of whoever paid. Last spring she moved it into a spreadsheet, but the printed
copy still hangs beside the door because nobody trusts the network during a storm. Prefers dark mode
in all editors. Working on the authentication refactor this week; the review is due on Thursday, and
after that the team would like to spend a few quiet days on documentation. Her sister's cat, Luna,
is allergic to chicken, so please don't order from the usual place when they visit in November.
"""
MARKDOWN = """\
# Garden plan

*Updated: 2026-03-14*

## Beds

- **North bed**: beans, peas and a row of `Nasturtium` against the fence
- **South bed**: see [the sketch](sketches/south.md), item 4
  1. dig in compost
  2. wait until the frost is over (usually after 15 May)

> Ask Ana before cutting the pear tree.

| week | task | done |
|------|------|------|
| 12 | order seeds | yes |
| 14 | mend the water butt | no |
"""
CODE = '''\
from collections.abc import Iterator


class Ledger:
    """Boats by the hour they arrived."""

    def __init__(self, path: str, *, strict: bool = False) -> None:
        self._path = path
        self._strict = strict
        self._rows: dict[int, list[str]] = {}

    def arrivals(self, hour: int) -> Iterator[str]:
        for name in self._rows.get(hour, []):
            if self._strict and not name.isidentifier():
                raise ValueError(f"{name!r} is no name (hour {hour})")
            yield name.strip().lower()


def total(ledger: Ledger) -> int:
    return sum(len(list(ledger.arrivals(h))) for h in range(24))  # every hour of a day
'''
SCRIPT = """\
const express = require("express");
const app = express();

app.get("/boats/:id", async (req, res) => {
  const boat = await db.findOne({ id: req.params.id, archived: false });
  if (!boat) return res.status(404).json({ error: "no such boat" });
  res.json({ ...boat, berth: boat.berth ?? null, updatedAt: new Date().toISOString() });
});

app.listen(process.env.PORT || 3000, () => console.log("listening"));
"""
JSON = """\
{"id":"mem-0190a2b4-7c1e-7d3f-9a55-1f2e3d4c5b6a","kind":"preference","text":"Prefers dark mode",
"timestamp":"2026-11-15T14:30:00.000Z","tags":["ui","editors"],"confidence":0.9,"origin":"agent",
"provenance":{"sourceChannel":"desk","sensitivity":"personal"},"places":[{"document":"MEMORY.md",
"line":17},{"document":"memory/2026-11-15.md","line":4}],"superseded":false,"score":0.8312}
"""
CHINESE = """\
港务长每天都会记录停靠在北码头的每一条船,包括时间、吃水深度和付款人的姓名。去年春天她把账本搬进了
电子表格,但是打印出来的那份仍然挂在门边,因为暴风雨的时候没有人相信网络。用户喜欢在所有编辑器里使用
深色模式。本周正在重构身份验证模块,代码审查安排在星期四,之后团队希望用几天时间安静地写文档。
"""
JAPANESE = """\
港の管理人は、北の岸壁に着いた船を毎日ノートに書いています。時刻と喫水と、料金を払った人の名前です。
去年の春に表計算ソフトへ移しましたが、嵐のときは誰もネットワークを信用しないので、印刷した紙がまだ
ドアの横に掛かっています。ユーザーはすべてのエディターでダークモードを好みます。今週は認証の
リファクタリングをしていて、レビューは木曜日の予定です。
"""
KOREAN = """\
항구 관리인은 북쪽 부두에 들어오는 모든 배를 매일 기록합니다. 시간과 흘수, 그리고 요금을 낸 사람의
이름까지 적습니다. 작년 봄에 장부를 스프레드시트로 옮겼지만, 폭풍이 불 때는 아무도 네트워크를 믿지
않기 때문에 인쇄한 종이가 아직도 문 옆에 걸려 있습니다.
"""
RUSSIAN = """\
Начальник порта записывает каждую лодку, которая подходит к северному причалу: время, осадку и имя
того, кто заплатил. Прошлой весной она перенесла журнал в таблицу, но распечатка всё ещё висит у
двери, потому что во время шторма никто не доверяет сети. Пользователь предпочитает тёмную тему во
всех редакторах и просит отвечать коротко.
"""
ARABIC = """\
تسجل مديرة الميناء كل قارب يصل إلى الرصيف الشمالي، مع الوقت والعمق واسم الشخص الذي دفع. في الربيع
الماضي نقلت السجل إلى جدول إلكتروني، لكن النسخة المطبوعة ما زالت معلقة بجانب الباب لأن أحدا لا يثق
بالشبكة أثناء العاصفة. يفضل المستخدم الوضع الداكن في جميع المحررات.
"""
FRENCH = """\
La capitaine du port note chaque bateau qui s'amarre au quai nord, avec l'heure, le tirant d'eau et
le nom de celui qui a payé. Au printemps dernier elle a tout recopié dans un tableur, mais la
version imprimée reste accrochée près de la porte, car personne ne fait confiance au réseau pendant
l'orage.
"""
MIXED = """\
- 2026-11-15 14:30 | @mei | 会议改到 15:30 (was 14:00), see docs/plan.md#L42
- 2026-11-16 | `git rebase -i HEAD~3` then push; ⚠️ не забыть про CHANGELOG 🙂
- TODO(ana): replace `fetchUser()` in src/api/client.ts, ticket OPS-1182, ~€40/month
"""
IDENTIFIERS = """\
550e8400-e29b-41d4-a716-446655440000 0190a2b4-7c1e-7d3f-9a55-1f2e3d4c5b6a
e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
commit 4b825dc642cb6eb9a060e54bf8d69288fbee4904 refs/heads/main
"""
LOG = """\
2026-11-15T14:30:02.113Z INFO  gateway: 127.0.0.1:51422 "GET /search?q=tea HTTP/1.1" 200 1843 12ms
2026-11-15T14:30:02.840Z WARN  index: behind by 64 rows, catching up (level=918273 end=920001)
2026-11-15T14:30:03.001Z ERROR vault: cannot read memory/2026-11-14.md: [Errno 13] Permission denied
"""
NEAR = {
    "English": ENGLISH,
    "code": CODE,
    "a script": SCRIPT,
    "JSON": JSON,
    "Chinese": CHINESE,
    "Japanese": JAPANESE,
    "markdown": MARKDOWN,
    "Russian": RUSSIAN,
    "Arabic": ARABIC,
    "French": FRENCH,
    "Korean": KOREAN,
    "mixed": MIXED,
    "identifiers": IDENTIFIERS,
    "a log": LOG,
}


@pytest.mark.parametrize("name", NEAR)
def test_the_estimate_is_within_15_percent_of_o200k(name: str) -> None:
    text = NEAR[name]
    assert tokens.estimate(text) == pytest.approx(exact(text), rel=0.15)


@pytest.mark.parametrize("name", NEAR)
def test_the_estimate_of_a_few_lines_is_as_near_as_that_of_many(name: str) -> None:
    lines = NEAR[name].splitlines(keepends=True)
    several = [line for _ in range(40) for line in lines]
    assert tokens.estimate("".join(several)) == pytest.approx(exact("".join(several)), rel=0.15)


def test_nothing_is_no_token() -> None:
    assert tokens.estimate("") == 0


@pytest.mark.parametrize("name", NEAR)
def test_a_longer_text_never_has_fewer_tokens(name: str) -> None:
    text = NEAR[name]
    counts = [tokens.estimate(text[:end]) for end in range(0, len(text), 7)]
    assert counts == sorted(counts)


def test_the_exact_counter_counts_as_o200k_does() -> None:
    wanted = [exact(text) for text in NEAR.values()]
    count = tokens.counter("o200k")
    assert [count(text) for text in NEAR.values()] == wanted


def test_without_the_extra_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "rs_bpe.bpe", None)
    tokens.counter.cache_clear()
    with pytest.raises(MissingExtra, match=r"commonplace-memory\[tokens\]"):
        tokens.counter("o200k")
    tokens.counter.cache_clear()
