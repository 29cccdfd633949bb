r"""The forms of secrets, as one table: whose, what they look like, example, counter-example.

It holds data only; `secrets` reads it when a text may hold one, and the tests hold every row to its
own examples. No example is a real token: `<a36>` stands for 36 drawn letters and digits (`a`), hex
digits (`h`), digits (`d`), base32 (`U`), capitals and digits (`X`), small letters and digits (`l`),
base64 (`b`) or its form for addresses (`u`).

Each row is `(name, look, hints, pattern, judge, example, counter-example)`. The look says how the
pattern is used:

- `token`: it stands behind one of the hints, which are prefixes, divided by spaces;
- `shape`: its last group is the secret, and the text in small letters holds a hint, divided by `|`
  (of `a&b` both); `blob`: the same, in texts with a run of fifty signs;
- `said`, `long`, `digits`, `number`: the same, whatever the case; words that announce the secret
  are its `cue`. All but `said` are tried only in texts with a long run of signs, with digits, with
  ten of them in a row. `env` takes its hints as they are written, of a name in capitals.
"""

from __future__ import annotations

_ALNUM = "[A-Za-z0-9]"
_HEX = "[0-9a-f]"
_TAIL = r"(?![A-Za-z0-9])"

_ENGLISH = "pass(?:[ _-]?(?:word|phrase|code)|wd)|pwd|passwrd"
_ABROAD = (
    "passwort|passwörter|kennwort|losungswort|zugangscode|mot de passe|phrase de passe|"
    "contrase(?:ñ|n|nh)a|palavra-passe|parola d['’]ordine|wachtwoord|lösenord|adgangskode|kodeord|"
    "passord|salasana|jelszó|wlan-schlüssel|netzwerkschlüssel|mật khẩu|kata sandi|requirepass|"
    r"\b(?:master|wi-?fi|wpa2?|wlan|network) key|"
    r"\b(?:clé|chave|chiave)(?:\s(?:du|de la|do|da|del|della))? wi-?fi|"
    r"(?<![^\W_])(?:pass|pw|psk|mdp|clave|senha|hasło|heslo|parola|lozinka|geslo|şifre(?:m|si)?)"
)
_OTHER_SCRIPTS = (
    "密码|密碼|口令|パスワード|暗証番号|비밀번호|암호|парол|كلمة المرور|كلمة السر|رمز عبور|पासवर्ड|"
    "סיסמ|รหัสผ่าน|κωδικός"
)
_LOCKS = (
    "door|gate|garage|alarm|lock|locker|keypad|entry|access|safe|unlock|vault|porte|portail|puerta|"
    "tür|tor|tresor|haustür|porta|cancello|portão|caja fuerte|cofre|cassaforte|coffre"
)
_OF = (
    "for|to|of|on|at|in|from|fürs?|von|vom|zu|zum|zur|der|des|im|meine[rs]|unsere[rs]|du|de|del|di|"
    "della|da|do|para|pour|dla|per|van|voor"
)
_GAP = rf"(?:\s?\([^()\n]{{1,30}}\))?(?:\s(?:{_OF})\s(?:[^\n.;:=,]|\.(?=\w)){{1,40}}?)?"
_TIGHT = (
    r"(?:\s?(?:\s|:\s?)(?:str|string))?"  # the type, in code
    r"\s{0,40}(?:(?:[|?]{1,2}|:{1,3}|[.+])?[:=：](?:=?>)?|<=|=>|->|→)(?!=)\s{0,40}"
)
_IS = "is|was|are|ist|war|lautet|est|es|era|é|è|är|er|este|je|jest|là|adalah|on|sarà|será|será|wäre"
_NOW = (
    "now|still|currently|from now on|from today|jetzt|nun|ab jetzt|ab heute|ab sofort|maintenant|"
    "désormais|ahora|desde hoy|agora|a partir de hoje|ora|adesso|da oggi|nu"
)
_CURRENT = (
    "now|currently|root|admin|jetzt|aktuell|neu|mea|mia|actuel|actuelle|actual|atual|attuale|nueva|"
    "nova|nuova"
)
_MAY_BE = (
    "(?:will|would|should|shall|must|may) be|soll(?:te)?|wird|bleibt|doit être|sera|serait|"
    "debe ser|va a ser|sería|deve ser|vai ser|seria|deve essere|sarebbe|stays|remains|"
    "(?:has )?become|became|becomes"
)
_SET = (
    "set|chang(?:e|ed|ing)|reset|updated?|make|made|switch(?:ed)?|mis|mets|met|changé|changer|"
    "modifié|défini|cambi(?:é|a|ado|ar)|puse|puesto|pon|mud(?:ei|a|e|ar)|alter(?:ei|a|e|ar)|"
    "troquei|pus|impost(?:ato|a)|cambi(?:ato|a)|modificato"
)
_NOUN = (
    "pass(?:word|phrase|code|wort)|pwd|kennwort|mot de passe|mdp|contraseña|clave|senha|"
    "palavra-passe"
)
_LOG_IN = (
    "(?:log|sign|logged|signed) ?in (?:as|with)|melde? dich (?:als|mit)|anmelden (?:als|mit)|"
    "connecte-toi (?:avec|en tant que)|entrar? (?:con|com)|entra (?:con|com)|accedi con|entre com|"
    "user(?:name)?|login|account|benutzer(?:name)?|utilisateur|usuario|usuário|utente"
)
_CREDENTIALS = (
    "zugangsdaten|anmeldedaten|anmeldung|identifiants|credenciales|credenciais|credenziali"
)
_LICENCE = (
    "(?:licen[cs]e|product|activation) key|activation code|"
    "(?:lizenz|produkt|aktivierungs)schlüssel|"
    "(?:clé|clave|chave) de (?:licence|produit|activation|licencia|producto|activación|licença|"
    "produto|ativação)|(?:chiave|codice) di (?:licenza|attivazione)"
)
_VERB = (
    r"(?:(?:\s(?:is|was|has been))?\s(?:changed|set|reset|updated) to"
    r"|(?:\s\w{1,40})?,\sit(?:'s| is)"
    rf"|\s[—–-]|'s|(?<=hasło)\sto|\s(?:{_IS})(?:\s(?:{_NOW}))?:?)\s{{1,40}}"
)
_LINK = rf"{_GAP}(?:{_TIGHT}|{_VERB})"
_ANY_LINK = rf"(?:{_LINK}|\s{{1,40}})"
_CLOSE = r"[\"'`\])]{0,2}"
_INNER = r"[^\s\"'`“”„«»「」,;<>，。；、()\[\]{}]"
_BARE = rf"(?P<bare>{_INNER}{{0,2000}}{_INNER[:-1]}.:?])"
_VALUE = rf"(?:\\?[\"'`“„«「](?P<quoted>[^\n\"'`”“»」\\]{{3,4000}})\\?[\"'`”“»」]|{_BARE})"

_WORD = r"(?P<bare>[^\s,;\"'<>()/]{2,63}[^\s,;\"'<>()/.!?])"

ENDS = r"(?=[.!]?\s{0,40}(?:\n|$)|[.!]\s|\s{0,40}[\"'};,/|]|\s(?:and|und|et|y|e)\s)"
_PROVIDERS = (
    "adafruit|adobe|algolia|alibaba|amplitude|asana|auth0|bitbucket|bitly|bittrex|buildkite|"
    "cloudflare|cloudinary|codecov|cohere|coinbase|confluent|contentful|datadog|deepgram|deepseek|"
    "discord|dropbox|droneci|elastic|etsy|facebook|fastly|figma|finicity|finnhub|flickr|freshbooks|"
    "gitter|gocardless|gitlab|github|heroku|hetzner|hubspot|intercom|jenkins|jfrog|kraken|kucoin|"
    "launchdarkly|linear|linkedin|linode|lob|looker|mailchimp|mailgun|mailjet|mapbox|mattermost|"
    "messagebird|mistral|mixpanel|netlify|newrelic|new_relic|nytimes|okta|openai|opsgenie|"
    "pagerduty|paypal|pinecone|pipedrive|plaid|plivo|postmark|rapidapi|segment|sendbird|sendgrid|"
    "sentry|shodan|snyk|sonar|spotify|square|squarespace|stripe|sumologic|telegram|travis|trello|"
    "twilio|twitch|twitter|typeform|vercel|virustotal|vonage|vultr|yandex|zendesk"
)

Row = tuple[str, str, str, str, str, str, str]

_TOKENS: tuple[Row, ...] = (
    (
        "aws access key",
        "token",
        "AKIA ASIA ABIA ACCA A3T",
        r"[A-Z0-9]{16}(?<!EXAMPLE)(?!\w)",
        "digit",
        "the deploy user's key id is AKIA<U15>2",
        "AKIAIOSFODNN7EXAMPLE is the key of the manual",
    ),
    (
        "amazon bedrock key",
        "token",
        "ABSK bedrock-api-key-",
        r"[A-Za-z0-9+/=]{100,}",
        "any",
        "bedrock: ABSK<b110>",
        "ABSK stands for bedrock keys",
    ),
    (
        "amazon token",
        "token",
        "amzn.mws. amzn1.oa2-cs.v1.",
        r"[0-9a-f-]{36,}",
        "any",
        "seller: amzn.mws.<h8>-<h4>-<h4>-<h4>-<h12>",
        "amzn.mws. begins their tokens",
    ),
    (
        "github token",
        "token",
        "ghp_ gho_ ghu_ ghs_ ghr_",
        rf"{_ALNUM}{{30,}}",
        "any",
        "Use ghp_<a36> to push to the mirror",
        "ghp_ is how classic tokens begin, as in ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ),
    (
        "github token",
        "token",
        "github_pat_",
        r"\w{50,}",
        "any",
        "PAT for the docs: github_pat_<a22>_<a59>",
        "github_pat_ is how fine-grained tokens begin",
    ),
    (
        "gitlab token",
        "token",
        "glpat- glptt- gldt- glrt- glrtr- glcbt- glft- glsoat- glimt- glagent- glffct- gloas- glwt-"
        " GR1348941",
        r"[\w.-]{20,}",
        "any",
        "GitLab: glpat-<u20>",
        "glpat- tokens last a year",
    ),
    (
        "slack token",
        "token",
        "xoxb- xoxp- xoxa- xoxa-2- xoxr- xoxs- xoxc- xoxd- xoxe- xoxe. xapp- xwfp-",
        r"[\w.%-]{10,}",
        "digit",
        "The standup bot runs as xoxb-<d12>-<d12>-<a24>",
        "xoxb-your-token-here goes into the settings",
    ),
    (
        "slack token",
        "token",
        "xoxo-",
        r"\d{5,40}-[\w-]{10,}",
        "any",
        "old slack xoxo-<d6>-<d6>-<d6>-<h18>",
        "https://2019.example.org/xoxo-conference-of-makers",
    ),
    (
        "stripe key",
        "token",
        "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_ whsec_",
        rf"{_ALNUM}{{10,}}",
        "any",
        "Stripe prod key sk_live_<a24> - ask before charging",
        "sk_live_ keys are for production, sk_test_xxxxxxxxxxxx for tests",
    ),
    (
        "anthropic key",
        "token",
        "sk-ant-",
        r"[\w-]{32,}",
        "any",
        "export ANTHROPIC_API_KEY=sk-ant-api03-<u93>AA",
        "ANTHROPIC_API_KEY=sk-ant-your-key-here",
    ),
    (
        "openai key",
        "token",
        "sk-proj- sk-svcacct- sk-admin- sk-None-",
        r"[\w-]{32,}",
        "any",
        "CI talks to the model with sk-proj-<u74>T3Blbk<u70>",
        "sk-proj- keys belong to one project",
    ),
    (
        "api key",
        "token",
        "sk-or-v1- sk-",
        rf"(?:{_ALNUM}{{30,}}|{_ALNUM}{{20}}T3Blbk{_ALNUM}{{20}})",
        "digit",
        "my openai one is sk-<a48>",
        "The class sk-fading-circle spins while the page loads",
    ),
    (
        "api key",
        "token",
        "sk-lf- pk-lf-",
        rf"{_HEX}{{8}}-[0-9a-f-]{{27}}",
        "any",
        "langfuse sk-lf-<h8>-<h4>-<h4>-<h4>-<h12>",
        "sk-lf- is the secret half, pk-lf- the public one",
    ),
    (
        "api key",
        "token",
        "sk_",
        rf"{_ALNUM}{{40,4000}}(?!\w)",
        "digit",
        "the voice uses sk_<h48>",
        "sk_learn_pipeline_2 is the module",
    ),
    (
        "api key",
        "token",
        "gsk_ pplx- xai- pcsk_ r8_ csk- fw_ fw- jina_ tvly- tvly-dev- tvly-prod- tgp_v1_ e2b_ rpa_"
        " napi_ rnd_ wandb_v1_ hcaik_ sgp_ ddp_ tfp_ bkua_ pa- nfk_ lmnr_ together_",
        r"[\w-]{24,}",
        "drawn",
        "groq gsk_<a52>",
        "pa-ssages-that-are-long-enough are no key",
    ),
    (
        "api key",
        "token",
        "nvapi- lsv2_pt_ lsv2_sk_ ls__",
        r"[\w-]{32,}",
        "digit",
        "NIM endpoint, nvapi-<u64>",
        "nvapi- is how keys of NIM begin",
    ),
    (
        "api key",
        "token",
        "key- fc- pubkey-",
        r"[0-9a-z]{32}(?!\w)",
        "digit",
        "mailgun key-<h32>",
        "key-value pairs",
    ),
    (
        "hugging face token",
        "token",
        "hf_ api_org_",
        rf"{_ALNUM}{{30,}}",
        "drawn",
        "HF token for the gated model: hf_<a34>",
        "hf_hub_download fetches the file",
    ),
    (
        "twilio key",
        "token",
        "SK AC",
        rf"{_HEX}{{32}}(?!\w)",
        "digit",
        "sms over SK<h32>",
        "SKU 4711 is sold out",
    ),
    (
        "google key",
        "token",
        "AIza",
        r"[\w-]{35}(?![\w-])",
        "any",
        "Maps key AIza<u35> is unrestricted!",
        "AIza is how keys of Google begin",
    ),
    (
        "google secret",
        "token",
        "GOCSPX-",
        r"[\w-]{24,}",
        "any",
        "oauth client GOCSPX-<u28>",
        "GOCSPX- is how client secrets begin",
    ),
    (
        "google token",
        "token",
        "ya29. 1//0 1/0",
        r"[\w-]{40,}",
        "any",
        "curl worked with ya29.<u140>",
        "1//0 is not a fraction",
    ),
    (
        "firebase key",
        "token",
        "AAAA",
        r"[\w-]{7}:[\w-]{100,}",
        "any",
        "push goes over AAAA<u7>:<u140>",
        "AAAA records hold addresses of IPv6",
    ),
    (
        "twitter token",
        "token",
        "AAAAAAAAAAAAAAAAAAAA",
        r"[A-Za-z0-9%]{60,}",
        "digit",
        "app only: AAAAAAAAAAAAAAAAAAAAA<a90>",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA!",
    ),
    (
        "sendgrid key",
        "token",
        "SG.",
        r"[\w-]{16,200}(?:\.[\w-]{16,200})?",
        "digit",
        "mail goes out via SG.<u22>.<u43>",
        "SG.Internationalization of the page",
    ),
    (
        "brevo key",
        "token",
        "xkeysib- xsmtpsib-",
        r"[\w-]{64,}",
        "any",
        "brevo xkeysib-<h64>-<a16>",
        "xkeysib- is how keys of Brevo begin",
    ),
    (
        "npm token",
        "token",
        "npm_",
        rf"{_ALNUM}{{36}}",
        "any",
        "publish with npm_<a36>",
        "npm_config_registry points at the mirror",
    ),
    (
        "pypi token",
        "token",
        "pypi-AgE pypi-AgENd",
        r"[\w-]{50,}",
        "any",
        "twine upload -u __token__ -p pypi-AgEIcHlwaS5vcmc<u150>",
        "pypi-AgE is how tokens of PyPI begin",
    ),
    (
        "rubygems key",
        "token",
        "rubygems_",
        rf"{_HEX}{{48}}",
        "any",
        "gem push with rubygems_<h48>",
        "rubygems_mfa_required is set",
    ),
    (
        "crates token",
        "token",
        "cio",
        rf"{_ALNUM}{{32}}(?!\w)",
        "digit",
        "cargo login cio<a31>7",
        "cioppino is a stew",
    ),
    (
        "nuget key",
        "token",
        "oy2",
        r"[a-z0-9]{43}(?!\w)",
        "digit",
        "nuget push with oy2<l43>",
        "oy2 is the office",
    ),
    (
        "docker token",
        "token",
        "dckr_pat_ dckr_oat_",
        r"[\w-]{24,}",
        "any",
        "docker hub dckr_pat_<u27>",
        "dckr_pat_ is how tokens of Docker begin",
    ),
    (
        "digitalocean token",
        "token",
        "dop_v1_ doo_v1_ dor_v1_",
        rf"{_HEX}{{64}}",
        "any",
        "doctl auth init -t dop_v1_<h64>",
        "dop_v1_ is how tokens of DigitalOcean begin",
    ),
    (
        "heroku key",
        "token",
        "HRKU-",
        r"[\w-]{30,}",
        "any",
        "heroku HRKU-AA<u58>",
        "HRKU- is how keys of Heroku begin",
    ),
    (
        "netlify token",
        "token",
        "nfp_ nfo_ nfc_ nfb_ nfu_",
        rf"{_ALNUM}{{32,}}",
        "any",
        "netlify deploys with nfp_<a36>",
        "nfp_ is how tokens of Netlify begin",
    ),
    (
        "vercel token",
        "token",
        "vcp_ vci_ vca_ vcr_ vck_ vercel_blob_rw_",
        r"\w{24,}",
        "any",
        "vercel deploys with vcp_<a56>",
        "vcp_ is how tokens of Vercel begin",
    ),
    (
        "cloudflare token",
        "token",
        "cfut_ cfat_ cfk_",
        r"[\w-]{30,}",
        "any",
        "dns is set with cfut_<a40>",
        "cfut_ is how tokens of users begin",
    ),
    (
        "cloudflare key",
        "token",
        "v1.0-",
        rf"{_HEX}{{24}}-{_HEX}{{146}}",
        "any",
        "origin ca v1.0-<h24>-<h146>",
        "v1.0-beta of the release",
    ),
    (
        "fly token",
        "token",
        "fm1a_ fm1r_ fm2_ fo1_",
        r"[\w+/=,-]{40,}",
        "any",
        'FLY="FlyV1 fm2_<b120>"',
        "fm2_ is how tokens of Fly begin",
    ),
    (
        "supabase token",
        "token",
        "sbp_ sb_secret_",
        r"[\w-]{24,}",
        "any",
        "supabase login with sbp_<h40>",
        "sb_secret_ is how its keys begin",
    ),
    (
        "planetscale token",
        "token",
        "pscale_tkn_ pscale_pw_ pscale_oauth_",
        r"[\w.=-]{32,}",
        "any",
        "pscale uses pscale_tkn_<u43>",
        "pscale_pw_ is how its passwords begin",
    ),
    (
        "databricks token",
        "token",
        "dapi dose dkea",
        rf"{_HEX}{{32}}(?:-\d)?(?!\w)",
        "digit",
        "databricks dapi<h32>",
        "dapi is a dashboard",
    ),
    (
        "shopify token",
        "token",
        "shpat_ shpca_ shppa_ shpss_ shptka_ shpua_ shprt_ s-s4t2ud- s-s4t2af-",
        rf"{_ALNUM}{{32,}}",
        "any",
        "shop admin shpat_<h32>",
        "shpat_ is how tokens of shops begin",
    ),
    (
        "square token",
        "token",
        "sq0atp- sq0csp- sq0idp- sq0i sandbox-sq0idb- sandbox-sq0csb- EAAA",
        r"[\w-]{22,}",
        "digit",
        "Square sq0atp-<u22>",
        "sq0atp- is how tokens of Square begin",
    ),
    (
        "paypal token",
        "token",
        "access_token$production$ access_token$sandbox$ A21AA",
        r"[\w$-]{40,}",
        "digit",
        "braintree access_token$production$<l16>$<h32>",
        "access_token$production$ is Braintree's",
    ),
    (
        "payment key",
        "token",
        "rzp_live_ rzp_test_ FLWSECK_TEST- FLWSECK- FLWPUBK_TEST- duffel_live_ duffel_test_"
        " shippo_live_ shippo_test_ live_pub_ test_pub_ SHAREDKEY_ adyen_",
        r"[\w-]{14,}",
        "digit",
        "razorpay rzp_live_<a13>7",
        "rzp_live_ keys come later",
    ),
    (
        "linear key",
        "token",
        "lin_api_ lin_oauth_",
        rf"{_ALNUM}{{32,}}",
        "any",
        "linear tickets via lin_api_<a40>",
        "lin_api_ is how keys of Linear begin",
    ),
    (
        "notion token",
        "token",
        "ntn_ secret_",
        rf"{_ALNUM}{{40,}}",
        "digit",
        "notion integration ntn_<a46>",
        "secret_santa_list is in the drive",
    ),
    (
        "airtable token",
        "token",
        "pat",
        rf"{_ALNUM}{{14}}\.{_HEX}{{64}}",
        "any",
        "airtable pat<a14>.<h64>",
        "pattern.match and path.join",
    ),
    (
        "hubspot token",
        "token",
        "pat-na1- pat-na2- pat-eu1- pat-ap1-",
        r"[0-9a-fA-F-]{36}",
        "any",
        "hubspot pat-na1-<h8>-<h4>-<h4>-<h4>-<h12>",
        "pat-na1- is the region",
    ),
    (
        "figma token",
        "token",
        "figd_ figo_ figu_",
        r"[\w-]{32,}",
        "any",
        "figma plugin uses figd_<u40>",
        "figd_ is how tokens of Figma begin",
    ),
    (
        "postman key",
        "token",
        "PMAK- PMAT-",
        r"[\w-]{26,}",
        "any",
        "postman PMAK-<h24>-<h34>",
        "PMAK- is how keys of Postman begin",
    ),
    (
        "doppler token",
        "token",
        "dp.pt. dp.st. dp.sa. dp.ct. dp.scim. dp.audit. dp.said.",
        r"[\w.-]{40,}",
        "any",
        "doppler dp.pt.<a43>",
        "dp.pt. is how tokens of Doppler begin",
    ),
    (
        "vault token",
        "token",
        "hvs. hvb. hvr. s. b.",
        r"(?:[\w-]{90,}|[A-Za-z0-9]{24}(?![\w.]))",
        "digit",
        "hashicorp hvs.<u95>",
        "e.g. b.Internationalization",
    ),
    (
        "grafana token",
        "token",
        "glsa_ glc_",
        r"[\w+/=]{32,}",
        "any",
        "grafana sa glsa_<a32>_<h8>",
        "glsa_ is how tokens of Grafana begin",
    ),
    (
        "new relic key",
        "token",
        "NRAK- NRJS- NRAA- NRII- NRIQ- NRRA- NRBR-",
        r"[\w-]{19,}",
        "any",
        "newrelic NRAK-<X27>",
        "NRAK- is how keys of users begin",
    ),
    (
        "sentry token",
        "token",
        "sntrys_ sntryu_ sntryi_",
        r"[\w+/=-]{40,}",
        "any",
        "sentry-cli uses sntrys_<u120>",
        "sntrys_ is how tokens of Sentry begin",
    ),
    (
        "atlassian token",
        "token",
        "ATATT3 ATCTT3 ATBB ATTA",
        r"[\w=-]{24,}",
        "digit",
        "jira ATATT3xFfGF0<u180>",
        "ATTACHMENTS_ARE_TOO_LARGE_TO_SEND",
    ),
    (
        "pulumi token",
        "token",
        "pul-",
        rf"{_HEX}{{40}}",
        "any",
        "pulumi pul-<h40>",
        "pul-quickstart is the stack",
    ),
    (
        "tailscale key",
        "token",
        "tskey-",
        r"[\w-]{20,}",
        "any",
        "tailscale up with tskey-auth-<a40>",
        "tskey- is how keys of Tailscale begin",
    ),
    (
        "ci token",
        "token",
        "CCIPAT_ CCIPRJ_ bkua_ bkpt_ API-",
        r"(?:\w{36,}|[A-Z0-9]{25,31}(?!\w))",
        "digit",
        "circle CCIPAT_<a60>",
        "API-DOCUMENTATION-OF-THE-SERVICE",
    ),
    (
        "contentful token",
        "token",
        "CFPAT-",
        r"[\w-]{40,}",
        "any",
        "contentful CFPAT-<u43>",
        "CFPAT- is how tokens of Contentful begin",
    ),
    (
        "alibaba key",
        "token",
        "LTAI",
        rf"{_ALNUM}{{12,24}}(?!\w)",
        "digit",
        "aliyun id LTAI<a19>4",
        "LTAI is a conference",
    ),
    (
        "tencent key",
        "token",
        "AKID",
        rf"{_ALNUM}{{32,}}",
        "digit",
        "cos uses AKID<a32>",
        "AKID is how ids begin",
    ),
    (
        "yandex key",
        "token",
        "AQVN YCAJE YC t1.",
        r"(?:[\w-]{36}(?![\w-])|[A-Z0-9a-z_-]{1,400}={0,2}\.[A-Za-z0-9_-]{86}=*)",
        "drawn",
        "yandex AQVN<a36>",
        "YC is the CLI",
    ),
    (
        "yandex token",
        "token",
        "y0_ y1_ y2_ y3_",
        r"[\w-]{50,}",
        "digit",
        "disk uses y0_<u56>",
        "y0_scaled and y1_scaled",
    ),
    (
        "1password token",
        "token",
        "ops_eyJ",
        r"[\w+/=-]{100,}",
        "any",
        "service account ops_eyJ<a250>",
        "ops_eyJ is how its tokens begin",
    ),
    (
        "1password key",
        "token",
        "A3-",
        r"[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-?){2,6}",
        "digit",
        "emergency kit: A3-<X6>-<X6>-<X5>-<X5>-<X5>-<X5>",
        "A3-PRINTER-DRIVER",
    ),
    (
        "dropbox token",
        "token",
        "sl.",
        r"[\w.=-]{100,}",
        "any",
        "dropbox sl.B<u135>",
        "sl.wikipedia.org",
    ),
    (
        "facebook token",
        "token",
        "EAA IGQ",
        rf"{_ALNUM}{{80,}}",
        "any",
        "page EAACEdEose0cBA<a120>",
        "EAA is an agreement",
    ),
    (
        "sonar token",
        "token",
        "squ_ sqp_ sqa_",
        rf"{_HEX}{{40}}",
        "any",
        "scanner logs in with squ_<h40>",
        "squ_ is how tokens of users begin",
    ),
    (
        "mapbox token",
        "token",
        "sk.eyJ pk.eyJ tk.eyJ",
        r"[\w-]{30,999}\.[\w-]{20,}",
        "any",
        "mapbox sk.eyJ1Ijoi<u60>.<u22>",
        "pk.eyJ is the public one",
    ),
    (
        "plaid token",
        "token",
        "access-production- access-sandbox- access-development-",
        r"[0-9a-f-]{36}",
        "any",
        "plaid item access-production-<h8>-<h4>-<h4>-<h4>-<h12>",
        "access-production-database is closed",
    ),
    (
        "posthog key",
        "token",
        "phx_ phs_",
        rf"{_ALNUM}{{32,}}",
        "any",
        "posthog phx_<a43>",
        "phx_airport is the stop",
    ),
    (
        "resend key",
        "token",
        "re_",
        rf"{_ALNUM}{{8}}_{_ALNUM}{{20,}}",
        "digit",
        "resend re_<a8>_<a24>",
        "re_compiled_patterns_of_the_module",
    ),
    (
        "dynatrace token",
        "token",
        "dt0c01. dt0s01. dt0s08. dt0s16.",
        r"[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}",
        "any",
        "dynatrace dt0c01.<X24>.<X64>",
        "dt0c01. begins its tokens",
    ),
    (
        "artifactory token",
        "token",
        "AKCp cmVmdGtu reftkn:",
        r"[\w:-]{40,}",
        "any",
        "artifactory AKCp<a69>",
        "AKCp is how its keys begin",
    ),
    (
        "launchdarkly key",
        "token",
        "sdk- api- mob- rel-",
        r"[0-9a-z]{8}-(?:[0-9a-z]{4}-){3}[0-9a-z]{12}(?!\w)",
        "digit",
        "flags come with sdk-<h8>-<h4>-<h4>-<h4>-<h12>",
        "api-gateway and sdk-generator",
    ),
    (
        "api token",
        "token",
        "aio_ clojars_ CLOJARS_ dnkey- fio-u- fio-p- pnu_ rdme_ tk-us- shippo_ lob_ ghost_ syt_"
        " oauth:",
        r"[\w-]{24,}",
        "drawn",
        "feeds use aio_<a28>",
        "oauth:authorization_code_with_pkce",
    ),
    (
        "openshift token",
        "token",
        "sha256~",
        r"[\w-]{43}(?![\w-])",
        "any",
        "oc login with sha256~<u43>",
        "sha256~ begins its tokens",
    ),
    (
        "salesforce token",
        "token",
        "00D",
        rf"{_ALNUM}{{12,15}}![\w.]{{80,}}",
        "any",
        "sf 00D<a12>!<a96>",
        "00D is an org",
    ),
    (
        "zoho token",
        "token",
        "1000.",
        rf"{_HEX}{{32}}\.{_HEX}{{32}}",
        "any",
        "zoho 1000.<h32>.<h32>",
        "1000.00 EUR",
    ),
    (
        "clickup token",
        "token",
        "pk_",
        r"\d{6,10}_[A-Z0-9]{32}(?!\w)",
        "any",
        "clickup pk_<d8>_<X32>",
        "pk_live_ keys are public",
    ),
    (
        "telnyx key",
        "token",
        "KEY0",
        r"[0-9A-Za-z]{28,99}_\w{22,}",
        "any",
        "telnyx KEY0<X30>_<a22>",
        "KEY0 is the first",
    ),
    (
        "jwt",
        "token",
        "eyJ ey",
        r"[\w-]{8,999}\.ey[\w-]{8,8000}\.[\w-]{10,}",
        "any",
        "localStorage has eyJ<u34>.eyJ<u50>.<u43>",
        "eyJ is how base64 of a brace begins",
    ),
    (
        "jwe",
        "token",
        "eyJ",
        r"[\w-]{8,999}(?:\.[\w-]{8,8000}){4}",
        "digit",
        "wrapped eyJ<u34>.<u60>.<u16>.<u60>.<u22>",
        "eyJ.eyJ",
    ),
    (
        "age key",
        "token",
        "AGE-SECRET-KEY-1",
        r"[A-Z0-9]{58}",
        "any",
        "sops decrypts with AGE-SECRET-KEY-1<X58>",
        "AGE-SECRET-KEY-1 begins them",
    ),
    (
        "private key",
        "token",
        "----",
        r"-? ?BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)? ?-{3,5}"
        r"(?=[^-]{0,400}?[A-Za-z0-9+/]{24})"
        r"(?:(?!-{4,5} ?END )[\s\S])*(?:-{4,5} ?END [A-Z0-9 ]{1,40}-{3,5})?",
        "always",
        "-----BEGIN RSA PRIVATE KEY-----\n<b64>\n<b64>\n-----END RSA PRIVATE KEY-----",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKC",
    ),
    (
        "private key",
        "token",
        "PuTTY-User-Key-File-",
        r"[\s\S]{0,8000}?Private-Lines: \d{1,4}\s"
        r"(?:(?!Private-MAC: )[\s\S])*(?:Private-MAC: \w+)?",
        "always",
        "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n<b64>\nPrivate-MAC: <h40>",
        "PuTTY-User-Key-File-3 is the format",
    ),
)

_SHAPES: tuple[Row, ...] = (
    (
        "slack webhook",
        "shape",
        "slack.com",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/+-]{20,})",
        "any",
        "alerts: https://hooks.slack.com/services/T<X8>/B<X10>/<a24>",
        "https://hooks.slack.com/services/ is where they go",
    ),
    (
        "discord webhook",
        "shape",
        "/webhooks/",
        r"/api/(?:v\d{1,9}/)?webhooks/\d{1,40}/([\w-]{40,})",
        "any",
        "https://discord.com/api/webhooks/<d18>/<u68>",
        "https://discord.com/api/webhooks/ is documented",
    ),
    (
        "teams webhook",
        "shape",
        "webhook.office.com|webhookb2",
        r"/(?:webhookb2|IncomingWebhook)/(\S{60,})",
        "any",
        "https://acme.webhook.office.com/webhookb2/<h32>@<h36>/IncomingWebhook/<h32>/<h36>",
        "https://acme.webhook.office.com/webhookb2/ takes messages",
    ),
    (
        "chat webhook",
        "shape",
        "access_token=|token=|open-apis/bot|hooks.zapier.com|/webhook/",
        r"(?:[?&](?:access_token|token)=|open-apis/bot/v2/hook/|hooks\.zapier\.com/hooks/catch/"
        r"|/webhook/)([\w%/-]{15,})",
        "drawn",
        "https://oapi.example.com/robot/send?access_token=<h64>",
        "https://example.com/?access_token=TOKEN",
    ),
    (
        "telegram token",
        "shape",
        ":a",
        r"(?<!\d)\d{6,12}:A[\w-]{33,34}(?![\w-])",
        "digit",
        "the reminder bot is <d10>:AA<u33>",
        "12345:A4 paper",
    ),
    (
        "discord token",
        "blob",
        ".",
        r"(?<![\w-])[MNO][\w-]{22,27}\.[\w-]{6}\.[\w-]{27,45}(?![\w-])",
        "digit",
        "discord bot MT<a24>.G<a5>.<u38>",
        "Microsoft.Extensions.DependencyInjection",
    ),
    (
        "discord token",
        "shape",
        "mfa.",
        r"(?<![\w-])mfa\.[\w-]{80,}",
        "any",
        "old discord mfa.<u84>",
        "mfa.example.com",
    ),
    (
        "azure key",
        "shape",
        "key=",
        r"(?:AccountKey|SharedAccessKey|SharedSecret)=([A-Za-z0-9+/]{40,400}={0,2})",
        "any",
        "AccountName=blobs;AccountKey=<b86>==;EndpointSuffix=x",
        "AccountKey=<key>",
    ),
    (
        "azure signature",
        "shape",
        "sig=",
        r"[?&]sig=([\w%+/-]{40,400}={0,2})",
        "any",
        "https://blobs.example.net/x?sv=2024-11-04&sr=b&sp=r&sig=<a43>%3D",
        "https://example.com/?sig=short",
    ),
    (
        "azure secret",
        "shape",
        "q~",
        r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,34}",
        "any",
        "the app registration has <a3>8Q~<a34>",
        "8Q~ is the mark",
    ),
    (
        "azure key",
        "shape",
        "azcs|azfu|azse|acdb|+ast|+asb|+aeh|+aih|+acr|+arm|azdo|aaaaaoai",
        r"(?<![\w+/])[A-Za-z0-9+/]{33,76}(?:AzCs|AzFu|AzSe|ACDb|\+ASt|\+ASb|\+AEh|\+AIh|\+ACR|\+ARm"
        r"|AZDO|ACOG)[A-Za-z0-9+/]{4,12}={0,2}(?![\w+/])",
        "digit",
        "devops <a76>AZDO<a4>",
        "AzFunctionsAreNamedByTheirProjects",
    ),
    (
        "mailchimp key",
        "shape",
        "-us",
        rf"(?<!\w){_HEX}{{32}}-us\d{{1,2}}(?!\w)",
        "any",
        "mailchimp <h32>-us14",
        "keyboard-us2",
    ),
    (
        "terraform token",
        "shape",
        ".atlasv1.",
        r"\w{14}\.atlasv1\.[\w-]{60,}",
        "any",
        "tfc <a14>.atlasv1.<a67>",
        "x.atlasv1.y",
    ),
    (
        "aws secret key",
        "shape",
        "aws|amazon|secret|s3|akia|iam",
        r"(?<![\w/+.-])(?!(?:\w{0,40}/){4})[A-Za-z0-9/+]{40}(?![\w/+=.-])",
        "mixed",
        "the aws half is <b38>7a",
        "the aws region eu-central-1 of wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ),
    (
        "bitlocker key",
        "blob",
        "-",
        r"(?<![\d-])(?:\d{6}-){7}\d{6}(?![\d-])",
        "always",
        "bitlocker <d6>-<d6>-<d6>-<d6>-<d6>-<d6>-<d6>-<d6>",
        "202611-202612",
    ),
    (
        "one-time seed",
        "shape",
        "otpauth:",
        r"otpauth://\S{0,200}?[?&]secret=([A-Za-z2-7]{16,})",
        "any",
        "otpauth://totp/Acme:bob?secret=<U32>&issuer=Acme",
        "otpauth://totp/ is the scheme",
    ),
    (
        "password",
        "shape",
        "://&@",
        r"(?<![\w+.-])[A-Za-z][A-Za-z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,80}:([^\s/\"'<>]{1,200})@(?=[\w\[$])",
        "login",
        "clone https://anna:Walrus-19@git.example.org/x.git",
        "postgres://user:password@localhost/db and https://example.com:8080/@anna",
    ),
    (
        "token",
        "shape",
        "://&@",
        r"(?<![\w+.-])https?://([A-Za-z0-9_-]{24,400})@[\w.-]+",
        "drawn",
        "git clone https://<a40>@git.example.org/x.git",
        "https://internationalization-of-things@example.com/",
    ),
    (
        "password",
        "shape",
        ":5432:|:5433:|:6432:|:*:",
        r"(?<!\S)[\w.*-]{1,80}:(?:\d{4,5}|\*):[\w*-]{1,80}:[\w*-]{1,80}:(\S{4,})",
        "any",
        "db.internal:5432:shop:app:Tr0mbone",
        "12:30:45:00:0123",
    ),
    (
        "password hash",
        "shape",
        "$1$|$5$|$6$|$7$|$y$|$2a$|$2b$|$2x$|$2y$|$apr1$|$argon2",
        r"(?<![\w$])\$(?:apr1|1|5|6|y|2[abxy]|argon2id?|7)\$[\w./$=,+-]{20,}",
        "always",
        "root:$6$<a8>$<a86>",
        "$1 and $2 are the groups",
    ),
    (
        "password",
        "shape",
        "wifi:",
        r"WIFI:\S{0,80}?P:([^;\s]{1,80});",
        "any",
        "WIFI:S:attic;T:WPA;P:pinecone88;;",
        "WIFI: works again",
    ),
    (
        "bitcoin key",
        "blob",
        "",
        r"(?<!\w)(?:[5KL9c][1-9A-HJ-NP-Za-km-z]{50,51}|xprv[1-9A-HJ-NP-Za-km-z]{107})(?!\w)",
        "base58",
        "",
        "KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoWm",
    ),
    (
        "iban",
        "number",
        "",
        r"(?P<cue>)(?<![^\W_])(?P<bare>[A-Z]{2}\d\d(?:[ -]?[A-Z0-9]{4}){2,7}"
        r"(?:[ -]?[A-Z0-9]{1,3})?)(?![^\W_])",
        "iban",
        "rent goes to DE89 3704 0044 0532 0130 00 monthly",
        "order DE12 3456 7890 1234 5678 90 was sent",
    ),
    (
        "card number",
        "number",
        "",
        r"(?P<cue>)(?<![\w.+-])(?P<bare>(?:(?:4\d|5[1-5]|2[2-7]|6[045])\d{2}([ -]?)\d{4}\3\d{4}\3"
        r"\d{4}|3[4-7]\d{2}([ -]?)\d{6}\4\d{4,5}))(?![\w-]|\.\d)",
        "card",
        "my visa is 4111 1111 1111 1111",
        "4111 1111 1111 1112 is a number",
    ),
)

_SAID: tuple[Row, ...] = (
    (
        "password",
        "said",
        "pass|pw|psk|mdp|kennwort|losungs|zugangscode|contrase|clave|senha|wachtw|adgangs|kodeord|"
        "heslo|parola|salasana|kata s|master key|fi key|wpa|work key|lan key|lozinka|geslo|lösen|"
        "jelsz|schlüssel|hasło|şifre|mật kh|wifi|wi-fi",
        rf"(?P<cue>(?P<english>{_ENGLISH})|{_ABROAD})(?:s|_?\d{{1,2}})?(?!\w|-\w)(?:\s(?:{_CURRENT})\b)?{_CLOSE}"
        rf"(?:{_GAP}(?:(?P<tight>{_TIGHT})|{_VERB})|(?P<comma>\s{{0,40}},\s{{0,40}}(?=[\"']))"
        rf"|{_GAP}(?P<maybe>\s(?:{_MAY_BE})\s{{1,40}})"
        rf"|(?:\s?\([^()\n]{{1,30}}\))?(?P<loose>\s{{1,40}}(?:to\s{{1,40}})?\(?)){_VALUE}",
        "password",
        "my laptop password is swordfish",
        "the password is required and stored in 1Password",
    ),
    (
        "password",
        "said",
        "password|passphrase|passcode",
        rf"(?P<cue>(?<!\S)[\"'`]?){_BARE}"
        r"(?=[\"'`]?\s(?:is|as)\s(?:\w{1,40}\s){0,3}pass(?:word|phrase|code)\b)",
        "chosen",
        "tulip99 is my password",
        "what is the password?",
    ),
    (
        "password",
        "said",
        "passwort|mot de passe|contraseña|senha| è &password| come &password",
        rf"(?P<cue>(?<!\S)[\"'`]?){_BARE}"
        r"(?=[\"'`]?\s(?:ist|est|es|é|è|als|comme|como|come)\s(?:\w{1,40}\s){0,3}"
        r"(?:passwort|mot de passe|contraseña|senha|password)\b)",
        "chosen",
        "Sommer24 ist das Passwort",
        "das ist mein Passwort",
    ),
    (
        "password",
        "said",
        ";pwd|; pwd|;password|; password",
        r"(?P<cue>;\s{0,40}(?:pwd|password)\s{0,40}=\s{0,40})(?P<bare>[^;\"'\n]{1,80})(?=;|$|[\"'])",
        "login",
        "Server=tcp:x;User ID=sa;Password=Plum Tree;",
        "Server=x;Password=${PASSWORD};",
    ),
    (
        "password",
        "said",
        "user&pass|user&pw|login&pass|login&pw|account&pass|benutzer&pass|benutzer&kennw|"
        "usuario&contra|usuário&senha|utente&pass|utilisateur&passe|log in&pass|sign in&pass|"
        "logged in&pass|signed in&pass|melde dich&pass|anmelden&pass|connecte-toi&passe|"
        "entra con&contrase|entra com&senha|entra con&pass|entre com&senha|accedi con&pass",
        rf"(?P<cue>\b(?:{_LOG_IN})\b[\s:=]{{1,40}}(?:(?:is|ist|es|est)\s)?"
        r"(?!(?:and|or|the|und|with)\b)[\w.@+-]{2,64}[,;]?\s{1,40}(?:(?:and|with|und|y|e|et)\s)?"
        r"(?:(?:the|my|das|dem|le|la|a)\s)?"
        rf"(?:pass|pw|{_NOUN})(?:\sis|:)?\s{{1,40}}){_WORD}(?:{ENDS}|(?=\san\b))",
        "worded",
        "user bob password letmein",
        "the user must type the password again",
    ),
    (
        "password",
        "said",
        "pass|pw|mdp|contrase|clave|senha",
        rf"(?P<cue>\b(?:{_SET})\s"
        rf"(?:(?!(?:an?|your|any)\s(?!(?:nova )?senha))[\w'’-]{{1,30}}\s){{0,4}}?"
        rf"(?:\w{{1,20}}-)?(?:{_NOUN})"
        rf"(?:\s(?:root|admin|{_OF})(?:\s[^\s.;:,]{{1,30}}){{0,4}}?)?\s(?:to|à|a|para)\s[\"'`]?)"
        rf"{_WORD}(?:{ENDS}|(?=\s(?:on|for|at|today|yesterday)\b))",
        "given",
        "I set the root password to blueberry",
        "I set the password to something long and changed the other to expire",
    ),
    (
        "password",
        "said",
        "passwort& auf |kennwort& auf ",
        rf"(?P<cue>(?:passwort|kennwort)(?:\s(?:{_OF})(?:\s[^\s.;:,]{{1,30}}){{1,3}}?)?"
        rf"(?:\swurde)?(?:\s(?:{_NOW}|gestern))?\sauf\s[\"'`„]?){_WORD}"
        r"(?=[\"'`“]?\s(?:gesetzt|geändert|gestellt|umgestellt|festgelegt)\b)",
        "given",
        "Das Passwort wurde auf Leuchtturm geändert",
        "Ich habe das Passwort auf der Seite geändert",
    ),
    (
        "password",
        "said",
        "wifi&key|wi-fi&key|wlan&schlüssel|wi-fi&clé|wifi&clé|wifi&clave|wifi&chave|wifi&chiave",
        r"(?P<cue>\b(?:wi-?fi|wlan)\b[^\n.;]{1,60}?\b(?:key|schlüssel|clé|clave|chave|chiave))"
        rf"{_LINK}{_BARE}",
        "chosen",
        "Wifi: HomeNet, key: MyDogRex2020",
        "the wifi is down and the key is under the mat",
    ),
    (
        "password",
        "said",
        "root:",
        rf"(?P<cue>(?<![\w:/.@-])root:)(?P<bare>[^\s:/,;\"'<>()]{{3,64}}){ENDS}",
        "root",
        "ssh works with root:toor",
        "chown root:wheel and root:x:0:0:root",
    ),
    (
        "password",
        "said",
        "log in|sign in|logged in|signed in",
        r"(?P<cue>\b(?:log|sign|logged|signed) in (?:as|with)\s[\w.@+-]{2,64}\s(?:and|with|/)\s)"
        rf"{_BARE}",
        "pair",
        "sign in with jo@example.org and Kestrel#5",
        "sign in with jo@example.org and your password",
    ),
    (
        "licence key",
        "said",
        "licence key|license key|product key|activation key|activation code|schlüssel|clé de|"
        "clave de|chave de|chiave di|codice di",
        rf"(?P<cue>\b(?:{_LICENCE})){_ANY_LINK}"
        r"(?P<bare>(?-i:[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){2,7}))(?![\w-])",
        "any",
        "licence key ABCD-EFGH-1234-5678",
        "license key XXXX-XXXX-XXXX-XXXX",
    ),
    (
        "passphrase",
        "said",
        "passphrase|password|passwort|phrase de passe",
        rf"(?P<cue>pass[ -]?phrase|password|passwort|phrase de passe){_LINK}"
        r"(?P<bare>[a-zà-ÿ]{1,40}(?:[ -][a-zà-ÿ]{1,40}){2,9})"
        rf"{ENDS}",
        "phrase",
        "passphrase = correct horse battery staple",
        "the passphrase is known to all of us",
    ),
    (
        "password",
        "said",
        _OTHER_SCRIPTS,
        rf"(?P<cue>{_OTHER_SCRIPTS})[^\n!-~.。，、]{{0,24}}[:=]?\s{{0,40}}(?P<bare>[!-~]{{4,4000}})",
        "chosen",
        "我的密码是panda8888",
        "我忘记了密码 GitHub",
    ),
    (
        "password",
        "said",
        "login|credential|creds|auth|username|user:|account:|wifi:|wi-fi:|@|zugangsdaten|anmeldung|anmeldedaten|"
        "identifiants|credenc|credenz",
        rf"(?P<cue>\b(?:logins?|credentials?|creds|auth|account|user(?:name)?|wi-?fi|{_CREDENTIALS})\b{_LINK}"
        r"\S{1,64}?\s{0,40}[/:|]|\b(?:login|creds|credentials|auth)\s[\w.@-]{1,64}:(?=\S)"
        r"|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}\.[\w.]{1,64}(?:\s{1,40}[/|]|\s{0,40}:))"
        rf"\s{{0,40}}{_BARE}",
        "pair",
        "login: admin / Cobble$tone3",
        "login: see docs/auth.md",
    ),
    (
        "password",
        "said",
        "login",
        r"(?P<cue>\b(?:login|creds|credentials)(?:\sis|\sare|:)\s{1,40}[\w.@-]{2,40}\s/\s)"
        r"(?P<bare>[^\s,;\"'<>()/]{4,64})"
        rf"{ENDS}",
        "worded",
        "login is bob / letmein",
        "login is yes / no",
    ),
    (
        "password",
        "said",
        "machine ",
        r"(?P<cue>\bmachine\s\S{1,200}\s{1,40}login\s\S{1,200}\s{1,40}password\s)(?P<bare>\S{1,200})",
        "login",
        "machine example.com login anna password plumtree",
        "a washing machine with a login screen",
    ),
    (
        "password",
        "said",
        "curl |mysql|docker login|redis-cli|sshpass|net use|pass:|--password|psql|ldapsearch",
        r"(?P<cue>\bcurl\b.{0,80}?\s(?:-u|--user)[= ]?[\"']?[^\s:\"']{1,64}:|"
        r"\bsshpass\s{1,40}-p\s{0,40}|"
        r"\bmysql.{0,60}?\s-p(?=\S)|\bdocker login\b.{0,60}?\s-p\s{1,40}|"
        r"\bredis-cli\b.{0,40}?\s-a\s{1,40}|"
        r"\bldapsearch\b.{0,80}?\s-w\s{1,40}|\s--(?:password|passwd|pass)[= ]|"
        rf"\s-pass(?:in|out)?\s{{1,40}}pass:|\bnet use\b.{{0,60}}?/user:\S{{1,200}}\s){_VALUE}",
        "typed",
        "curl -u anna:Walrus19 https://example.com",
        "curl -u user:password https://example.com",
    ),
    (
        "seed phrase",
        "said",
        "phrase|mnemonic|seed|backup words",
        rf"(?P<cue>(?:phrase|mnemonic|seed|words)\b{_ANY_LINK})[\"'`]?"
        r"(?P<bare>(?:(?:\d\d?[.)]?\s{0,40})?(?!and\b)[a-z]{3,8}"
        r"(?:[ \t,]{1,40}|\s{0,40}\n(?=\d))){11,23}"
        r"(?:\d\d?[.)]?\s{0,40})?(?!and\b)[a-z]{3,8})\b",
        "phrase",
        "my seed phrase: orbit lemon candle river muscle panda velvet harbor traffic onion ladder"
        " copper",
        "the phrase is what we say when we talk about the many things that all of us know",
    ),
    (
        "recovery code",
        "said",
        "recovery code|backup code|wiederherstellungscode",
        rf"(?P<cue>(?:recovery|backup) codes?|wiederherstellungscodes?){_ANY_LINK}"
        r"(?P<bare>[a-z0-9]{4,40}-?[a-z0-9]{4,40}(?:[\s,]{1,40}[a-z0-9]{4,40}-?[a-z0-9]{4,40}){0,40})\b",
        "sent",
        "GitHub recovery codes: a1b2c-3d4e5 f6a7b-8c9d0",
        "recovery codes are printed and kept at home",
    ),
    (
        "security answer",
        "said",
        "security question|sicherheitsfrage",
        r"(?P<cue>\banswer to (?:my|the|our) security question is\s)(?P<bare>\w{3,40})"
        rf"{ENDS}",
        "worded",
        "the answer to my security question is Fluffy",
        "the answer to my security question is wrong",
    ),
    (
        "key",
        "env",
        "_KEY|_APIKEY|_TOKEN|_SECRET|_CREDENTIAL|_AUTH|_PASS|_PWD|_PSK|_PAT",
        r"(?P<cue>(?<![A-Za-z0-9])(?-i:[A-Z][A-Z0-9]{0,40}_)(?P<kind>(?-i:(?:[A-Z0-9]{1,40}_){0,6}?))"
        r"(?-i:API_?KEY|KEY|TOKEN|SECRET|CREDENTIALS?|AUTH|PASS|PASSWD|PWD|PSK|PAT)(?-i:_\d{1,9})?)"
        rf"(?!\w|-\w){_CLOSE}{_TIGHT}{_VALUE}",
        "setting",
        "CF_API_TOKEN=abc9f2 for the zone",
        "SORT_KEY=name CACHE_KEY=users:list API_TOKEN=$TOKEN",
    ),
    (
        "key",
        "said",
        "api_key|apikey|api-key|_secret|-secret|secret_|secret-|\"secret|'secret|secret:|secret=|"
        "secret =|api_token|access_token|accesstoken|access-token|access_key|accesskey|access-key|"
        "auth_token|authtoken|auth-token|auth_key|authkey|secretkey|clientsecret|appsecret|"
        "private_key|privatekey|refresh_token|refreshtoken|bearer_token|webhook_secret",
        r"(?P<cue>(?<![a-z0-9])(?:[a-z]{1,40}[_-]?)?(?P<kind>api|client|access|auth|secret|app|private|"
        r"refresh|bearer|webhook)[_-]?(?:access[_-]?)?(?:key|secret|token)|(?<![a-z0-9_-])secret)"
        rf"(?!\w|-\w){_CLOSE}{_TIGHT}{_VALUE}",
        "setting",
        '{"api_key": "correct-horse"}',
        '{"api_key": "OPENAI_API_KEY", "secret": "string"}',
    ),
)

_LONG: tuple[Row, ...] = (
    (
        "key",
        "said",
        "key|token|secret|credential|auth",
        r"(?P<cue>(?<![a-z0-9])(?P<kind>[a-z0-9]{0,30}?)[\s_.-]?"
        r"(?:key|token|secret|credential|auth)(?:s|\d{1,2})?(?:_base|[_-]?(?:id|value|base64|b64))?)"
        rf"(?!\w|-\w){_CLOSE}(?:{_LINK}|>\s{{0,40}}|\s{{0,40}},\s{{0,40}}\\?(?=[\"'])|\s{{1,40}}){_VALUE}",
        "key",
        "here's my token: <a20>4x7z",
        "cache key: 5f2b8c1d9e3a7064b1c2d3e4f5061728",
    ),
    (
        "key",
        "long",
        "key>|token>|secret>|password>",
        r"(?P<cue>(?P<kind>)(?:key|token|secret|password)>\s{0,40}\{?(?:[\w.-]{1,40}\s){0,3})"
        r"(?P<bare>[^\s<>{}\"']{12,2000})(?=\}?\s{0,40}<)",
        "tight key",
        "<secret>{hub AQAAABAAA <a28>8t}</secret>",
        "<key>internationalization</key>",
    ),
    (
        "provider key",
        "long",
        _PROVIDERS,
        rf"(?P<cue>(?<![a-z0-9])(?:{_PROVIDERS})"
        r"(?![a-z]{0,40}_?(?:sha|commit|hash|digest))[\w .-]{0,24})"
        rf"{_CLOSE}{_TIGHT}{_VALUE}",
        "provider",
        'datadog = "<h32>"',
        "github: 5f2b8c1 is the commit",
    ),
    (
        "drawn text",
        "long",
        "'|\"|`",
        r"(?P<cue>(?<![\w/-])[\"'`])(?P<bare>[\w+/=.~-]{20,2000})(?=[\"'`](?!\s{0,40}:))",
        "lone",
        "the fleet 'a1B2<a28>' is set",
        'integrity "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVG"',
    ),
    (
        "authorization",
        "long",
        "bearer|authorization|auth-token|x-api-key|ssws",
        r"(?P<cue>\bbearer|(?P<header>authorization|x-(?:\w{1,40}-){0,4}(?:token|key))[\"']?\s{0,40}[:=,]\s{0,40}[\"']?"
        r"(?:basic|token|bearer|apikey|ssws|key|bot)?)\s{1,40}"
        r"(?P<bare>[\w.~+/-]{8,4000}={0,2})",
        "sent",
        "call the API with Bearer <a40>9",
        "Authorization: Bearer <token> or a bearer of bad news",
    ),
    (
        "authorization",
        "said",
        "basic ",
        r"(?P<cue>\bbasic\s{1,40})(?P<bare>[A-Za-z0-9+/]{8,4000}={0,2})",
        "basic",
        "use the header Basic dXNlcjpwbHVtdHJlZQ==",
        "Basic understanding of internationalization",
    ),
    (
        "authorization",
        "long",
        "auth",
        r"(?P<cue>\b_?auth(?:Token)?[\"']?\s{0,40}[:=]\s{0,40}[\"']?)(?P<bare>[A-Za-z0-9+/]{8,4000}={0,2})",
        "basic",
        '{"auths": {"hub": {"auth": "YW5uYTpwbHVtdHJlZTE="}}}',
        '{"auth": "authentication"}',
    ),
    (
        "cookie",
        "long",
        "cookie|session",
        r"(?P<cue>(?:cookie:\s{0,40}(?:[\w.-]{1,40}=[^;\s]{1,60};\s{0,40})?[\w.-]{1,40}=|"
        r"\b_?[\w-]{0,20}session(?:id|_id|_token)?=))(?P<bare>[\w.%+/=-]{16,4000})",
        "drawn",
        "Cookie: sid=<h40>",
        "Cookie: theme=dark; lang=de",
    ),
    (
        "wireguard key",
        "long",
        "privatekey|presharedkey|private-key",
        r"(?P<cue>\b(?:private-?key|presharedkey)\s{0,40}=\s{0,40})(?P<bare>[A-Za-z0-9+/]{42,43}=?)",
        "any",
        "PrivateKey = <b43>=",
        "PrivateKey = <key>",
    ),
    (
        "private key",
        "long",
        '"kty"',
        r"(?P<cue>\"kty\".{0,2000}?\"(?:d|k)\"\s{0,40}:\s{0,40}\")(?P<bare>[\w-]{20,4000})",
        "any",
        '{"kty":"EC","crv":"P-256","d":"<u43>"}',
        '{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4"}',
    ),
)

_DIGITS: tuple[Row, ...] = (
    (
        "pin",
        "digits",
        "pin",
        rf"(?P<cue>\bpin(?: ?code|-?nummer)?\b)(?:{_LINK}|(?:(?<=(?-i:PIN))|(?<=code))\s{{1,40}})"
        r"(?P<bare>\d{4,8})(?![\w%]|[.,:-]\d)",
        "pin",
        "the PIN for the alarm is 7731",
        "The pincode for Pune is 411001",
    ),
    (
        "pin",
        "digits",
        "pin |unlock",
        rf"(?P<cue>\b(?:pin|unlocks?(?:\s\w{{1,20}}){{0,2}}\swith)\s)(?P<bare>\d{{4,8}})(?:{ENDS}|(?=\s(?:for|of|für|pour|de|para|da|do|per|della)\b))",
        "number",
        "pin 1234 for the sim",
        "pin 1024 tweets to the board",
    ),
    (
        "pin",
        "digits",
        "geheimzahl|geheimcode|code secret|codice segreto|código secreto|code pin|pincode|passcode",
        r"(?P<cue>geheimzahl|geheimcode|code secret|codice segreto|código secreto|code pin|pincode|"
        r"pass ?code)"
        rf"{_ANY_LINK}(?P<bare>\d{{4,8}})(?![\w%]|[.,:-]\d)",
        "pin",
        "passcode 246810",
        "passcode 2048 times, and die Geheimzahl ist vierstellig",
    ),
    (
        "pin",
        "digits",
        "pin",
        r"(?P<cue>(?<!\S)[\"'`]?)(?P<bare>\d{4,8})(?=[\"'`]?\s(?:is|as|ist|als|est|comme|es|como|é|è"
        rf"|come)\s(?:\w{{1,20}}\s){{0,3}}(?:pin|code pin|passcode)(?:{ENDS}|\s(?:{_OF})\b))",
        "number",
        "enter 7391 as the PIN",
        "2048 is the pin count",
    ),
    (
        "code",
        "digits",
        "code|comb|cód|codice|digicode",
        rf"(?P<cue>\b(?:{_LOCKS})(?: \w{{1,40}})?[ -]?(?:code|combination|combo)"
        r"|\b(?:code|combination|combo|código|codice)"
        r" (?:for|to|of|de|du|del|della|da|do|fürs?|vom|zum)"
        rf" (?:\w{{1,40}} ){{0,3}}(?:{_LOCKS})|\bdigicode)\b(?:\sd['’]entrée)?"
        rf"{_ANY_LINK}(?P<bare>[#*]?[A-F]?\d[\dA-F-]{{2,10}}[#*]?)(?!\w)",
        "always",
        "front door code is 1958#",
        "error code 1958 of the door",
    ),
    (
        "card code",
        "digits",
        "cvv|cvc|security code",
        rf"(?P<cue>\bcv(?:v2?|c2?)\b|card security code){_ANY_LINK}(?P<bare>\d{{3,4}})(?!\w)",
        "always",
        "cvv 123",
        "the cvv has 3 digits",
    ),
    (
        "social security number",
        "digits",
        "ssn|social security",
        rf"(?P<cue>\bSSN\b|social security(?: number)?){_ANY_LINK}"
        r"(?P<bare>\d{3}-?\d\d-?\d{4})(?!\w)",
        "always",
        "my SSN is 078-05-1120",
        "social security pays 1200 a month",
    ),
)

FORMS: tuple[Row, ...] = (*_TOKENS, *_SHAPES, *_SAID, *_LONG, *_DIGITS)

IBAN_LENGTHS = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20"
    " EG29 ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27"
    " JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18"
    " NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24"
    " TR26 UA29 VA22 VG24 XK20"
)
"""How long an IBAN of each country is."""
