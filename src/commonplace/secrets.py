"""Finds secrets in a text: keys and tokens by their shape, passwords by the words around them.

It does not know where the text comes from, nor what is done with what it finds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain

from commonplace.values import frozen

# Every store imports this module, and most texts hold no secret: the larger patterns are therefore
# compiled by the first text that needs them.

Span = tuple[int, int]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@frozen
class Secret:
    """A secret found in a text: what kind it is and where it stands."""

    name: str
    start: int
    end: int


def find_secrets(text: str) -> tuple[Secret, ...]:
    """The secrets in `text`, in order, none overlapping another."""
    low = text.lower()
    found: list[Secret] = []
    if _long_run().search(text):
        runs = [run.span() for run in _run().finditer(text)]
        found += [*_tokens(text, runs), *_shapes(text, low, runs)]
        found += _said(text, low, rules=_SAID_AT_LENGTH)
    if _digits().search(text):
        found += [*_cards(text, low), *_said(text, low, rules=_SAID_IN_DIGITS)]
    if _hinted(low):
        found += _said(text, low, rules=_SAID)
    return _apart(found) if found else ()


def redact(text: str) -> tuple[str, tuple[Secret, ...]]:
    """`text` with `[redacted NAME]` for each secret, and the secrets, placed as in `text`."""
    secrets = find_secrets(text)
    for secret in reversed(secrets):
        text = f"{text[: secret.start]}[redacted {secret.name}]{text[secret.end :]}"
    return text, secrets


def _apart(found: list[Secret]) -> tuple[Secret, ...]:
    """Overlapping finds as one; the name of the one that begins first, or is longest, stays."""
    apart: list[Secret] = []
    for secret in sorted(found, key=lambda secret: (secret.start, -secret.end)):
        if apart and secret.start < apart[-1].end:
            last = apart.pop()
            secret = Secret(last.name, last.start, max(last.end, secret.end))
        apart.append(secret)
    return tuple(apart)


@cache
def _long_run() -> re.Pattern[str]:
    """What every token has and few sentences: a long run of ASCII without a space."""
    return re.compile(r"[!-~]{16}")


@cache
def _run() -> re.Pattern[str]:
    """Where a token may stand: none is shorter, but for what begins a private key."""
    return re.compile(r"(?<!\S)\S{15,}|-----BEGIN")


@cache
def _digits() -> re.Pattern[str]:
    return re.compile(r"[0-9][0-9-][0-9]")


_ALNUM = "[A-Za-z0-9]"
_HEX = "[0-9a-f]"
_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

# name, prefixes, what follows a prefix
_PREFIXED = (
    ("aws access key", "AKIA ASIA ABIA ACCA", r"[A-Z2-7]{16}(?!\w)"),
    ("github token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"{_ALNUM}{{30,}}"),
    ("github token", "github_pat_", r"\w{50,}"),
    ("gitlab token", "glpat- glptt- gldt- glrt- glcbt- glft- glsoat- glimt-", r"[\w.-]{20,}"),
    ("slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxc- xoxd- xoxe- xoxe. xapp-", r"[\w.%-]{20,}"),
    ("stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_", rf"{_ALNUM}{{16,}}"),
    ("anthropic key", "sk-ant-", r"[\w-]{32,}"),
    ("openai key", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"[\w-]{32,}"),
    ("api key", "sk-or-v1- sk-", rf"{_ALNUM}{{32,}}"),
    ("api key", "sk-lf-", rf"{_HEX}{{8}}-[0-9a-f-]{{27}}"),
    ("api key", "sk_", rf"{_HEX}{{48}}"),
    ("api key", "gsk_ pplx- xai- pcsk_ r8_ csk- fw_ jina_ tvly- tvly-dev-", r"\w{24,}"),
    ("api key", "nvapi- lsv2_pt_ lsv2_sk_", r"[\w-]{32,}"),
    ("api key", "key- fc-", rf"{_HEX}{{32}}(?!\w)"),
    ("hugging face token", "hf_ api_org_", rf"{_ALNUM}{{30,}}"),
    ("twilio key", "SK", rf"{_HEX}{{32}}(?!\w)"),
    ("google key", "AIza", r"[\w-]{35}"),
    ("google secret", "GOCSPX-", r"[\w-]{24,}"),
    ("google token", "ya29. 1//0", r"[\w-]{40,}"),
    ("sendgrid key", "SG.", r"[\w-]{16,}(?:\.[\w-]{16,})?"),
    ("brevo key", "xkeysib- xsmtpsib-", r"[\w-]{64,}"),
    ("npm token", "npm_", rf"{_ALNUM}{{36}}"),
    ("pypi token", "pypi-AgE", r"[\w-]{50,}"),
    ("rubygems key", "rubygems_", rf"{_HEX}{{48}}"),
    ("crates token", "cio", rf"{_ALNUM}{{32}}(?!\w)"),
    ("nuget key", "oy2", r"[a-z0-9]{43}(?!\w)"),
    ("docker token", "dckr_pat_ dckr_oat_", r"[\w-]{24,}"),
    ("digitalocean token", "dop_v1_ doo_v1_ dor_v1_", rf"{_HEX}{{64}}"),
    ("heroku key", "HRKU-", r"[\w-]{30,}"),
    ("netlify token", "nfp_ nfo_ nfc_ nfb_ nfu_", rf"{_ALNUM}{{32,}}"),
    ("fly token", "fm1a_ fm1r_ fm2_ fo1_", r"[\w+/=,-]{40,}"),
    ("supabase token", "sbp_ sb_secret_", r"\w{30,}"),
    ("planetscale token", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[\w.-]{32,}"),
    ("databricks token", "dapi", rf"{_HEX}{{32}}"),
    ("shopify token", "shpat_ shpca_ shppa_ shpss_", rf"{_HEX}{{32}}"),
    ("square token", "sq0atp- sq0csp- sq0idp-", r"[\w-]{22,}"),
    ("linear key", "lin_api_ lin_oauth_", rf"{_ALNUM}{{32,}}"),
    ("notion token", "ntn_ secret_", rf"{_ALNUM}{{40,}}"),
    ("airtable token", "pat", rf"{_ALNUM}{{14}}\.{_HEX}{{64}}"),
    ("hubspot token", "pat-na1- pat-na2- pat-eu1-", r"[0-9a-f-]{36}"),
    ("figma token", "figd_ figo_", r"[\w-]{32,}"),
    ("postman key", "PMAK-", rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    ("doppler token", "dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit.", r"[\w.-]{40,}"),
    ("vault token", "hvs. hvb. hvr.", r"[\w-]{24,}"),
    ("grafana token", "glsa_ glc_", r"[\w+/=]{32,}"),
    ("new relic key", "NRAK- NRJS- NRAA- NRII-", r"[\w-]{19,}"),
    ("sentry token", "sntrys_ sntryu_", r"[\w+/=-]{40,}"),
    ("atlassian token", "ATATT3 ATCTT3 ATBB", r"[\w=-]{24,}"),
    ("pulumi token", "pul-", rf"{_HEX}{{40}}"),
    ("tailscale key", "tskey-", r"[\w-]{20,}"),
    ("circleci token", "CCIPAT_ CCIPRJ_", r"\w{24,}"),
    ("contentful token", "CFPAT-", r"[\w-]{40,}"),
    ("alibaba key", "LTAI", rf"{_ALNUM}{{12,20}}(?!\w)"),
    ("tencent key", "AKID", rf"{_ALNUM}{{32,}}"),
    ("1password token", "ops_eyJ", r"[\w+/=-]{100,}"),
    ("1password key", "A3-", r"(?:[A-Z0-9]{5,6}-){5}[A-Z0-9]{5}"),
    ("dropbox token", "sl.", r"[\w.-]{100,}"),
    ("facebook token", "EAA", rf"{_ALNUM}{{80,}}"),
    ("sonar token", "squ_ sqp_ sqa_", rf"{_HEX}{{40}}"),
    ("mapbox token", "sk.eyJ", r"[\w-]{30,}\.[\w-]{20,}"),
    ("plaid token", "access-production- access-sandbox- access-development-", r"[0-9a-f-]{36}"),
    ("posthog key", "phx_", rf"{_ALNUM}{{32,}}"),
    ("resend key", "re_", rf"{_ALNUM}{{8}}_{_ALNUM}{{20,}}"),
    ("jwt", "eyJ", r"[\w-]{8,999}\.eyJ[\w-]{8,}\.[\w-]{16,}"),
    ("age key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    (
        "private key",
        "-----BEGIN",
        r" (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?=[^-]*[A-Za-z0-9+/]{24})"
        r"[\s\S]*?(?:-----END [A-Z0-9 ]+-----|\Z)",
    ),
)


@cache
def _prefixes() -> tuple[re.Pattern[str], dict[str, tuple[str, str]]]:
    rules = {p: (name, rest) for name, prefixes, rest in _PREFIXED for p in prefixes.split()}
    longest_first = sorted(rules, key=len, reverse=True)
    return re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, longest_first))})"), rules


def _tokens(text: str, runs: Iterable[Span]) -> Iterator[Secret]:
    """Tokens whose maker gave them a prefix to be found by."""
    pattern, rules = _prefixes()
    place = 0
    for start, end in runs:
        place = max(place, start)
        while prefix := pattern.search(text, place, end):
            name, rest = rules[prefix[0]]
            body = re.compile(rest).match(text, prefix.end())
            place = body.end() if body else prefix.end()
            if body and re.search("[0-9]", body[0]) and not _placeholder(body[0]):
                yield Secret(name, prefix.start(), place)


# name, what must be in the lowered text, pattern (its group is the secret, if it has one)
_SHAPED = (
    (
        "slack webhook",
        "slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/]{20,})",
    ),
    ("discord webhook", "/webhooks/", r"/api/webhooks/\d+/([\w-]{40,})"),
    ("telegram token", ":aa", r"(?<!\d)\d{8,10}:AA[\w-]{32,33}(?![\w-])"),
    ("discord token", ".", r"(?<![\w-])[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,45}(?![\w-])"),
    ("azure key", "key=", r"(?:AccountKey|SharedAccessKey)=([A-Za-z0-9+/]{40,}={0,2})"),
    ("azure signature", "sig=", r"[?&]sig=([\w%+/-]{40,}={0,2})"),
    ("azure secret", "q~", r"(?<![\w~.-])[\w~.]{3}\dQ~[\w~.-]{31,34}"),
    ("mailchimp key", "-us", rf"(?<!\w){_HEX}{{32}}-us\d{{1,2}}(?!\w)"),
    ("terraform token", ".atlasv1.", r"\w{14}\.atlasv1\.[\w-]{60,}"),
    ("aws secret key", "aws", r"(?<![\w/+=])[A-Za-z0-9/+]{40}(?![\w/+=])"),
    ("bitlocker key", "-", r"(?<![\d-])(?:\d{6}-){7}\d{6}(?![\d-])"),
    ("one-time seed", "otpauth:", r"otpauth://\S{0,200}?[?&]secret=([A-Z2-7]{16,})"),
    ("password", "://", r"(?<![\w+.-])[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,80}:([^\s/]{3,200})@"),
    ("password", ":", r"(?<!\S)[\w.*-]{1,80}:\d{4,5}:[\w*-]+:[\w*-]+:(\S{4,})"),
    ("password", "wifi:", r"WIFI:\S{0,80}?P:([^;\s]+);"),
    ("bitcoin key", "", r"(?<!\w)[5KL9c][1-9A-HJ-NP-Za-km-z]{50,51}(?!\w)"),
)


def _shapes(text: str, low: str, runs: Sequence[Span]) -> Iterator[Secret]:
    """Tokens without a prefix of their own, and passwords inside addresses."""
    for name, hint, pattern in _SHAPED:
        if hint in low:
            # Nearly every text has a hint of one sign.
            for match in _matches(text, pattern, runs if len(hint) < 2 else [(0, len(text))]):
                if _shape_holds(name, match[match.lastindex or 0]):
                    yield Secret(name, *match.span(match.lastindex or 0))


def _matches(text: str, pattern: str, within: Iterable[Span]) -> Iterator[re.Match[str]]:
    return chain.from_iterable(re.compile(pattern).finditer(text, *span) for span in within)


def _shape_holds(name: str, value: str) -> bool:
    if name == "bitcoin key":
        return _checksum_holds(value)
    if name == "aws secret key":
        return all(re.search(part, value) for part in ("[a-z]", "[A-Z]", "[0-9]"))
    return not _placeholder(value) and value.lower() not in _ABOUT


def _checksum_holds(key: str) -> bool:
    """Whether a base58 text ends in its own checksum, as by chance one in 4 billion does."""
    import hashlib

    number = 0
    for letter in key:
        number = number * 58 + _BASE58.index(letter)
    payload = number.to_bytes(39, "big").lstrip(b"\0")
    digest = hashlib.sha256(hashlib.sha256(payload[:-4]).digest()).digest()
    return digest[:4] == payload[-4:]


def _cards(text: str, low: str) -> Iterator[Secret]:
    """Payment cards: grouped as they are printed, or with a word that says so."""
    cued = any(word in low for word in ("card", "visa", "amex", "credit", "karte", "carte", "tarj"))
    for match in _card().finditer(text):
        number = re.sub("[ -]", "", match[0])
        if (cued or number != match[0]) and _luhn(number):
            yield Secret("card number", *match.span())


@cache
def _card() -> re.Pattern[str]:
    return re.compile(
        r"(?<![\w.+-])(?:(?:4\d|5[1-5]|2[2-7]|6[05])\d{2}([ -]?)\d{4}\1\d{4}\1\d{4}"
        r"|3[47]\d{2}([ -]?)\d{6}\2\d{5})(?![\w-]|\.\d)"
    )


def _luhn(number: str) -> bool:
    digits = [int(digit) for digit in reversed(number)]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


# The rest is about what people say: a word that announces a secret, then the secret. Most
# sentences with such a word hold none, so what follows has to look the part.

_ENGLISH = "pass(?:word|phrase|code|wd)|pwd"
_ABROAD = (
    "passwort|kennwort|mot de passe|contraseña|wachtwoord|lösenord|adgangskode|kodeord|passord|"
    "salasana|jelszó|wlan-schlüssel|netzwerkschlüssel|mật khẩu|kata sandi|requirepass|"
    r"\b(?:master|wi-?fi|wpa2?|network) key|"
    r"(?<![^\W_])(?:pass|pw|psk|mdp|clave|senha|hasło|heslo|parola|şifre(?:m|si)?)"
)
_OTHER_SCRIPTS = (
    "密码|密碼|口令|パスワード|暗証番号|비밀번호|암호|парол|كلمة المرور|كلمة السر|رمز عبور|पासवर्ड|"
    "סיסמ|รหัสผ่าน|κωδικός"
)
_LOCKS = "door|gate|garage|alarm|lock|locker|keypad|entry|access|safe|unlock|porte|portail|puerta"
_OF = (
    "for|to|of|on|at|in|from|fürs?|von|vom|zu|zum|zur|der|des|im|du|de|del|da|do|para|pour|dla|"
    "van|voor"
)
_GAP = rf"(?:\s?\([^()\n]{{1,30}}\))?(?:\s(?:{_OF})\s(?:[^\n.;:=,]|\.(?=\w)){{1,40}}?)?"
_TIGHT = r"\s*(?:[:=：]|=>|:=|->|→)(?!=)\s*"
_VERB = (
    r"(?:(?:\s(?:is|was|has been))?\s(?:changed|set|reset|updated) to|(?:\s\w+)?,\sit(?:'s| is)"
    r"|\s[—–-]|\s(?:is|was|are|ist|war|lautet|est|es|era|é|è|är|er)(?:\s(?:now|still))?:?)\s+"
)
_LINK = rf"{_GAP}(?:{_TIGHT}|{_VERB})"
_ANY_LINK = rf"(?:{_LINK}|\s+)"
_CLOSE = r"[\"'`\])]{0,2}"
_INNER = r"[^\s\"'`“”„«»「」,;<>，。；、()\[\]{}]"
_BARE = rf"(?P<bare>{_INNER}{{0,2000}}{_INNER[:-1]}.:?])"
_VALUE = rf"(?:[\"'`“„«「](?P<quoted>[^\n\"'`”“»」]{{3,80}})[\"'`”“»」]|{_BARE})"
_UNIT = "(?:char|digit|bit|byte|letter|symbol|time|tr[iy]|attempt|day|week|month|year|hour|min|sec)"

# Words that stand where a password would stand, in sentences about passwords.
_ABOUT = _words("""
    again bad bitwarden blank bool boolean broken bytes case char complex correct credentials
    dashlane data default different easy empty enough false field files fine free gone good hard
    here hidden important incorrect input insecure invalid keepass keepassxc keychain label
    lastpass long lost mandatory missing more name necessary none null number object obvious okay
    only open optional pass passwd password plain plaintext private prompt pwd random right safe
    same secret secure self sensitive short simple something somewhere static str string strings
    strong terrible text there todo true undefined unique unknown unsafe unset user username valid
    value varchar vault weak wrong
""")
_FUNCTION = _words("""
    a an and are as at be been but by can do for from has have if in is it its must never no not of
    on one or our should so than that the their they this to too was we were what when where which
    will with you your
""")
# Kinds of key and token that are open, and kinds of which even plain hexadecimal is a secret.
_OPEN = _words("""
    cache continuation correlation csrf cursor fingerprint foreign group hash host idempotency next
    object page partition primary public request row sort sync trace xsrf
""")
_CLOSED = _words("""
    access account activation admin api app auth bearer bot client consumer deploy encryption global
    integration jwt licence license master personal private recovery refresh root secret service
    session shared signing storage subscription webhook
""")


def _placeholder(value: str) -> bool:
    """What documentation writes where a secret would stand."""
    if len(value) > 200:
        return False
    return len(set(value)) < 4 or bool(
        re.match(r"[$%&{<\[]|!\w+$", value)
        or re.search(r"example|your|placeholder|change_?me|redacted|x{5}|\*{3}|\.{3}", value, re.I)
    )


def _chosen(value: str) -> bool:
    """Letters with digits or marks among them, as people build passwords."""
    core = value.strip("*_~`!?")
    return (
        len(core) > 3
        and re.search(r"[^\W\d_]", core) is not None
        and re.search(r"\d|[!#$%^&*+?@]", core) is not None
        and not (_placeholder(value) or _technical(core))
    )


def _technical(value: str) -> bool:
    """Digits and marks that belong to a name: algorithms, versions, lengths, paths, addresses."""
    return bool(
        re.match(
            r"sha-?\d|md5|base\d|bcrypt|argon2|pbkdf2|aes-?\d|rsa-?\d|utf-?\d|oauth|2fa|1password"
            rf"|v?\d+(?:\.\d+)+|\d+-?{_UNIT}|https?:|[~.]{{0,2}}/|--|[\w.+-]+@[\w-]+\.",
            value,
            re.I,
        )
        or re.search(r"/\S*/|\.(?:txt|md|py|js|ts|json|ya?ml|toml|kdbx|env|com|org|net|io)$", value)
    )


def _random(value: str, *, hexes: bool) -> bool:
    """Drawn by a machine: most of it in pieces where letters and digits take turns."""
    if len(value) < 16 or _placeholder(value):
        return False
    if not hexes and re.fullmatch(r"(?:0x)?[0-9a-f-]+|[0-9A-F-]+", value):
        return False
    pieces = re.findall(r"[A-Za-z0-9]+", value)
    mixed = [piece for piece in pieces if len(re.findall(r"\d+|[A-Za-z]+", piece)) > 2]
    return sum(map(len, mixed)) > 0.6 * len(value)


def _value(match: re.Match[str]) -> str:
    return match[match.lastgroup or 0]


def _followed(match: re.Match[str], pattern: str) -> bool:
    return re.compile(pattern, re.I).match(match.string, match.end()) is not None


def _is_password(match: re.Match[str]) -> bool:
    value, cue = _value(match), match["cue"]
    if match["quoted"]:
        return _is_quoted_password(match)
    if _followed(match, r"[(\[{]"):
        return False  # a call or a lookup in code
    if cue.lower() == "pass":
        return match["tight"] is not None and _chosen(value)
    if _chosen(value):
        return True
    return match["loose"] is None and (_is_number(match) or _is_plain_word(match))


def _is_quoted_password(match: re.Match[str]) -> bool:
    value, cue = _value(match), match["cue"]
    if (cue.lower() == "pass" and not match["tight"]) or (match["comma"] and not cue.isupper()):
        return False  # the verb; a list of names
    words = set(re.findall(r"\w+", value.lower()))
    is_sentence = words <= _ABOUT or not words.isdisjoint(_FUNCTION | {"password"})
    return not (is_sentence or _placeholder(value) or _technical(value))


def _is_number(match: re.Match[str]) -> bool:
    """Digits only, and neither a date nor a number of something."""
    value = _value(match)
    if not re.fullmatch(r"[\d-]{4,}", value) or re.match(r"(?:19|20)\d\d-", value):
        return False
    return not _followed(match, rf"\s*(?:{_UNIT}|of\b|[%/])")


def _is_plain_word(match: re.Match[str]) -> bool:
    """`my password is swordfish`: one word, the last of its sentence, that says nothing else."""
    value = _value(match)
    if not (match["english"] and value.isascii() and value.isalpha() and len(value) > 3):
        return False
    if value.lower() in _ABOUT or re.search(r"(?:ed|ing|able|ible|ly|less|pass)$", value, re.I):
        return False
    return _followed(match, r"[.!]?\s*(?:\n|$)|[\"'};]")


def _is_chosen(match: re.Match[str]) -> bool:
    return _chosen(_value(match))


def _is_phrase(match: re.Match[str]) -> bool:
    words = re.findall(r"[a-z]+", _value(match))
    return _value(match).islower() and _FUNCTION.isdisjoint(words)


def _is_key(match: re.Match[str]) -> bool:
    kind, cue = match["kind"].lower(), match["cue"]
    if kind in _OPEN:
        return False
    closed = kind.endswith(tuple(_CLOSED)) or "secret" in cue.lower() or cue.isupper()
    return _random(_value(match), hexes=closed)


def _is_drawn(match: re.Match[str]) -> bool:
    return _random(_value(match), hexes=True)


def _is_sent(match: re.Match[str]) -> bool:
    value = _value(match)
    return (
        re.search(r"\d", value) is not None
        and (len(value) > 15 or match["cue"].lower() != "bearer")
        and not _placeholder(value)
    )


def _is_pair(match: re.Match[str]) -> bool:
    value = _value(match)
    return len(value) > 5 and "/" not in value and _chosen(value)


def _always(match: re.Match[str]) -> bool:
    """For patterns that no ordinary sentence fits."""
    return True


# name, hints of which a lowered text must hold one, pattern (the announcing words are its `cue`,
# its last group is the secret), judge of what the pattern found
_Rule = tuple[str, str, str, Callable[[re.Match[str]], bool]]

_SAID: tuple[_Rule, ...] = (
    (
        "password",
        "pass|pw|psk|mdp|kennwort|contrase|clave|senha|wachtw|adgangs|kodeord|heslo|parola|"
        "salasana|kata s|master key|fi key|wpa|work key|lösen|jelsz|schlüssel|hasło|şifre|mật kh",
        rf"(?P<cue>(?P<english>{_ENGLISH})|{_ABROAD})s?(?!\w|-\w){_CLOSE}"
        rf"(?:{_GAP}(?:(?P<tight>{_TIGHT})|{_VERB})|(?P<comma>\s*,\s*(?=[\"']))"
        rf"|(?P<loose>\s+(?:to\s+)?\(?)){_VALUE}",
        _is_password,
    ),
    (
        "password",
        "password|passphrase|passcode",
        rf"(?P<cue>(?<!\S)[\"'`]?){_BARE}"
        r"(?=[\"'`]?\s(?:is|as)\s(?:\w+\s){0,3}pass(?:word|phrase|code)\b)",
        _is_chosen,
    ),
    (
        "passphrase",
        "passphrase|password",
        rf"(?P<cue>passphrase|password){_LINK}"
        r"(?P<bare>[a-z]+(?: [a-z]+){2,9})(?=[.!]?\s*(?:\n|$))",
        _is_phrase,
    ),
    (
        "password",
        _OTHER_SCRIPTS,
        rf"(?P<cue>{_OTHER_SCRIPTS})[^\n!-~.。，、]{{0,24}}[:=]?\s*(?P<bare>[!-~]{{4,}})",
        _is_chosen,
    ),
    (
        "password",
        "login|credential|creds|auth|username|user:|account:|wifi:|wi-fi:|@",
        rf"(?P<cue>\b(?:logins?|credentials?|creds|auth|account|user(?:name)?|wi-?fi)\b{_LINK}"
        r"\S{1,64}?\s*[/:|]|\b(?:login|creds|credentials|auth)\s[\w.@-]{1,64}:(?=\S)"
        r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}\.[\w.]{1,64}(?:\s+[/|]|\s*:))"
        rf"\s*{_BARE}",
        _is_pair,
    ),
    (
        "password",
        "curl |mysql|docker login|redis-cli|sshpass|net use|pass:",
        r"(?P<cue>\bcurl\b.{0,80}?\s(?:-u|--user)[= ][\"']?[^\s:\"']{1,64}:|\bsshpass\s+-p\s*|"
        r"\bmysql.{0,60}?\s-p(?=\S)|\bdocker login\b.{0,60}?\s-p\s+|\bredis-cli\b.{0,40}?\s-a\s+|"
        rf"\s-pass(?:in|out)?\s+pass:|\bnet use\b.{{0,60}}?/user:\S+\s){_VALUE}",
        _is_chosen,
    ),
    (
        "seed phrase",
        "phrase|mnemonic|seed|backup words",
        rf"(?P<cue>(?:phrase|mnemonic|seed|words)\b{_ANY_LINK})"
        r"(?P<bare>(?:(?:\d\d?[.)]?\s*)?[a-z]{3,8}[\s,]+){11,23}(?:\d\d?[.)]?\s*)?[a-z]{3,8})\b",
        _is_phrase,
    ),
    (
        "recovery code",
        "recovery code|backup code",
        rf"(?P<cue>(?:recovery|backup) codes?){_ANY_LINK}"
        r"(?P<bare>[a-z0-9]{4,}-?[a-z0-9]{4,}(?:[\s,]+[a-z0-9]{4,}-?[a-z0-9]{4,})*)\b",
        _is_sent,
    ),
)

_SAID_AT_LENGTH: tuple[_Rule, ...] = (
    (
        "key",
        "key|token|secret|credential",
        r"(?P<cue>(?<![a-z0-9])(?P<kind>[a-z0-9]{0,30}?)[\s_.-]?(?:key|token|secret|credential)s?(?:_base)?)"
        rf"(?!\w|-\w){_CLOSE}(?:{_LINK}|\s*,\s*(?=[\"'])|\s+){_VALUE}",
        _is_key,
    ),
    (
        "authorization",
        "bearer|authorization",
        r"(?P<cue>\bbearer|authorization[\"']?[:=]\s*[\"']?(?:basic|token|bearer))\s+"
        r"(?P<bare>[\w.~+/-]{8,}=*)",
        _is_sent,
    ),
    (
        "cookie",
        "cookie:",
        r"(?P<cue>cookie:\s*[\w.-]{1,40}=)(?P<bare>[\w.%+/=-]{16,})",
        _is_drawn,
    ),
)

_SAID_IN_DIGITS: tuple[_Rule, ...] = (
    (
        "pin",
        "pin",
        rf"(?P<cue>\bpin(?: ?code)?\b)(?:{_LINK}|(?:(?<=(?-i:PIN))|(?<=code))\s+)"
        r"(?P<bare>\d{4,8})(?![\w%]|[.,:-]\d)",
        _always,
    ),
    (
        "code",
        "code|comb",
        rf"(?P<cue>\b(?:{_LOCKS})(?: \w+)? (?:code|combination|combo)"
        rf"|\b(?:code|combination|combo) (?:for|to|of|de|du|del|für) (?:\w+ ){{0,3}}(?:{_LOCKS}))\b"
        rf"{_ANY_LINK}(?P<bare>[#*]?[A-F]?\d[\d-]{{2,10}}[#*]?)(?!\w)",
        _always,
    ),
    (
        "card code",
        "cvv|cvc",
        rf"(?P<cue>\bcv(?:v2?|c2?)\b){_ANY_LINK}(?P<bare>\d{{3,4}})(?!\w)",
        _always,
    ),
    (
        "social security number",
        "ssn|social security",
        rf"(?P<cue>\bSSN\b|social security(?: number)?){_ANY_LINK}"
        r"(?P<bare>\d{3}-?\d\d-?\d{4})(?!\w)",
        _always,
    ),
)


@cache
def _hints(ascii_only: bool) -> tuple[str, ...]:
    hints = "|".join(words for _, words, _, _ in _SAID).split("|")
    return tuple(hint for hint in dict.fromkeys(hints) if hint.isascii() or not ascii_only)


def _hinted(low: str) -> bool:
    """Whether a rule of `_SAID` has to be tried: plain tests, as nearly every text fails them."""
    for hint in _hints(low.isascii()):  # noqa: SIM110 - any() takes twice as long
        if hint in low:
            return True
    return False


def _said(text: str, low: str, *, rules: tuple[_Rule, ...]) -> Iterator[Secret]:
    for name, hints, pattern, holds in rules:
        if any(hint in low for hint in hints.split("|")):
            for match in _announced(text, pattern=re.compile(pattern, re.I)):
                if holds(match):
                    yield Secret(name, *match.span(match.lastgroup or 0))


def _announced(text: str, *, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Every match, the next one from the end of the announcing words: it may lie in the value."""
    place = 0
    while match := pattern.search(text, place):
        yield match
        place = max(match.end("cue"), match.start() + 1)
