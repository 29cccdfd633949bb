"""Judges whether a match of a pattern is a secret, or only stands where one would stand.

Most sentences with a word that announces a secret hold none, so the value has to look the part. The
forms in `secret_forms` name their judge.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Judge = Callable[["re.Match[str]"], bool]


def group(match: re.Match[str]) -> str | int:
    """The group that is the secret."""
    return match.lastgroup or match.lastindex or 0


def _value(match: re.Match[str]) -> str:
    """What a judge looks at: the first of a long value tells what it is."""
    start, end = match.span(group(match))
    return match.string[start : min(end, start + 100)]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_UNIT = "(?:char|digit|bit|byte|letter|symbol|time|tr[iy]|attempt|day|week|month|year|hour|min|sec)"

# Words that stand where a password would stand, in sentences about passwords.
_ABOUT = _words("""
    again alphanumeric already also always another anyone anything apple auth autofill available
    back bad because being below bitwarden blank bool boolean both broken bytes case char complex
    comply confirm continue correct credentials custom dashlane data default different down easy
    email empty enough every everything everywhere expire expired expires false field file files
    fine first forgotten form free from generated given gone good google hard hash here hidden
    important improve incorrect input insecure invalid just keepass keepassxc keychain label
    lastpass like login long lost lowercase manager mandatory match maybe mine missing more name
    necessary none nothing null number numeric object obvious okay once only open optional other
    ours over pass passwd password passwords plain plaintext please private proceed prompt protect
    protection public pwd random ready really remember renew required reset right rotate safe same
    secret secrets secure self sensitive short simple some someone something somewhere soon static
    still str string strings strong system temporary terrible test text then there today todo
    together tomorrow tonight true unclear undefined unique unknown unlock unsafe unset until
    uppercase user username valid value varchar vault very visible weak well whatever wrong yours

    amazon dropbox facebook github gitlab instagram microsoft netflix paypal slack

    wunsch anfrage wert abgelaufen anders egal einfach falsch fehlt geheim gleich gut hier kurz
    lang leer nicht nötig ok okay pflicht richtig schlecht schwach schwer sicher stark ungültig
    unbekannt vergessen verloren weg wichtig zwingend

    correct court expiré faible facile fort identique incorrect inconnu invalide long manquant
    nouveau jour temps part distance nécessaire obligatoire oublié perdu requis secret simple
    valide vide

    menudo todos todas mano diario tiempo valor casa buena común correcta corta débil difícil
    distinta fácil fuerte igual importante incorrecta inválida larga mala misma necesaria nueva
    obligatoria secreta segura válida vacía

    sempre certa correta curta diferente errada forte fraca incorreta inválida longa mesma nova
    obrigatória ruim secreta simples vazia

    tutti tutte memoria valore breve corretta debole diversa errata facile forte lunga nuova
    obbligatoria sbagliata scaduta segreta semplice sicura stessa uguale valida vuota

    fout goed hetzelfde juist kort kwijt leeg onjuist sterk veilig verkeerd verplicht vergeten zwak
    błędne inne mocne nieprawidłowe puste silne słabe takie wymagane
""")
_FUNCTION = _words("""
    a an and are as at be been but by can do for from has have if in is it its must never no not of
    on one or our should so than that the their they this to too was we were what when where which
    will with you your der die das und ist ein eine nicht mit von wie le la les un une et est pas
    que de du des el los las y es no con por se o os as e um uma não com il lo gli che non di per
""")
# Kinds of key and token that are open, and kinds of which even plain hexadecimal is a secret.
_OPEN = _words("""
    anti argon cache continuation correlation csrf cursor fingerprint foreign group hash host
    idempotency next object page partition primary public pub request row sort sync trace
    translation xsrf candidate composite surrogate unique registry hot arrow enter shift ctrl
""")
_CLOSED = _words("""
    access account activation admin api app auth bearer bot client consumer deploy encryption global
    integration jwt licence license master personal private recovery refresh root secret service
    session shared signing storage subscription user webhook write
""")


_GROUPS = _words("""
    admin adm bin daemon disk docker group kmem mail nogroup nobody operator root shadow staff sudo
    postgres system users video wheel
""")


def _placeholder(value: str) -> bool:
    """What documentation writes where a secret would stand."""
    if (len(value) > 5 and len(set(value)) < 4) or re.match(
        r"[$%&{<\[]|!\w+$|process\.env|os\.environ", value
    ):
        return True
    low = value.lower()
    if not re.search(_MARK, low):
        return False
    rest = re.sub(rf"{_MARK}|{_FILLER}", "", low)
    return len(re.findall("[a-z]", rest)) < 3


_MARK = (
    r"example|sample|your|placeholder|change.?me|redacted|insert|enter|dummy|here|x{4,}|\*{3,}"
    r"|\.{3}|…"
)
_FILLER = (
    r"(?<![a-z])(?:my|the|a|in|api|app|key|token|secret|password|passwd|pass|access|auth|client|id"
    r"|value|some|real|actual|ant|proj|live|test|user|name|openai|github)(?![a-z])"
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


def _is_code(value: str) -> bool:
    """A name of code where a value would stand: `settings.TOKEN`, `API_KEY`, `getToken`."""
    return bool(
        re.fullmatch(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+", value)
        or re.match(
            r"(?:self|this|process|os|env|config|settings|options|args|request|req)\.", value
        )
    )


def _looks_chosen(value: str) -> bool:
    """Letters with digits or marks among them, as people build passwords."""
    core = value.strip("*_~`!?")
    return (
        len(core) > 3
        and re.search(r"[^\W\d_]", core) is not None
        and re.search(r"\d|[!#$%^&*+?@]", core) is not None
        and not (_placeholder(value) or _technical(core))
    )


def _looks_drawn(value: str, *, hexes: bool = True) -> bool:
    """Drawn by a machine: most of it in pieces where letters and digits, or cases, take turns."""
    if len(value) < 16 or _placeholder(value) or re.match(r"https?:", value):
        return False
    if not hexes and re.fullmatch(r"(?:0x)?[0-9a-f-]+|[0-9A-F-]+", value):
        return False
    pieces = re.findall(r"[A-Za-z0-9]+", value)
    return sum(len(piece) for piece in pieces if _is_mixed(piece)) > 0.6 * len(value)


def _is_mixed(piece: str) -> bool:
    if len(re.findall(r"\d+|[A-Za-z]+", piece)) > 2:
        return True
    # No digit by chance: small and capital letters alternate as in no name of code.
    return len(piece) > 19 and len(re.findall("[A-Z]+|[a-z]+", piece)) > len(piece) / 3


def _is_any(match: re.Match[str]) -> bool:
    return not _placeholder(_value(match))


def _has_digit(match: re.Match[str]) -> bool:
    return re.search("[0-9]", _value(match)) is not None and not _placeholder(_value(match))


def _is_drawn(match: re.Match[str]) -> bool:
    return _looks_drawn(_value(match))


def _is_chosen(match: re.Match[str]) -> bool:
    return _looks_chosen(_value(match))


def _is_of_all_sorts(match: re.Match[str]) -> bool:
    value = _value(match)
    return "EXAMPLE" not in value and all(
        re.search(part, value) for part in ("[a-z]", "[A-Z]", "[0-9]")
    )


def _is_login(match: re.Match[str]) -> bool:
    """What stands exactly where a program wants a password: anything but a stand-in for one."""
    value = _value(match)
    return not _placeholder(value) and value.lower() not in _ABOUT and not value.isdigit()


def _is_typed(match: re.Match[str]) -> bool:
    """The same in a command."""
    return _is_login(match) and len(_value(match)) > 3 and not _technical(_value(match))


def _is_worded(match: re.Match[str]) -> bool:
    """A password, a plain word too, in a sentence that says little else."""
    value = _value(match)
    return _looks_chosen(value) or (value.isalpha() and not _tells(value))


def _is_given(match: re.Match[str]) -> bool:
    """What a password was set to: a word, too, or a number."""
    return _is_worded(match) or _is_number(match)


def _is_of_root(match: re.Match[str]) -> bool:
    """`root:toor`, but not the owner and group of a file."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    is_group = _value(match).lower() in _GROUPS or re.search("chown|chgrp|install", before)
    return not is_group and _is_worded(match)


def _tells(word: str) -> bool:
    """A word that says something of a password."""
    low = word.lower()
    return (
        len(word) < 4
        or low in _ABOUT
        or low in _FUNCTION
        or re.search("(?:ed|ing|able|ible|ly|less|pass|wort|é|ée|iert)$", low) is not None
        or re.search(".{3}(?:[ai]d[oa]|[aiu]t[oa])$", low) is not None
    )


def _has_checksum(match: re.Match[str]) -> bool:
    """Whether a base58 text ends in its own checksum, as by chance one in 4 billion does."""
    import hashlib

    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    number = 0
    for letter in _value(match):
        number = number * 58 + alphabet.index(letter)
    payload = number.to_bytes(90, "big").lstrip(b"\0")
    digest = hashlib.sha256(hashlib.sha256(payload[:-4]).digest()).digest()
    return digest[:4] == payload[-4:]


def _is_iban(match: re.Match[str]) -> bool:
    """Whether it is as long as its country's are and has the right check digits."""
    from commonplace.trust.secret_forms import IBAN_LENGTHS

    number = re.sub("[ -]", "", _value(match)).upper()
    if f"{number[:2]}{len(number)}" not in IBAN_LENGTHS.split():
        return False
    return int("".join(str(int(sign, 36)) for sign in number[4:] + number[:4])) % 97 == 1


def _is_card(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 40) : match.start()]
    if _value(match).isdigit() and re.search(_OTHER_NUMBER, before, re.I):
        return False
    digits = [int(digit) for digit in reversed(re.sub("[ -]", "", _value(match)))]
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return (sum(digits[::2]) + sum(doubled)) % 10 == 0


_OTHER_NUMBER = (
    r"(?<!card )(?:\b(?:order|tracking|invoice|ref|reference|ticket|account|case|serial|parcel"
    r"|id|nr|no|number|isbn|imei|ean|sku)|#)[.:#\s]*\Z"
)


def _followed(match: re.Match[str], pattern: str) -> bool:
    return re.compile(pattern, re.I).match(match.string, match.end()) is not None


def _is_password(match: re.Match[str]) -> bool:
    value, cue = _value(match), match["cue"]
    if match["quoted"]:
        return _is_quoted_password(match)
    if _followed(match, r"[(\[{]") or _is_code(value):
        return False  # a call, a lookup or a name in code
    if _looks_chosen(value):
        return cue.lower() != "pass" or match["tight"] is not None
    if match["loose"] or match["maybe"] or (cue.lower() == "pass" and not match["tight"]):
        return False
    return _is_number(match) or _is_plain_word(match) or _is_hyphened(match)


def _is_quoted_password(match: re.Match[str]) -> bool:
    value, cue = _value(match), match["cue"]
    if (cue.lower() == "pass" and not match["tight"]) or (match["comma"] and not cue.isupper()):
        return _looks_drawn(value)  # else it is the verb, or a list of names
    words = set(re.findall(r"\w+", value.lower()))
    is_sentence = words <= _ABOUT or not words.isdisjoint(_FUNCTION | {"password"})
    return not (is_sentence or _placeholder(value) or _technical(value) or _is_code(value))


def _is_number(match: re.Match[str]) -> bool:
    """Digits only, and neither a date nor a number of something."""
    value = _value(match)
    if not re.fullmatch(r"[\d-]{4,}", value) or re.match(r"(?:19|20)\d\d-", value):
        return False
    return not _followed(match, rf"/|\s*(?:{_UNIT}|of\b|%)")


def _is_pin(match: re.Match[str]) -> bool:
    """A number, but not India's postal code: the pincode of a place has six digits."""
    between = match.string[match.end("cue") : match.start(group(match))]
    is_postal = "code" in match["cue"].lower() and len(_value(match)) == 6
    return _is_number(match) and not (is_postal and re.search(r"\s[A-Z][a-z]", between))


def _ends(match: re.Match[str]) -> bool:
    """Whether the sentence, or this part of it, is over."""
    from commonplace.trust.secret_forms import ENDS

    return _followed(match, ENDS)


def _is_plain_word(match: re.Match[str]) -> bool:
    """`my password is swordfish`: one word, the last of its sentence, that says nothing else."""
    value = _value(match)
    if match["cue"].lower() in ("clave", "parola") and not match["tight"]:
        return False  # they mean other things too
    return value.isalpha() and not _tells(value) and _ends(match)


def _is_hyphened(match: re.Match[str]) -> bool:
    """`password: correct-horse-battery`: words with a hyphen between them."""
    words = _value(match).lower().split("-")
    least = 2 if match["tight"] else 3
    return (
        len(words) >= least
        and all(word.isalpha() for word in words)
        and _FUNCTION.isdisjoint(words)
        and _ABOUT.isdisjoint(words)
        and not _placeholder(_value(match))
        and _ends(match)
    )


def _is_phrase(match: re.Match[str]) -> bool:
    value = _value(match)
    words = re.findall(r"[^\W\d_]+", value.lower())
    if not (value.islower() or "phrase" in match["cue"].lower()):
        return False
    return _FUNCTION.isdisjoint(words) and len(_ABOUT.intersection(words)) < 2


def _is_key(match: re.Match[str]) -> bool:
    kind, cue, value = match["kind"].lower(), match["cue"], _value(match)
    if kind in _OPEN or _is_code(value) or _followed(match, r"\("):
        return False
    tied = _TIED + (r"|\s*:" if "_" in cue else "")
    if re.compile(tied).match(match.string, match.end("cue")):
        return _is_tied_key(match)
    closed = kind.endswith(tuple(_CLOSED)) or "secret" in cue.lower() or cue.isupper()
    return _looks_drawn(value, hexes=closed or len(value) in (32, 40, 64))


_TIED = r"[\"'`\])]{0,2}\s*(?:(?::\s?)?str(?:ing)?\s*)?(?:[.:?|]{0,3}[=>]|[:,-]\s*[\"'`])"


def _is_tied_key(match: re.Match[str]) -> bool:
    """What is assigned to a key, token or secret may be shorter, or of any digits."""
    value = _value(match)
    if _looks_drawn(value):
        return True
    if len(value) < 12 or _placeholder(value) or _technical(value) or _is_code(value):
        return False
    return re.search("[A-Za-z]", value) is not None and len(re.findall(r"\d+", value)) > 1


def _is_lone(match: re.Match[str]) -> bool:
    """What stands in quotes for itself: drawn, and named for nothing that is open."""
    before = match.string[max(0, match.start() - 40) : match.start()]
    if re.search(_NAMED_OPENLY, before, re.I) or _is_code(_value(match)):
        return False
    value = _value(match)
    if re.fullmatch(_NAMED_BY_UUID, value, re.I):
        return False
    has_digit = re.search(r"\d", value) is not None
    return has_digit and "/" not in value[:-1] and _looks_drawn(value, hexes=False)


_NAMED_OPENLY = (
    r"\b(?:\w*id|hash|etag|integrity|checksum|digest|sha\d*|nonce|cursor|commit|uuid|anchor|class|name"
    r"|file|path|branch|url|host|model|image|cid|session|signature|public\w*)\b[\"'`]?[^\n\"'`]{0,12}[\"'`]?$"
    r"|[\"'](?:x|y|n|kid)[\"']\s*:\s*$"
)

_NAMED_BY_UUID = r"(?:[a-z]{1,12}[-_])?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
"""Ids as programs make them, ours too."""


def _is_provider_key(match: re.Match[str]) -> bool:
    return len(_value(match)) > 19 and _looks_drawn(_value(match))


def _is_setting(match: re.Match[str]) -> bool:
    """The value of a name that says key, token or secret: short or plain, but no stand-in."""
    value, kind = _value(match), (match["kind"] or "").lower().strip("_")
    if kind in _OPEN or len(value) < 5 or _followed(match, r"[(\[]"):
        return False
    if _placeholder(value) or _technical(value) or _is_code(value) or value.lower() in _ABOUT:
        return False
    if " " in value or (_names_something(value) and not _looks_drawn(value)):
        return False
    if re.search(r"\d", value):
        return not re.fullmatch(r"[\d.,]+", value)
    if match["cue"].endswith(("SECRET", "PASS", "PSK")) and value.isalpha():
        return not _tells(value)
    if match["quoted"]:
        return len(value) > 7 and not (value.isalpha() and value.islower())
    return len(value) > 15 and (_looks_drawn(value) or value.isalpha())


def _names_something(value: str) -> bool:
    """A name of code or a dotted path: no digit, and no mark that only a password has."""
    return re.fullmatch(r"[A-Za-z_]+[./:_][A-Za-z_./:]*", value) is not None


def _is_sent(match: re.Match[str]) -> bool:
    value = _value(match)
    if _placeholder(value) or _followed(match, r"\("):
        return False
    if match.groupdict().get("header") and len(value) > 15:
        return True
    return re.search(r"\d", value) is not None and (
        len(value) > 15 or match["cue"].lower() != "bearer"
    )


def _is_basic(match: re.Match[str]) -> bool:
    """Whether it is base64 of a name and a password."""
    import base64

    value = _value(match)
    try:
        said = base64.b64decode(value + "=" * (-len(value) % 4)).decode()
    except ValueError:
        return False
    return ":" in said[:-1] and said.isprintable()


def _is_pair(match: re.Match[str]) -> bool:
    value = _value(match)
    return len(value) > 5 and "/" not in value and _looks_chosen(value)


def _always(match: re.Match[str]) -> bool:
    """For patterns that no ordinary sentence fits."""
    return True


JUDGES: dict[str, Judge] = {
    "always": _always,
    "any": _is_any,
    "base58": _has_checksum,
    "basic": _is_basic,
    "card": _is_card,
    "chosen": _is_chosen,
    "digit": _has_digit,
    "drawn": _is_drawn,
    "given": _is_given,
    "iban": _is_iban,
    "key": _is_key,
    "login": _is_login,
    "lone": _is_lone,
    "mixed": _is_of_all_sorts,
    "number": _is_number,
    "pair": _is_pair,
    "password": _is_password,
    "phrase": _is_phrase,
    "pin": _is_pin,
    "provider": _is_provider_key,
    "root": _is_of_root,
    "sent": _is_sent,
    "setting": _is_setting,
    "tight key": _is_tied_key,
    "typed": _is_typed,
    "worded": _is_worded,
}
