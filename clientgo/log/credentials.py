"""Takes credentials out of text, the last line of defence before a line is written.

Three nets, because none holds everything. What a program knows to be a secret it can `conceal`, and it is masked
wherever it turns up, in whatever sentence. What looks like a credential is masked by its shape: bearer and basic
credentials, JSON web tokens, private keys, user and password of a URL. What is named like one (`password=...`,
`"token": "..."`) is masked by its name. Rather too much than too little: `token: expired` loses a word.

Texts come from servers too, so every pattern takes time in proportion to the text, whatever stands in it.
"""

import base64
import functools
import json
import re
import threading
from urllib.parse import quote

REDACTED = "[redacted]"

SHORTEST = 6
"""Characters below which a secret is not concealed: what is that short stands in ordinary words, too."""

REMEMBERED = 64
"""Secrets kept; tokens rotate, and what ran out long ago is no secret any more."""


class _Concealed:
    """What was told to be secret, newest last, and how to find it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[str, tuple[_Form, ...]] = {}
        # Replaced as a whole, so that readers need no lock.
        self.forms: tuple[_Form, ...] = ()

    def add(self, secret: str) -> None:
        encoded = base64.b64encode(secret.encode(errors="surrogatepass")).decode().rstrip("=")
        in_a_url = quote(secret, safe="", errors="replace")
        forms = tuple(_form(text) for text in dict.fromkeys((secret, in_a_url, encoded)))
        with self._lock:
            self._known.pop(secret, None)
            self._known[secret] = forms
            if len(self._known) > REMEMBERED:
                del self._known[next(iter(self._known))]
            every = [form for known in self._known.values() for form in known]
            # Longest first: one may be a part of another.
            self.forms = tuple(sorted(every, key=lambda form: len(form[1]), reverse=True))


# The longest part that no escaping changes, which is quickly looked for, and the whole.
_Form = tuple[str, str]


def _form(text: str) -> _Form:
    # Printable ASCII but quotes and the backslash; said the other way round, it takes milliseconds to compile.
    plain = re.findall(r"[ !#-&(-\[\]-~]+", text)
    return max(plain, key=len, default=""), text


@functools.lru_cache(maxsize=3 * REMEMBERED)
def _finder(text: str) -> re.Pattern[str]:
    """What finds the text, however often it was written as a string of JSON, or of Python, on its way into a line.

    Made only when its part was found: for a token of a thousand letters that takes milliseconds.
    """
    return re.compile("".join(map(_escaped_or_not, text)))


def _escaped_or_not(char: str) -> str:
    if char == "\\":
        return r"\\+"
    if char.isascii() and char.isprintable() and char not in "\"'":
        return re.escape(char)
    short = json.dumps(char)[1:-1].lstrip("\\")
    return rf"\\*(?:{re.escape(char)}|{re.escape(short)})"


_CONCEALED = _Concealed()


def conceal(*secrets: str) -> None:
    """Never log these from now on, whatever they stand in; the empty and the very short ones are left alone."""
    for secret in secrets:
        if len(secret) >= SHORTEST:
            _CONCEALED.add(secret)


def redact(text: str) -> str:
    """The text with `[redacted]` in the place of each credential that can be recognised."""
    for part, whole in _CONCEALED.forms:
        if part in text:
            text = _finder(whole).sub(REDACTED, text)
    return _by_shape(text)


def may_hold_credentials(text: str) -> bool:
    """Whether `redact` might change the text, or any part of it; a few times quicker than doing it."""
    for part, _ in _CONCEALED.forms:
        if part in text:
            return True
    lower = text.lower()
    # A loop, not any(): that would cost more than the looking.
    for mark in _MARKS:  # noqa: SIM110
        if mark in lower:
            return True
    return False


@functools.lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """Whether a value of that name is a credential, to judge by the name."""
    return name.lower().replace("-", "").replace("_", "").endswith(_SECRET_NAMES)


# What a text has somewhere in it, in lower case, if one of the patterns fits. An ordinary line costs no more than
# looking for these.
_MARKS = (
    "bearer", "basic", "authorization", "eyj", "private key", "ls0tls1crudjti", "@", "passw", "passphrase", "pwd",
    "token", "api-key", "api_key", "apikey", "-key", "_key", "keydata", "secret", "cookie", "k8s-aws-v1.", "ya29.",
    "sha256~",
)  # fmt: skip

_SECRET_NAMES = (
    "password", "passwd", "passphrase", "pwd", "token", "apikey", "privatekey", "secretkey", "accesskey", "clientkey",
    "keydata", "clientsecret", "authorization", "cookie", "credentials",
)  # fmt: skip

# A quote may be escaped, once or more often: JSON that stands in a string of JSON.
_QUOTED = r"""(?P<quote>\\*["'])(?:(?!(?P=quote)).)++"""
_BARE = r"""[^\s,;&"'<>()\[\]{}\\]++"""
_KEYS = r"(?:api|private|access|secret|client)[_-]?key(?:[_-]?data)?"
_NAMED = rf"(?:pass(?:word|wd|phrase)|\bpwd|token|{_KEYS}|secret|cookie)"
_IS = r"""\\*["']?\s*+[=:]\s*+"""

# Behind a `scheme://`.
_USER = r"""(?<=://)[^\s/?#"'<>@]*+(?:@[^\s/?#"'<>@]*+)*@(?!sha256:)"""

_SHAPES = (
    # Up to the end of the text if the key's own end is missing.
    (r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)", REDACTED),
    # The same, and certificates with it, as kubeconfigs have them.
    (r"(?<![A-Za-z0-9+/])LS0tLS1CRUdJTi[A-Za-z0-9+/=]++", REDACTED),
    # `Authorization: Basic x`, as a header, as a pair in a list, as JSON.
    (r"""(?i)(\bauthorization\\*["']?\s*+[=:,]\s*+(?!\[redacted)\[?\\*["']?)(?:(?:bearer|basic|negotiate|digest)\s++)?[^\s,"'\\]++""",
     rf"\1{REDACTED}"),
    (r"(?i)(\bbearer\s++)(?!token\b|auth)[^\s,\"'\\]{4,}+", rf"\1{REDACTED}"),
    (r"(?i)(\bbasic\s++)(?!auth)[A-Za-z0-9+/]{8,}+={0,2}", rf"\1{REDACTED}"),
    # JSON web tokens, EKS', Google's and OpenShift's. Looked for at the beginning of a word alone.
    (r"(?<![\w-])eyJ[\w-]{5,}+\.[\w-]++(?:\.[\w-]*+)?", REDACTED),
    (r"(?<![\w-])(?:k8s-aws-v1\.|ya29\.|sha256~)[\w.-]{8,}+", REDACTED),
    # `scheme://user:password@`; an image's `scheme://name@sha256:` is none.
    (_USER, f"{REDACTED}@"),
    (rf"(?i)({_NAMED}{_IS}){_QUOTED}", rf"\1\g<quote>{REDACTED}"),
    (rf"(?i)({_NAMED}{_IS}){_BARE}", rf"\1{REDACTED}"),
    (rf"(?i)(--[\w-]{{0,40}}(?:token|password|secret|key)\s++){_BARE}", rf"\1{REDACTED}"),
    # Once more: what was hidden after a name may have stood before a user, and `://password:` may be the begin of one.
    (_USER, f"{REDACTED}@"),
)  # fmt: skip


# What a Secret holds, as JSON (in a string or not) and as our types print it; up to the end, because what it holds may
# have braces of its own.
_CONTENT = r"""((?i:\b|_|string)(?i:data)(?:=|\\*["']\s*+:)\s*+)\{.*"""


def _by_shape(text: str) -> str:
    shapes = _shapes()
    for pattern, replacement in shapes if "Secret" in text else shapes[1:]:
        text = pattern.sub(replacement, text)
    return text


@functools.cache
def _shapes() -> list[tuple[re.Pattern[str], str]]:
    # Made when they are needed first, which in most programs is never.
    return [(re.compile(pattern, re.DOTALL), mask) for pattern, mask in ((_CONTENT, rf"\1{REDACTED}"), *_SHAPES)]
