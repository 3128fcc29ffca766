"""Redaction of credentials in text, the last line of defence before a line is written.

Three methods, because none finds everything. The last `MAX_SECRETS` secrets passed to `register_secret` are redacted
wherever they occur. Text in the format of a credential is redacted: bearer and basic credentials, JSON web tokens,
private keys, user and password of a URL. So is the value of a name such as `password=...` or `"token": "..."`. False
positives are accepted: `token: expired` loses a word.

Text may come from a server, so every pattern runs in linear time on every input.
"""

import base64
import functools
import json
import re
import threading
from urllib.parse import quote

from clientgo.internal.boundeddict import BoundedDict
from clientgo.internal.forks import fork_safe

REDACTED = "[redacted]"

MIN_SECRET_LENGTH = 6
"""Shortest secret that is registered: a shorter one would occur in ordinary words."""

MAX_SECRETS = 64
"""Maximum number of registered secrets. Tokens rotate; the oldest have expired."""


class _SecretRegistry:
    """Registered secrets, newest last, and the forms to search for."""

    def __init__(self) -> None:
        self._lock = fork_safe(threading.Lock())
        self._forms: BoundedDict[str, tuple[_Form, ...]] = BoundedDict(MAX_SECRETS)
        # Replaced as a whole, so that readers need no lock.
        self.forms: tuple[_Form, ...] = ()

    def add(self, secret: str) -> None:
        encoded = base64.b64encode(secret.encode(errors="surrogatepass")).decode().rstrip("=")
        in_a_url = quote(secret, safe="", errors="replace")
        forms = tuple(_form(text) for text in dict.fromkeys((secret, in_a_url, encoded)))
        with self._lock:
            self._forms[secret] = forms
            every = [form for secret_forms in self._forms.values() for form in secret_forms]
            # Longest first: one may be a part of another.
            self.forms = tuple(sorted(every, key=lambda form: len(form[1]), reverse=True))


# The longest part that no escaping changes, which is fast to search for, and the whole text.
_Form = tuple[str, str]


def _form(text: str) -> _Form:
    # Printable ASCII except quotes and the backslash; the negated class takes milliseconds to compile.
    plain = re.findall(r"[ !#-&(-\[\]-~]+", text)
    return max(plain, key=len, default=""), text


@functools.lru_cache(maxsize=3 * MAX_SECRETS)
def _finder(text: str) -> re.Pattern[str]:
    """Return a pattern for the text, even if it was escaped repeatedly as a string of JSON or Python.

    Compiled only after its unescaped part was found: a token of a thousand letters takes milliseconds.
    """
    pattern = "".join(_escaped_or_not(len(run), char) for run, char in re.findall(r"(\\*)([^\\]?)", text))
    # A search that begins within a run of backslashes would read the rest of the run from each of them.
    return re.compile(rf"(?<!\\){pattern}" if pattern.startswith(_BACKSLASHES) else pattern)


_BACKSLASHES = r"\\{"


def _escaped_or_not(backslashes: int, char: str) -> str:
    """Return the pattern of a character behind a run of backslashes, of which escaping only makes more."""
    if char.isascii() and char.isprintable() and char not in "\"'":
        return (rf"{_BACKSLASHES}{backslashes},}}" if backslashes else "") + re.escape(char)
    short = json.dumps(char)[1:-1].lstrip("\\")
    return rf"{_BACKSLASHES}{backslashes},}}(?:{re.escape(char)}|{re.escape(short)})"


_SECRETS = _SecretRegistry()


def register_secret(*secrets: str) -> None:
    """Redact these secrets from all log lines; ignores those shorter than `MIN_SECRET_LENGTH`, forgets the oldest."""
    for secret in secrets:
        if len(secret) >= MIN_SECRET_LENGTH:
            _SECRETS.add(secret)


def redact(text: str) -> str:
    """Replace each recognised credential in the text by `[redacted]`."""
    for part, pattern in _SECRETS.forms:
        if part in text:
            text = _finder(pattern).sub(REDACTED, text)
    return _by_shape(text)


def may_hold_credentials(text: str) -> bool:
    """Return True if `redact` may change the text or a part of it; several times faster than `redact`."""
    for part, _ in _SECRETS.forms:
        if part in text:
            return True
    lower = text.lower()
    # A loop, not any(): the generator would cost more than the search.
    for mark in _MARKS:  # noqa: SIM110
        if mark in lower:
            return True
    return False


@functools.lru_cache(maxsize=1024)
def is_secret_name(name: str) -> bool:
    """Return True if the name is one of a credential."""
    return name.lower().replace("-", "").replace("_", "").endswith(_SECRET_NAMES)


# Every text that matches a pattern contains one of these in lower case. For other lines this search is the only cost.
_MARKS = (
    "bearer", "basic", "authorization", "eyj", "private key", "ls0tls1crudjti", "@", "passw", "passphrase", "pwd",
    "token", "api-key", "api_key", "apikey", "-key", "_key", "keydata", "secret", "cookie", "k8s-aws-v1.", "ya29.",
    "sha256~",
)  # fmt: skip

_SECRET_NAMES = (
    "password", "passwd", "passphrase", "pwd", "token", "apikey", "privatekey", "secretkey", "accesskey", "clientkey",
    "keydata", "clientsecret", "authorization", "cookie", "credentials",
)  # fmt: skip

# A quote may be escaped repeatedly: JSON within a string of JSON.
# Not possessive: Python before 3.11.5 takes one character too many of a group with a look-ahead (cpython gh-106052).
_QUOTED = r"""(?P<quote>\\*["'])(?:(?!(?P=quote)).)+"""
_BARE = r"""[^\s,;&"'<>()\[\]{}\\]++"""
_KEYS = r"(?:api|private|access|secret|client)[_-]?key(?:[_-]?data)?"
_NAMED = rf"(?:pass(?:word|wd|phrase)|\bpwd|token|{_KEYS}|secret|cookie)"
_IS = r"""\\*["']?\s*+[=:]\s*+"""

# No credential but words of an API server behind the name of an object: `in Secret token: secrets "token" not found`.
_STATUS = r"""(?![\w.-]{1,100} \\*"[^"\\]{1,253}\\*" (?:is forbidden|is invalid|not found|already exists)\b)"""

# After a `scheme://`.
_USER = r"""(?<=://)[^\s/?#"'<>@]*+(?:@[^\s/?#"'<>@]*+)*@(?!sha256:)"""

_SHAPES = (
    # Up to the end of the text if the key's end marker is missing.
    (r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----|\Z)", REDACTED),
    # Private keys and certificates in base64, as in a kubeconfig.
    (r"(?<![A-Za-z0-9+/])LS0tLS1CRUdJTi[A-Za-z0-9+/=]++", REDACTED),
    # `Authorization: Basic x`, as a header, as a pair in a list, as JSON.
    (r"""(?i)(\bauthorization\\*["']?\s*+[=:,]\s*+(?!\[redacted)\[?\\*["']?)(?:(?:bearer|basic|negotiate|digest)\s++)?[^\s,"'\\]++""",
     rf"\1{REDACTED}"),
    (r"(?i)(\bbearer\s++)(?!token\b|auth)[^\s,\"'\\]{4,}+", rf"\1{REDACTED}"),
    (r"(?i)(\bbasic\s++)(?!auth)[A-Za-z0-9+/]{8,}+={0,2}", rf"\1{REDACTED}"),
    # JSON web tokens and those of EKS, Google and OpenShift, at the start of a word.
    (r"(?<![\w-])eyJ[\w-]{5,}+\.[\w-]++(?:\.[\w-]*+)?", REDACTED),
    (r"(?<![\w-])(?:k8s-aws-v1\.|ya29\.|sha256~)[\w.-]{8,}+", REDACTED),
    # `scheme://user:password@`, but not an image's `scheme://name@sha256:`.
    (_USER, f"{REDACTED}@"),
    (rf"(?i)({_NAMED}{_IS}){_QUOTED}", rf"\1\g<quote>{REDACTED}"),
    (rf"(?i)({_NAMED}{_IS}){_STATUS}{_BARE}", rf"\1{REDACTED}"),
    (rf"(?i)(--[\w-]{{0,40}}(?:token|password|secret|key)\s++){_BARE}", rf"\1{REDACTED}"),
    # Repeated: redacting a named value may reveal a user, and `://password:` may be the start of one.
    (_USER, f"{REDACTED}@"),
)  # fmt: skip


# The data of a Secret, as JSON (possibly within a string) and as our types print it; up to the end of the text, because
# values may contain braces.
_CONTENT = r"""((?i:\b|_|string)(?i:data)(?:=|\\*["']\s*+:)\s*+)\{.*"""


def _by_shape(text: str) -> str:
    shapes = _shapes()
    for pattern, replacement in shapes if "Secret" in text else shapes[1:]:
        text = pattern.sub(replacement, text)
    return text


@functools.cache
def _shapes() -> list[tuple[re.Pattern[str], str]]:
    # Compiled on first use, which most programs never reach.
    return [(re.compile(pattern, re.DOTALL), mask) for pattern, mask in ((_CONTENT, rf"\1{REDACTED}"), *_SHAPES)]
