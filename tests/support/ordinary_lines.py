"""Ordinary lines, none of which holds a secret: the set on which `find_secrets` must stay quiet.

Written before the patterns and without them. It knows nothing of how secrets are found; many lines
talk of passwords, keys and tokens all the same, as people do.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import string
import uuid
from collections.abc import Callable, Iterator
from random import Random

WORDS: dict[str, tuple[str, ...]] = {
    "person": ("Alice", "Bob", "Chidi", "Dana", "Elif", "Farid", "Grace", "Hiro", "Ines", "Jonas"),
    "pet": ("a cat named Luna", "two rabbits", "an old spaniel", "a parrot", "no pets"),
    "city": ("Lisbon", "Osaka", "Zürich", "Nairobi", "Montréal", "Tallinn", "Recife", "Hobart"),
    "tool": ("pytest", "Vim", "pnpm", "Docker", "Terraform", "uv", "ruff", "Postgres", "Redis"),
    "other": ("unittest", "Emacs", "yarn", "Podman", "Pulumi", "poetry", "flake8", "MySQL"),
    "lang": ("Python", "TypeScript", "Rust", "Go", "Kotlin", "Elixir", "OCaml", "C#"),
    "food": ("oat milk", "rye bread", "ramen", "dal", "olives", "dark chocolate", "tofu"),
    "theme": ("dark mode", "solarized light", "high contrast", "a larger font", "no ligatures"),
    "place": ("all editors", "the terminal", "slides", "the dashboard", "pull requests"),
    "month": ("January", "March", "May", "July", "September", "November"),
    "service": ("GitHub", "the bank", "Netflix", "the router", "Jira", "the NAS", "Slack", "AWS"),
    "place2": ("1Password", "Bitwarden", "KeePassXC", "the team vault", "the keychain", "SOPS"),
    "secretword": ("password", "passphrase", "API key", "access token", "PIN", "client secret"),
    "state": ("expired", "required", "wrong", "too short", "stored hashed", "rotated weekly"),
    "thing": ("cache", "partition", "primary", "foreign", "sort", "public", "idempotency", "arrow"),
    "noun": ("latency", "patience", "trust", "naming", "timing", "caching", "batching", "sleep"),
    "file": ("main.py", "index.tsx", "schema.sql", "Cargo.toml", "README.md", "values.yaml"),
    "dir": ("src/app", "tests/unit", "infra/prod", "docs/how-to", "packages/core", "cmd/server"),
    "host": ("example.com", "docs.python.org", "news.example.org", "intranet.local:8080"),
    "ext": ("png", "pdf", "csv", "parquet", "md", "tar.gz"),
    "weekday": ("Monday", "Tuesday", "Thursday", "Friday", "Sunday"),
    "unit": ("ms", "GB", "tokens", "requests", "km", "rows"),
}

TEMPLATES = (
    "{person} prefers {theme} in {place}",
    "{person} lives in {city} and has {pet}",
    "{person} moved from {city} in {month} 2023",
    "User is allergic to {food}; {person} is not",
    "Always use {tool}, never {other}",
    "Primary language is {lang}; {person} reviews the {tool} setup",
    "Working on a migration from {other} to {tool} until {month}",
    "Don't suggest {lang} when I ask for {tool}",
    "{person} drinks coffee with {food} on {weekday}",
    "Standup is {weekday} at 09:30, {city} time",
    "I forgot my {secretword} for {service} again",
    "{person} asked for a {secretword} reset email from {service}",
    "The {secretword} for {service} is {state}",
    "The {service} {secretword} is stored in {place2}",
    "{secretword}: see {place2}",
    "Never write a {secretword} in {file}",
    "Remind {person} to rotate the {service} {secretword} in {month}",
    "{person} keeps the {service} {secretword} in {place2}, ask there",
    "The {secretword} field in {file} is {state}",
    "Ask {person} for the {secretword} of {service}",
    "{service} wants a new {secretword} every {month}",
    "{service} password policy: 12 characters, one symbol ({person} checked)",
    "The secret is {noun}, says {person}",
    "the secret to good {lang} is {noun}",
    "key insight: {noun} matters more than {lang}",
    "Key takeaway for {person}: {noun} first",
    "The key to {city} is {noun}",
    "The {thing} key is customer_id in {file}",
    "{thing} key for {tool}: tenant_id",
    "{person} pinned {tool} in {file}",
    "Pin the {tool} tab on {weekday}",
    "{person} has a token of thanks from {city}",
    "{lang} tokens are split by {tool}",
    "password = os.environ['DB_PASSWORD']  # {file}, {person}",
    "password: str  # {file} in {dir}",
    'parser.add_argument("--password", required=True)  # {dir}/{file}',
    "token = request.headers.get('Authorization')  # {dir}/{file}",
    "api_key = settings.{tool}_api_key  # {dir}",
    "if not token: raise AuthError  # {dir}/{file}",
    "secret = load_secret('{tool}')  # {dir}",
    "api_key: ${{{tool}_API_KEY}} in {dir}/{file}",
    "PASSWORD=<your password>  # copy {dir}/{file}",
    "const token = await getToken({tool}) // {dir}",
    "{lang}: `for key, value in items:` in {dir}/{file}",
    "Open {dir}/{file} and look for the {noun} section",
    "See https://{host}/{dir}/{file}",
    "https://{host}/search?q={noun}&lang={lang}&page=2",
    "ssh {person}@{host} then cd {dir}",
    "C:\\Users\\{person}\\{lang}\\{file}",
    "/home/{person}/{dir}/{file}.bak",
    "The report is at ~/Documents/{city}/{noun}.{ext}",
    '{{"person": "{person}", "city": "{city}", "tool": "{tool}"}}',
    '{{"key": "{noun}", "value": "{theme}"}}',
    "- [ ] ask {person} about {noun} ({weekday})",
    "| {person} | {city} | {tool} | {weekday} |",
    "git commit -m 'fix {noun} in {file}' && git push origin {lang}",
    "docker run -p 8080:80 -v {dir}:/app {tool}:latest",
    "The exit code of {tool} on {weekday} was 137",
    "HTTP status code 404 from {host}/{dir}",
    "the area code of {city} changed in {month}",
    "{person} mag {food} und wohnt in {city}",
    "{person} hat das Passwort für {service} vergessen",
    "Das Passwort für {service} ist abgelaufen, sagt {person}",
    "{person} aime {food} et habite à {city}",
    "{person} a oublié le mot de passe de {service}",
    "Le mot de passe de {service} est obligatoire pour {person}",
    "A {person} le gusta {food} y vive en {city}",
    "{person} olvidó la contraseña de {service}",
    "La clave del éxito es {noun}, dice {person}",
    "{person} mora em {city} e gosta de {food}",
    "{person} 喜欢{food}，住在{city}",
    "{person} 忘记了{service}的密码",
    "{service}的密码是必填项，{person} 说",
    "{person}は{city}に住んでいて{food}が好きです",
    "{person}は{service}のパスワードを忘れました",
    "{service}のパスワードは8文字以上です ({person})",
    "{person}은 {city}에 살고 {food}를 좋아해요",
    "{person} живёт в городе {city} и любит {food}",
    "{person} забыл пароль от {service}",
    "{person} در {city} زندگی می‌کند",
    "{person} का घर {city} में है",
    "{person} يسكن في {city}",
)


def ordinary_lines(seed: int = 2026) -> list[str]:
    """At least 5,000 distinct lines, the same for the same seed."""
    rng = Random(seed)
    lines = [*_written(rng), *_drawn(rng), *SENTENCES]
    return list(dict.fromkeys(lines))


def _written(rng: Random) -> Iterator[str]:
    for template in TEMPLATES:
        names = [field for _, field, _, _ in string.Formatter().parse(template) if field]
        choices = list(itertools.product(*(WORDS[name] for name in names)))
        for values in rng.sample(choices, min(len(choices), 48)):
            yield template.format(**dict(zip(names, values, strict=True)))


def _drawn(rng: Random) -> Iterator[str]:
    """Lines around identifiers and numbers, which look random and are no secret."""
    for sentence, value in DRAWN:
        for _ in range(24):
            yield sentence.format(value(rng))


def _hex(length: int) -> Callable[[Random], str]:
    return lambda rng: "".join(rng.choice("0123456789abcdef") for _ in range(length))


def _digits(form: str) -> Callable[[Random], str]:
    return lambda rng: "".join(rng.choice("123456789") if c == "9" else c for c in form)


def _uuid(rng: Random) -> str:
    return str(uuid.UUID(int=rng.getrandbits(128), version=4))


def _sha256(rng: Random) -> str:
    return hashlib.sha256(rng.randbytes(8)).hexdigest()


def _base64(rng: Random) -> str:
    return base64.b64encode(rng.randbytes(60)).decode()


def _sri(rng: Random) -> str:
    return base64.b64encode(rng.randbytes(64)).decode()


def _day(rng: Random) -> str:
    return f"20{rng.randint(10, 39)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"


def _version(rng: Random) -> str:
    return f"{rng.randint(0, 40)}.{rng.randint(0, 30)}.{rng.randint(0, 99)}"


def _slug(rng: Random) -> str:
    """A video or document id: letters of both cases and digits, and public."""
    return "".join(rng.choice(string.ascii_letters + string.digits) for _ in range(11))


DRAWN: tuple[tuple[str, Callable[[Random], str]], ...] = (
    ("request id {} failed twice", _uuid),
    ("The order {} was shipped", _uuid),
    ("id: {}", _uuid),
    ("idempotency key: {}", _uuid),
    ("session {} was tainted", _uuid),
    ("https://app.example.com/w/{}/settings", _uuid),
    ("Fixed in commit {}", _hex(40)),
    ("git show {}", _hex(12)),
    ("bisect says {} is the first bad commit", _hex(40)),
    ("sha256: {}", _sha256),
    ("{}  dist/commonplace-0.1.0.tar.gz", _sha256),
    ("image: registry.example.com/app@sha256:{}", _sha256),
    ("md5 of the dump is {}", _hex(32)),
    ("etag {}", _hex(32)),
    ("the cache key is {}", _sha256),
    ("public key fingerprint SHA256:{}", lambda rng: _base64(rng)[:43]),
    ("ssh-ed25519 {} anna@laptop", lambda rng: "AAAAC3NzaC1lZDI1NTE5AAAAI" + _base64(rng)[:43]),
    ("![logo](data:image/png;base64,{})", lambda rng: "iVBORw0KGgoAAAANSUhEUgAA" + _base64(rng)),
    ('integrity="sha512-{}"', _sri),
    ("https://video.example.com/watch?v={}", _slug),
    ("design doc https://docs.example.com/d/{}/edit", lambda rng: _slug(rng) + _slug(rng)),
    ("eth address 0x{}", _hex(40)),
    ("tx 0x{} confirmed", _hex(64)),
    ("colour #{} for the header", _hex(6)),
    ("mac {}", lambda rng: ":".join(_hex(2)(rng) for _ in range(6))),
    ("traceparent 00-{}-01", lambda rng: f"{_hex(32)(rng)}-{_hex(16)(rng)}"),
    ("arn:aws:iam::{}:role/deploy", _digits("999999999999")),
    ("Upgraded to version {}", _version),
    ("requires node >= {}", _version),
    ("Dentist on {} at 14:30", _day),
    ("{}T09:15:00Z build finished", _day),
    ("call the plumber on +49 30 {}", _digits("9999 9999")),
    ("phone: ({}", _digits("999) 999-9999")),
    ("her number is {}", _digits("0999 999 9999")),
    ("ISBN 978-{}", _digits("9-9999-9999-9")),
    ("invoice {} is paid", _digits("9999-999999")),
    ("order number {} arrived", _digits("9999999999999999")),
    ("tracking {}", _digits("1Z999AA99999999999")),
    ("postcode {} Berlin", _digits("99999")),
    ("zip code {}", _digits("99999")),
    ("error code {} again", _digits("9999")),
    ("token limit is {}", _digits("9999")),
    ("max_tokens={}", _digits("9999")),
    ("token count: {}", _digits("99999")),
    ("GPIO pin {} drives the relay", _digits("19")),
    ("the meeting room is {}", _digits("4.999")),
    ("timestamp {} is the newest", _digits("1769999999")),
    ("epoch micros {}", _digits("1769999999999999")),
    ("tweet {} was deleted", _digits("1799999999999999999")),
    ("lat {}", _digits("52.99999999, 13.99999999")),
    ("pi is 3.{}", _digits("999999999999999")),
    ("budget is {} EUR", _digits("99.999")),
    ("revenue {} in Q3", _digits("$9,999,999")),
    ("ran 10 km in {}", _digits("49:59")),
    ("192.168.{} is the printer", _digits("1.99")),
    ("listening on http://127.0.0.1:{}/health", _digits("8999")),
    ("customer DE{} is exempt", _digits("999999999")),
    ("mem-{} supersedes the other one", _uuid),
    ("s3://bucket/raw/{}/part-0001.parquet", _day),
    ("model sentence-transformers/all-MiniLM-L{}-v2", _digits("9")),
    ("branch feature/ABC-{}-rename-things", _digits("9999")),
    ("flight LH{} leaves at 06:45", _digits("999")),
    ("docker tag app:{}", lambda rng: f"{_version(rng)}-{_hex(7)(rng)}"),
    ("cursor={} for the next page", _base64),
    ("Location: /oauth/callback?state={}", _hex(24)),
)

SENTENCES = (
    "I forgot my password",
    "password reset email",
    "the secret is patience",
    "token limit is 4096",
    "key insight: small functions read better",
    "My password manager is 1Password",
    "The password is the same as before",
    "The password must have at least 12 characters",
    "password is 8-16 characters long",
    "Passwords are hashed with argon2id",
    "the password expires on 2027-01-31",
    "Password: required",
    "password: string",
    "password: null",
    'password: ""',
    "password: ********",
    "password=changeme in the docs is only an example",
    "PASSWORD=${DB_PASSWORD}",
    "password: {{ vault_db_password }}",
    "password: !vault |",
    "password: ENC[AES256_GCM,data:x]",
    "`password` and `password_confirmation` must match",
    "user.password = form.password.data",
    "password=password",
    "def check_password(self, password: str) -> bool:",
    "bcrypt.hashpw(password.encode(), salt)",
    'input type="password" name="password"',
    "the password prompt appears twice on macOS",
    "She changed her password to something stronger",
    "changed the password to a longer one",
    "My PIN is easy to guess, change it",
    "The PIN pad at the office is broken",
    "PIN entry is limited to 3 tries",
    "Use pin 13 for the LED and pin 2 for the button",
    "pin numpy below 2.0",
    "API key rotation happens every 90 days",
    "API keys are managed by Terraform",
    "api_key: str | None = None",
    "api_key=YOUR_API_KEY_HERE",
    "OPENAI_API_KEY=sk-...",
    "set GITHUB_TOKEN to a token that starts with ghp_",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx is a placeholder",
    "keys look like AKIA followed by 16 characters",
    "sk-learn is short for scikit-learn, installed in sk-learn-py311-env-latest",
    "hf_hub_download_timeout_seconds is 30",
    "key-value-store-with-replication-v2 is the repo",
    "npm_config_registry points at the mirror, npm_package_version is set",
    "The token bucket refills at 100 per second",
    "max tokens is 200000 and the context window is 1000000",
    "Tokenizer: cl100k_base with 100256 tokens",
    "token: string; refreshToken: string;",
    "access_token is returned by /oauth/token",
    "the access token lives for 3600 seconds",
    "Authorization: Bearer <token>",
    "send the token as a Bearer token in the Authorization header",
    "Authorization: Bearer $TOKEN",
    "Basic authentication is disabled",
    "basic understanding of authentication",
    "the secret ingredient is miso",
    "secret: the surprise party is on Friday",
    "Her secret recipe is 200g flour, 100g butter",
    "the secret santa budget is 20 euro",
    "kubectl create secret generic db --from-literal=user=app",
    "secrets.yaml is encrypted with sops",
    "from secrets import token_hex",
    "secrets.token_urlsafe(32)",
    "SECRET_KEY = env('SECRET_KEY')",
    "SECRET_KEY = os.getenv('SECRET_KEY', default)",
    "The key under the mat is for the cat sitter",
    "house key: with the neighbour",
    "Key: C major, tempo 120",
    "song key is F# minor",
    "primary key (tenant_id, record_id)",
    "sort keys by their natural order",
    "keyboard shortcut: ctrl+shift+K",
    "public key: ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7 bob@host",
    "the private key is in the HSM",
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "Codes: 200 is fine, 429 means slow down",
    "the promo code is SUMMER25",
    "the dress code is casual",
    "Source code is at github.com/example/project",
    "code for the parser is in lines.py",
    "door is green, gate is on the left",
    "The code review took 4821 seconds",
    "postgres://localhost:5432/shop",
    "postgres://app@db.internal:5432/shop",
    "postgres://user:password@localhost/db is the form",
    "https://user@example.com/path",
    "redis://cache:6379/0",
    "git@github.com:example/project.git",
    "http://localhost:3000/@scope/name@1.2.3",
    "https://medium.example/@anna/how-to-sleep:better",
    "ratio 16:9 @ 60 Hz",
    "curl -u $USER:$PASS https://ci.example.com",
    "curl -fsSL https://example.com/install.sh | sh",
    "mysql -u root -p shop",
    "docker run -p 5432:5432 postgres:16",
    "login: use the SSO button",
    "login with your work account",
    "credentials are in the vault under prod/db",
    "the credentials file is ~/.aws/credentials",
    "user: bob, role: admin",
    "user/pass authentication is deprecated",
    "pass the salt",
    "tests pass: 4821 of 4821",
    "pass: 312, fail: 4",
    "Boarding pass: gate B42, seat 14C",
    "the mountain pass is closed until 2026-05-01",
    "bypass: true",
    "compass heading is 270",
    "mot de passe oublié ?",
    "Le mot de passe doit contenir 12 caractères",
    "Passwort vergessen",
    "Passwort: siehe 1Password",
    "La contraseña es obligatoria",
    "contraseña: la misma de siempre",
    "la clave es practicar",
    "a senha é obrigatória",
    "密码长度是8-16位",
    "忘记密码怎么办",
    "密码错误",
    "パスワードは必須です",
    "비밀번호는 8자 이상",
    "пароль обязателен",
    "пароль: не менее 8 символов",
    "seed phrase must never be typed into a website",
    "recovery phrase is in the bank vault in Zürich, ask Ines if it is lost or stolen one day",
    "the seed for random is 42",
    "numpy.random.seed(20261115)",
    "sow tomato seeds in March",
    "card number is on the back",
    "credit card expires in 09/29",
    "test card numbers are in the Stripe docs",
    "the SSN field is masked",
    "AKIAIOSFODNN7EXAMPLE is the key in the AWS docs",
    "eyJ is how a JSON web token begins",
    "License: Apache-2.0",
    "license key is sent by mail after purchase",
    "hash: blake2b, digest size 16",
    "checksum mismatch for wheel numpy-2.1.0-cp312-cp312-manylinux_2_17_x86_64.whl",
    "python3.12-dbgsym_3.12.3-1ubuntu0.5_amd64.deb",
    "Ran all 14,882 tests in 312.4s",
    "com.example.android.authentication.TokenRefreshInterceptor2",
    "AbstractSingletonProxyFactoryBean",
    "LD_LIBRARY_PATH=/usr/local/cuda-12.4/lib64",
    "export PATH=$HOME/.local/bin:$PATH",
    "KEY_ENTER = 13",
    "tokens_per_second: 148.2",
    "const SECRET_NAME = 'prod/db/main'",
    "secretName: my-app-tls-2024",
    "key_id: 3f2b8c1d",
    "keyPrefix: user-session-v2-production",
    "Next-Auth needs NEXTAUTH_SECRET set",
    "passwordless login is on",
    "he speaks in code",
    "the combination is unbeatable",
    "safe word: pineapple is a joke",
    "answer to the question is 42",
)
