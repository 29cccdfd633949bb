"""Made-up secrets in the sentences in which people leave them: the set `find_secrets` is held to.

Written before the patterns and without them. It knows nothing of how secrets are found, and it
keeps no literal token: every value is drawn from a seed, every known prefix is stored in pieces.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import string
import uuid
from dataclasses import dataclass
from random import Random

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
BASE32 = string.ascii_uppercase + "234567"
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BASE64 = ALNUM + "+/"
URL64 = ALNUM + "-_"
HEX = "0123456789abcdef"
DIGITS = "123456789"
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"


@dataclass(frozen=True)
class Planted:
    name: str
    sentence: str
    secret: str


def planted_secrets(seed: int = 2026) -> list[Planted]:
    """Every planted secret, the same list for the same seed."""
    rng = Random(seed)
    groups = (_tokens, _structured, _blocks, _settings, _commands, _payment, _wallets, _prose)
    return [item for group in groups for item in group(rng)]


def _draw(rng: Random, alphabet: str, length: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(length))


DRAWN = re.compile(r"<([ahdUXlbu])([0-9]+)>")
ALPHABETS = {
    "a": ALNUM,
    "h": HEX,
    "d": DIGITS,
    "U": BASE32,
    "X": UPPER,
    "l": LOWER,
    "b": BASE64,
    "u": URL64,
}


def drawn(example: str, rng: Random) -> str:
    """An example of the table of forms, with a value drawn for each `<a36>`."""
    return DRAWN.sub(lambda match: _draw(rng, ALPHABETS[match[1]], int(match[2])), example)


def drawn_pieces(example: str, rng: Random) -> list[str]:
    """What `drawn` draws for an example."""
    return [_draw(rng, ALPHABETS[kind], int(length)) for kind, length in DRAWN.findall(example)]


def _uuid(rng: Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


# name, prefix in pieces, alphabet and length of the rest, the sentence it was left in
TOKENS = (
    ("aws access key", ("AK", "IA"), BASE32, 16, "the deploy user's key id is {} in eu-west-1"),
    ("aws session key", ("AS", "IA"), BASE32, 16, "temporary creds: {} until tonight"),
    ("github classic", ("gh", "p_"), ALNUM, 36, "Use {} to push to the mirror"),
    ("github oauth", ("gh", "o_"), ALNUM, 36, "gh auth printed {}"),
    ("github app", ("gh", "s_"), ALNUM, 36, "the installation token is {}."),
    ("github refresh", ("gh", "r_"), ALNUM, 36, "refresh with `{}`"),
    ("gitlab personal", ("gl", "pat-"), URL64, 20, "GitLab: {}"),
    ("gitlab runner", ("gl", "rt-"), URL64, 20, "register the runner with --token {}"),
    ("gitlab deploy", ("gl", "dt-"), URL64, 20, "deploy token {} (read only)"),
    ("stripe live", ("sk_", "live_"), ALNUM, 24, "Stripe prod key {} - ask before charging"),
    ("stripe live long", ("sk_", "live_51"), ALNUM, 97, "billing uses {}"),
    ("stripe test", ("sk_", "test_"), ALNUM, 24, "For the sandbox use {}"),
    ("stripe restricted", ("rk_", "live_"), ALNUM, 24, "restricted: {}"),
    ("stripe webhook", ("wh", "sec_"), ALNUM, 32, "webhook signing {} from the dashboard"),
    ("openai legacy", ("s", "k-"), ALNUM, 48, "my openai one is {}"),
    ("openai service", ("sk-", "svcacct-"), URL64, 74, "CI talks to the model with {}"),
    ("anthropic", ("sk-", "ant-api03-"), URL64, 93, "export ANTHROPIC_API_KEY={}AA"),
    ("anthropic oauth", ("sk-", "ant-oat01-"), URL64, 93, "claude setup-token gave {}AA"),
    ("openrouter", ("sk-", "or-v1-"), HEX, 64, "openrouter => {}"),
    ("deepseek", ("s", "k-"), HEX, 32, "DeepSeek: {}"),
    ("groq", ("g", "sk_"), ALNUM, 52, "groq {}"),
    ("replicate", ("r", "8_"), ALNUM, 37, "Replicate token {}"),
    ("perplexity", ("pp", "lx-"), ALNUM, 48, "search goes through {}"),
    ("xai", ("x", "ai-"), ALNUM, 80, "grok: {}"),
    ("nvidia", ("nv", "api-"), URL64, 64, "NIM endpoint, {}"),
    ("tavily", ("tv", "ly-dev-"), ALNUM, 32, "tavily {}"),
    ("langsmith", ("lsv2", "_pt_"), HEX, 32, "tracing on with {}_0a1b2c3d4e"),
    ("pinecone", ("pc", "sk_"), ALNUM, 70, "pinecone, {}"),
    ("hugging face", ("h", "f_"), ALNUM, 34, "HF token for the gated model: {}"),
    ("google api", ("AI", "za"), URL64, 35, "Maps key {} is unrestricted!"),
    ("google client", ("GOC", "SPX-"), URL64, 28, "oauth client secret {}"),
    ("google access", ("ya", "29."), URL64, 140, "curl worked with {}"),
    ("google refresh", ("1/", "/0g"), URL64, 95, "refresh token {}"),
    ("slack bot", ("xo", "xb-"), ALNUM, 24, "bot: {}"),
    ("slack legacy", ("xo", "xp-"), ALNUM, 60, "my personal slack thing {}"),
    ("sendgrid", ("S", "G."), URL64, 22, "mail goes out via {}." + "aB3dE6gH" * 5 + "iJk"),
    ("mailgun", ("k", "ey-"), HEX, 32, "mailgun {}"),
    ("brevo", ("xk", "eysib-"), HEX, 64, "brevo {}-a1B2c3D4e5F6g7H8"),
    ("npm", ("n", "pm_"), ALNUM, 36, "npm publish token {}"),
    ("pypi", ("py", "pi-AgEIcHlwaS5vcmc"), URL64, 150, "twine upload -u __token__ -p {}"),
    ("rubygems", ("ruby", "gems_"), HEX, 48, "gem push with {}"),
    ("docker hub", ("dckr", "_pat_"), URL64, 27, "docker hub pat {}"),
    ("digitalocean", ("dop", "_v1_"), HEX, 64, "doctl auth init -t {}"),
    ("heroku", ("HR", "KU-AA"), URL64, 58, "heroku {}"),
    ("linode style", ("", ""), HEX, 64, "LINODE_TOKEN={}"),
    ("cloudflare", ("", ""), URL64, 40, "CLOUDFLARE_API_TOKEN={}"),
    ("vercel", ("", ""), ALNUM, 24, "vercel --token={} --prod"),
    ("netlify", ("n", "fp_"), ALNUM, 36, "netlify deploys with {}"),
    ("fly", ("fm", "2_"), BASE64, 120, 'FLY_API_TOKEN="FlyV1 {}"'),
    ("supabase", ("s", "bp_"), HEX, 40, "supabase login --token {}"),
    ("planetscale", ("psc", "ale_tkn_"), URL64, 43, "pscale service token {}"),
    ("databricks", ("da", "pi"), HEX, 32, "databricks {}"),
    ("shopify", ("sh", "pat_"), HEX, 32, "shop admin {}"),
    ("square", ("sq0", "atp-"), URL64, 22, "Square {}"),
    ("linear", ("lin", "_api_"), ALNUM, 40, "linear tickets via {}"),
    ("notion", ("nt", "n_"), ALNUM, 46, "notion integration {}"),
    ("notion old", ("sec", "ret_"), ALNUM, 43, "notion (old workspace) {}"),
    ("airtable", ("pa", "t"), ALNUM, 14, "airtable {}." + "0f1e2d3c4b5a6978" * 4),
    ("figma", ("fi", "gd_"), URL64, 40, "figma plugin uses {}"),
    ("postman", ("PM", "AK-"), HEX, 24, "postman {}-0123456789abcdef0123456789abcdef01"),
    ("doppler", ("dp.", "pt."), ALNUM, 43, "doppler {}"),
    ("hashicorp vault", ("hv", "s."), URL64, 95, "VAULT_TOKEN is {}"),
    ("grafana", ("gl", "sa_"), ALNUM, 32, "grafana sa {}_1a2b3c4d"),
    ("new relic", ("NR", "AK-"), UPPER, 27, "newrelic {}"),
    ("sentry", ("snt", "rys_"), URL64, 120, "sentry-cli login with {}"),
    ("atlassian", ("AT", "ATT3xFfGF0"), URL64, 180, "jira api {}"),
    ("pulumi", ("pu", "l-"), HEX, 40, "pulumi {}"),
    ("tailscale", ("ts", "key-auth-"), ALNUM, 40, "tailscale up --authkey {}"),
    ("circleci", ("CC", "IPAT_"), ALNUM, 60, "circle {}"),
    ("contentful", ("CF", "PAT-"), URL64, 43, "contentful {}"),
    ("hubspot", ("pat-", "na1-"), HEX, 36, "hubspot {}"),
    ("alibaba", ("LT", "AI"), ALNUM, 20, "aliyun key id {}"),
    ("onepassword", ("op", "s_eyJ"), ALNUM, 250, "OP_SERVICE_ACCOUNT_TOKEN {}"),
    ("dropbox", ("sl", ".B"), URL64, 135, "dropbox {}"),
    ("facebook", ("EA", "ACEdEose0cBA"), ALNUM, 120, "page token {}"),
    ("sonar", ("sq", "u_"), HEX, 40, "sonar.login={}"),
    ("mapbox", ("sk", ".eyJ1Ijoi"), URL64, 60, "mapbox {}.A1b2C3d4E5f6G7h8I9j0Kl"),
    ("age", ("AGE-SECRET", "-KEY-1"), BECH32, 58, "sops decrypts with {}"),
)


def _tokens(rng: Random) -> list[Planted]:
    planted = []
    for name, prefix, alphabet, length, sentence in TOKENS:
        secret = "".join(prefix) + _draw(rng, alphabet, length)
        planted.append(Planted(name, sentence.format(secret), secret))
    return planted


def _structured(rng: Random) -> list[Planted]:
    """Tokens with an inner structure."""
    fine = f"github{'_pat_'}{_draw(rng, ALNUM, 22)}_{_draw(rng, ALNUM, 59)}"
    project = f"sk-{'proj-'}{_draw(rng, URL64, 74)}T3Blbk{'FJ'}{_draw(rng, URL64, 74)}"
    slack = "-".join(("xo" + "xb", _draw(rng, DIGITS, 12), _draw(rng, DIGITS, 12)))
    slack += f"-{_draw(rng, ALNUM, 24)}"
    app = f"xa{'pp-1-'}A{_draw(rng, UPPER, 10)}-{_draw(rng, DIGITS, 13)}-{_draw(rng, HEX, 64)}"
    hook = f"T{_draw(rng, UPPER, 8)}/B{_draw(rng, UPPER, 10)}/{_draw(rng, ALNUM, 24)}"
    telegram = f"{_draw(rng, DIGITS, 10)}:AA{_draw(rng, URL64, 33)}"
    discord = f"MT{_draw(rng, ALNUM, 24)}.G{_draw(rng, ALNUM, 5)}.{_draw(rng, URL64, 38)}"
    webhook = f"{_draw(rng, DIGITS, 18)}/{_draw(rng, URL64, 68)}"
    twilio = _draw(rng, HEX, 32)
    mailchimp = f"{_draw(rng, HEX, 32)}-us14"
    azure = _draw(rng, BASE64, 86) + "=="
    entra = f"{_draw(rng, ALNUM, 3)}8Q~{_draw(rng, ALNUM + '-._~', 34)}"
    sas = _draw(rng, ALNUM, 43) + "%3D"
    dash = f"A3-{_draw(rng, UPPER, 6)}-{_draw(rng, UPPER, 6)}-" + "-".join(
        _draw(rng, UPPER, 5) for _ in range(4)
    )
    plaid = f"access-{'production-'}{_uuid(rng)}"
    terraform = f"{_draw(rng, ALNUM, 14)}.atlas{'v1.'}{_draw(rng, ALNUM, 67)}"
    return [
        Planted("github fine-grained", f"PAT for the docs repo {fine}", fine),
        Planted("openai project", f"OPENAI_API_KEY={project}", project),
        Planted("slack bot full", f"The standup bot runs as {slack}", slack),
        Planted("slack app", f"socket mode needs {app}", app),
        Planted(
            "slack webhook", f"alerts: https://hooks.slack.com/{'services'}/{hook}", hook[-24:]
        ),
        Planted("telegram", f"the reminder bot is {telegram}", telegram),
        Planted(
            "telegram url", f"https://api.telegram.org/bot{telegram}/getUpdates", telegram[11:]
        ),
        Planted("discord", f"discord bot token {discord}", discord),
        Planted("discord webhook", f"https://discord.com/api/webhooks/{webhook}", webhook[-68:]),
        Planted("twilio", f"twilio auth token is {twilio}", twilio),
        Planted("mailchimp", f"mailchimp {mailchimp}", mailchimp),
        Planted(
            "azure storage",
            f"DefaultEndpointsProtocol=https;AccountName=blobs;AccountKey={azure};EndpointSuffix=x",
            azure,
        ),
        Planted("azure client", f"the app registration's secret value: {entra}", entra),
        Planted(
            "azure sas",
            f"https://blobs.blob.core.windows.net/x?sv=2024-11-04&sr=b&sp=r&sig={sas}",
            sas,
        ),
        Planted("1password secret key", f"1Password emergency kit: {dash}", dash),
        Planted("plaid", f"plaid item {plaid}", plaid),
        Planted("terraform cloud", f"tfc {terraform}", terraform),
        *_tickets(rng),
    ]


def _tickets(rng: Random) -> list[Planted]:
    """What is sent with a request: JWT, Bearer, Basic, cookies."""

    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    claims = part({"sub": "u-17", "iat": 1763000000})
    jwt = f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{claims}.{_draw(rng, URL64, 43)}"
    bearer = _draw(rng, URL64, 48)
    basic = base64.b64encode(f"deploy:{_draw(rng, ALNUM, 14)}".encode()).decode()
    cookie = _draw(rng, HEX, 40)
    totp = _draw(rng, BASE32, 32)
    return [
        Planted("jwt", f"the session token in localStorage was {jwt}", jwt),
        Planted("bearer", f'curl -H "Authorization: Bearer {bearer}" example.com', bearer),
        Planted("bearer prose", f"call the API with Bearer {bearer[::-1]}", bearer[::-1]),
        Planted("basic header", f"Authorization: Basic {basic}", basic),
        Planted("api key header", f"X-API-Key: {cookie}", cookie),
        Planted("session cookie", f"Cookie: session_token={cookie[::-1]}", cookie[::-1]),
        Planted("totp", f"otpauth://totp/Acme:bob?secret={totp}&issuer=Acme", totp),
    ]


def _blocks(rng: Random) -> list[Planted]:
    planted = []
    for kind in ("RSA ", "EC ", "", "OPENSSH ", "ENCRYPTED ", "DSA "):
        body = "\n".join(_draw(rng, BASE64, 64) for _ in range(4))
        block = f"-----BEGIN {kind}PRIVATE {'KEY-----'}\n{body}\n-----END {kind}PRIVATE KEY-----"
        planted.append(Planted(f"pem {kind.strip().lower()}", f"id file:\n{block}\nkeep it", body))
    body = "\n".join(_draw(rng, BASE64, 64) for _ in range(3))
    kind = "PGP PRIVATE KEY BLOCK"
    pgp = f"-----BEGIN {kind}-----\n\n{body}\n-----END {kind}-----"
    planted.append(Planted("pgp", f"my key: {pgp}", body))
    cut = _draw(rng, BASE64, 200)
    account = {
        "type": "service_account",
        "private_key": f"-----BEGIN PRIVATE {'KEY-----'}\n{cut}\n-----END PRIVATE KEY-----\n",
    }
    planted.append(Planted("gcp service account", json.dumps(account), cut))
    half = f"-----BEGIN RSA PRIVATE {'KEY-----'}\n{cut[::-1]}"
    planted.append(Planted("pem cut off", half, cut[::-1]))
    return planted


def _settings(rng: Random) -> list[Planted]:
    """What stands in configuration files, environment files and connection strings."""
    word, other, third = (_draw(rng, ALNUM + "!%^*", 16) for _ in range(3))
    aws = _draw(rng, BASE64, 40)
    hexes = _draw(rng, HEX, 64)
    wire = _draw(rng, BASE64, 43) + "="
    rows = (
        ("postgres url", f"postgres://app:{word}@db.internal:5432/shop", word),
        ("mysql url", f"DATABASE_URL=mysql://root:{other}@10.0.0.5/wp", other),
        ("mongodb url", f"mongodb+srv://svc:{third}@cluster0.x1y2.mongodb.net/prod", third),
        ("redis url", f"the cache is redis://:{word[::-1]}@cache:6379/0", word[::-1]),
        ("amqp url", f"amqps://guest:{other[::-1]}@rabbit/vhost", other[::-1]),
        ("basic auth url", "clone https://anna:Walrus-19@git.example.org/x.git", "Walrus-19"),
        ("ftp url", "backup to ftp://nas:copperPot8@192.168.1.9/vol1", "copperPot8"),
        ("env db password", "DB_PASSWORD=Tr0mbone!river", "Tr0mbone!river"),
        ("env quoted", "export PGPASSWORD='k1ng-fisher'", "k1ng-fisher"),
        ("env secret key", f"SECRET_KEY = '{hexes}'", hexes),
        ("env plain word", "MYSQL_ROOT_PASSWORD=marmalade", "marmalade"),
        ("yaml password", "  password: Qu1etHarbor", "Qu1etHarbor"),
        ("yaml quoted", '    admin_password: "orchid-lamp-9"', "orchid-lamp-9"),
        ("json password", '{"user": "svc", "password": "vX9-plum-tree"}', "vX9-plum-tree"),
        ("json api key", f'"apiKey": "{hexes[:40]}",', hexes[:40]),
        ("aws secret ini", f"aws_secret_access_key = {aws}", aws),
        ("aws secret prose", f"AWS secret {aws[::-1]}", aws[::-1]),
        ("properties", "spring.datasource.password=Gr4nite_Falls", "Gr4nite_Falls"),
        ("odbc", "Server=sql1;Database=crm;User Id=sa;Password=Zebra#2031;", "Zebra#2031"),
        ("short odbc", "Driver={SQL};UID=sa;PWD=Fen.Mole77;Encrypt=yes", "Fen.Mole77"),
        ("wireguard", f"PrivateKey = {wire}", wire),
        ("netrc", "machine git.example.org login bob password tulip-4471", "tulip-4471"),
        ("pgpass", "db.internal:5432:shop:app:Sm0keBarn", "Sm0keBarn"),
        ("wifi qr", "WIFI:T:WPA;S:Attic;P:ladder7rain;;", "ladder7rain"),
        ("wpa supplicant", 'network={ssid="Attic" psk="ladder8snow"}', "ladder8snow"),
        ("client secret", f"client_secret: {hexes[10:50]}", hexes[10:50]),
        ("jwt secret", f"JWT_SECRET={wire[:32]}", wire[:32]),
        ("encryption key", f"encryption_key={hexes[5:37]}", hexes[5:37]),
        ("webhook secret", f"WEBHOOK_SECRET={hexes[3:43]}", hexes[3:43]),
        ("toml token", f'token = "{wire[5:41]}"', wire[5:41]),
        ("python literal", f"client = Client(api_key='{wire[2:38]}')", wire[2:38]),
        ("smtp", "SMTP_PASS=pelican.9.drum", "pelican.9.drum"),
        ("ansible", "ansible_become_pass: Mud!lark42", "Mud!lark42"),
        ("php define", "define('DB_PASSWORD', 'oatH1ll%field');", "oatH1ll%field"),
    )
    return [Planted(*row) for row in rows]


def _commands(rng: Random) -> list[Planted]:
    token = _draw(rng, ALNUM, 32)
    rows = (
        ("curl user", "curl -u admin:Sn0wgoose https://ci.example.com/api", "Sn0wgoose"),
        ("sshpass", "sshpass -p 'brick-Lane5' ssh pi@10.0.0.7", "brick-Lane5"),
        ("mysql flag", "mysql -u root -pW1ldThyme shop", "W1ldThyme"),
        ("password flag", "restic --password hay-Stack-31 backup /home", "hay-Stack-31"),
        ("password flag equals", "./run --db-password=Ott3rCreek", "Ott3rCreek"),
        ("docker login", "docker login -u bob -p Cl0verField registry.example.com", "Cl0verField"),
        ("redis cli", "redis-cli -a m0ss-Garden ping", "m0ss-Garden"),
        ("vault flag", f"deployer --api-key {token} up", token),
        ("query string", f"https://api.example.com/v1/items?api_key={token[::-1]}", token[::-1]),
        ("query token", f"GET /feed?access_token={token[3:]}&page=2", token[3:]),
        ("openssl pass", "openssl enc -aes-256-cbc -pass pass:Gull+Harbor7 -in a", "Gull+Harbor7"),
        ("net use", r"net use Z: \\nas\share /user:bob Lark-Hollow8", "Lark-Hollow8"),
    )
    return [Planted(*row) for row in rows]


def _payment(rng: Random) -> list[Planted]:
    visa, master, amex, other = (
        _card(rng, start, length)
        for start, length in (("4", 16), ("53", 16), ("37", 15), ("6011", 16))
    )
    spaced = " ".join(visa[i : i + 4] for i in range(0, 16, 4))
    dashed = "-".join(master[i : i + 4] for i in range(0, 16, 4))
    grouped = f"{amex[:4]} {amex[4:10]} {amex[10:]}"
    rows = (
        ("visa spaced", f"book it on {spaced}, exp 09/29", spaced),
        ("mastercard dashed", f"company card {dashed}", dashed),
        ("amex", f"Amex {grouped}", grouped),
        ("card plain", f"my credit card number is {other}", other),
        ("visa with cvv", f"Visa {visa} cvv 391", visa),
        ("cvv", "the CVV on the blue card is 804", "804"),
        ("ssn", "my SSN is 536-90-4272", "536-90-4272"),
        ("bank pin", "debit card PIN is 4821", "4821"),
    )
    return [Planted(*row) for row in rows]


def _card(rng: Random, start: str, length: int) -> str:
    """A number with a right check digit."""
    digits = start + _draw(rng, string.digits, length - 1 - len(start))
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return digits + str(-total % 10)


SEED_WORDS = """
    orbit lemon candle river muscle panda velvet harbor traffic onion ladder copper
    wisdom jungle fabric october simple turtle blanket quantum mirror donkey echo salad
"""


def _wallets(rng: Random) -> list[Planted]:
    words = SEED_WORDS.split()
    twelve = " ".join(rng.sample(words, 12))
    everything = " ".join(rng.sample(words, 24))
    numbered = " ".join(f"{i}. {word}" for i, word in enumerate(rng.sample(words, 12), 1))
    wif = _wif(rng)
    ether = _draw(rng, HEX, 64)
    return [
        Planted("seed phrase 12", f"my metamask seed phrase: {twelve}", twelve),
        Planted("seed phrase 24", f"Ledger recovery phrase is {everything}", everything),
        Planted("seed numbered", f"wallet backup words: {numbered}", numbered),
        Planted("wif", f"paper wallet {wif}", wif),
        Planted("ether key", f"eth private key: 0x{ether}", ether),
    ]


def _wif(rng: Random) -> str:
    payload = b"\x80" + rng.randbytes(32) + b"\x01"
    payload += hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    number, text = int.from_bytes(payload, "big"), ""
    while number:
        number, rest = divmod(number, 58)
        text = BASE58[rest] + text
    return text


PROSE = (
    ("password is", "my password is {}", "hunter2"),
    ("password is, end", "My email password is {}.", "Rosebud1941"),
    ("password word", "my laptop password is {}", "swordfish"),
    ("password quoted", 'The admin password is "{}"', "open sesame"),
    ("wifi", "the wifi password: {}", "blue-Kettle-42"),
    ("wifi at", "Wi-Fi password at the cabin is {}", "pinecone88"),
    ("wifi network", "guest network is Attic, password {}", "ladder9hail"),
    ("password for", "Password for the staging admin: {}", "Fr0stbite!"),
    ("password to", "the password to the NAS is {}", "gr8-Basalt"),
    ("password was", "the old password was {} until May", "c0balt-Finch"),
    ("changed to", "changed my password to {}", "Maple7Syrup"),
    ("new password", "new router password = {}", "Thistle_09"),
    ("everywhere", "I use the same password everywhere, it's {}", "Larkspur77"),
    ("pw", "pw: {}", "tw1nOaks"),
    ("pass", "user: bob pass: {}", "Drift3r"),
    ("login slash", "login: admin / {}", "Cobble$tone3"),
    ("credentials", "Jenkins credentials are bob:{}", "F1eldmouse"),
    ("site pair", "Netflix: anna@mail.example / {}", "Giraffe!7"),
    ("log in as", "log in as bob with password {}", "tulip99"),
    ("passphrase", "passphrase = {}", "correct horse battery staple"),
    ("passphrase is", "the GPG passphrase is {}", "violet tractor seven moons"),
    ("ssh passphrase", "ssh key passphrase: {}", "Gobl1nMarket"),
    ("passcode", "my phone passcode is {}", "905512"),
    ("pin", "PIN {}", "4821"),
    ("pin for", "the PIN for the alarm is {}", "7731"),
    ("pin colon", "sim pin: {}", "0852"),
    ("door code", "front door code is {}", "1958#"),
    ("gate code", "Gate code: {}", "#4402"),
    ("garage", "garage keypad code {}", "66914"),
    ("safe", "the safe combination is {}", "12-34-56"),
    ("api key is", "api key is {}", "a8f5k2Lq9ZtWx3Rv7Bn1"),
    ("api key for", "The API key for weather is {}", "5f2b8c1d9e3a7064b1c2d3e4f5061728"),
    ("license", "my JetBrains license key: {}", "7KQ2M-XW9RT-3HBVN-P4D8C-LZ6YF"),
    ("bare token", "here's my token: {}", "Zk3nW8qLr5TtYb2Hc9Xv4Mp7"),
    ("secret is", "the webhook secret is {}", "q9Wm2Zx7Rb4Lk8Tn"),
    ("recovery codes", "GitHub recovery codes: {}", "a1b2c-3d4e5 f6a7b-8c9d0"),
    ("security answer", "the answer to my security question is {}", "Fluffy"),
    ("encoded", "root password (base64) {}", "aHVudGVyMjAyNg=="),
    ("german", "mein Passwort ist {}", "Apfelbaum12"),
    ("german colon", "Kennwort: {}", "Regen!Tonne"),
    ("german wlan", "Das WLAN-Passwort lautet {}", "katze-2031"),
    ("german pin", "Die PIN für die Karte ist {}", "3907"),
    ("german key", "WLAN-Schlüssel: {}", "8842-1190-3375-0061"),
    ("french", "mon mot de passe est {}", "Ch0ucroute"),
    ("french colon", "Mot de passe du wifi : {}", "fenetre_bleue7"),
    ("french mdp", "mdp: {}", "lapin-2024"),
    ("french code", "le code de la porte est {}", "B4471"),
    ("spanish", "mi contraseña es {}", "Girasol99"),
    ("spanish wifi", "La clave del wifi es {}", "luna-llena-7"),
    ("spanish colon", "Contraseña: {}", "p4nQueso"),
    ("portuguese", "minha senha é {}", "Jacaranda5"),
    ("portuguese wifi", "senha do wi-fi: {}", "praia2030"),
    ("italian", "la mia password è {}", "Tramonto8"),
    ("dutch", "mijn wachtwoord is {}", "Fiets!pomp3"),
    ("polish", "moje hasło to {}", "Zielony7Smok"),
    ("swedish", "mitt lösenord är {}", "Granskog12"),
    ("turkish", "şifrem {}", "Lale1453x"),
    ("russian", "мой пароль: {}", "Berezka77"),
    ("russian dash", "пароль от вайфая — {}", "snegir2024"),
    ("ukrainian", "мій пароль {}", "Kalyna2025"),
    ("chinese", "我的密码是{}", "panda8888"),
    ("chinese colon", "WiFi密码：{}", "qingdao2024"),
    ("chinese traditional", "密碼是 {}", "Formosa#77"),
    ("japanese", "パスワードは{}です", "sakura-1024"),
    ("japanese colon", "Wi-Fiのパスワード：{}", "fuji3776m"),
    ("korean", "비밀번호는 {} 입니다", "hanok2027!"),
    ("arabic", "كلمة المرور هي {}", "nakhla2025"),
    ("hindi", "मेरा पासवर्ड {} है", "gulmohar21"),
)


def _prose(rng: Random) -> list[Planted]:
    del rng  # what people say is written out, not drawn
    return [Planted(name, sentence.format(secret), secret) for name, sentence, secret in PROSE]
