"""Growth cases of text: selectors, quantities, durations, JSON, YAML, kubeconfigs, PEM, flags, log lines."""

import json
import ssl
from argparse import ArgumentTypeError
from dataclasses import dataclass
from typing import Any

import msgspec

from clientgo.log import redact, register_secret
from clientgo.log.values import to_json_value
from clientgo.meta import jsonpath
from clientgo.meta.quantities import InvalidQuantity, canonical
from clientgo.meta.selectors import SelectorError, parse_selector
from clientgo.meta.shallow_json import elements, members, names_alone
from clientgo.meta.yamlio import InvalidYAML, read_yaml, to_yaml
from clientgo.pki import CertificateAuthority, merge_bundle
from clientgo.program.commandline import FlagParser, flag
from clientgo.program.flags import seconds
from clientgo.rest import kubeconfig
from clientgo.tls import add_authorities
from clientgo_apiserver.api.formats import text_format
from clientgo_apiserver.api.status import ApiFailure
from clientgo_apiserver.crds.fieldpaths import find_field
from clientgo_apiserver.http.decode import parse_yaml
from clientgo_apiserver.http.messages import parse_query
from clientgo_apiserver.http.nesting import json_error
from clientgo_apiserver.http.options import read_timeout
from clientgo_apiserver.registry.validation.workloads.cron import schedule_error
from clientgo_apiserver.storage.selection import parse_labels

PEM = CertificateAuthority.create("growth").certificate
LABELS = {f"a{number}": "b" for number in range(1000)}
SECRET = 'canary"\\\\of-growth'
register_secret(SECRET)


def kubeconfig_of(count: int) -> str:
    clusters = [f"- {{name: c{n}, cluster: {{server: 'https://x'}}}}\n" for n in range(count)]
    contexts = [f"- {{name: c{n}, context: {{cluster: c{n}, user: u}}}}\n" for n in range(count)]
    return "clusters:\n" + "".join(clusters) + "contexts:\n" + "".join(contexts)


@dataclass(frozen=True)
class Flags:
    names: tuple[str, ...] = flag((), "names", group="growth", variable="NAMES")


def flags(text: str) -> object:
    return FlagParser(Flags, prog="growth", description="", environ={"NAMES": text}).parse(())


def nested_schema(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(depth):
        schema = {"properties": {"a": schema}}
    return schema


def trust(pem: str) -> None:
    add_authorities(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), pem)


CASES: dict[str, tuple[Any, ...]] = {
    "selector of many labels": (lambda n: ",".join(f"a{i}=b" for i in range(n)), parse_selector),
    "selector of many values": (lambda n: f"a in ({','.join(f'b{i}' for i in range(n))})", parse_selector),
    "selector that matches": (
        lambda n: parse_selector(",".join(f"a{i}=b" for i in range(n))),
        lambda selector: selector.matches(LABELS),
    ),
    "brackets of a selector": (lambda n: "(" * n, parse_selector, 60, SelectorError),
    "selectors of the server": (lambda n: ",".join(f"a{i}!=b" for i in range(n)), parse_labels),
    "quantity": (lambda n: "1" * n + "." + "1" * n, canonical, 125),
    "digits of a quantity": (lambda n: "1" * n + "." + "1" * n, canonical, 600, InvalidQuantity),
    "duration": (lambda n: "1m1s" * n, seconds),
    "digits of a duration": (lambda n: "1" * n + "x", seconds, 600, ArgumentTypeError),
    "duration of a format": (lambda n: "00s" * n + "x", text_format("duration"), 600),
    "timeout of a request": (lambda n: parse_query(f"timeout={'00s' * n}x"), read_timeout, 600, ApiFailure),
    "schedule": (lambda n: "@every " + "00s" * n + "x", schedule_error, 600),
    "fields of a schedule": (lambda n: "1," * n + "1 * * * *", schedule_error),
    "JSON object": (lambda n: json.dumps({str(i): {"a": [1]} for i in range(n)}).encode(), members),
    "JSON array": (lambda n: json.dumps([{"a": [1]}] * n).encode(), elements),
    "nested JSON": (lambda n: b'{"metadata":%b0%b}' % (b'{"a":' * n, b"}" * n), names_alone, 400),
    "nested JSON of a request": (lambda n: b"[" * n + b"]" * n, json_error, 1200),
    "JSON string without an end": (lambda n: b"[" * 200 + b'"' + b'\\"' * n, json_error, 600),
    "JSON array without an end": (lambda n: b"[" * n + b'"' + b'\\"' * n, elements, 1200, msgspec.DecodeError),
    "YAML list": (lambda n: "- a\n" * n, read_yaml, 120),
    "YAML documents": (lambda n: "a: 1\n---\n" * n, read_yaml),
    "nested YAML": (lambda n: "[" * n + "]" * n, read_yaml, 300, InvalidYAML),
    "YAML of a request": (lambda n: b"a:\n" + b"- b: c\n" * n, parse_yaml, 120),
    "YAML that is written": (lambda n: [{"b": "on", "c": "x\ny", "d": "1" * n}] * n, to_yaml, 20),
    "kubeconfig": (kubeconfig_of, lambda text: kubeconfig.parse(text, "file"), 10),
    "bundle": (lambda n: PEM * n, lambda pem: merge_bundle(pem, add=PEM), 20),
    "bundle without ends": (lambda n: b"-----BEGIN CERTIFICATE-----A" * n, merge_bundle, 300),
    "authorities": (lambda n: PEM.decode() * n, trust, 20),
    "authorities without ends": (lambda n: "-----BEGIN CERTIFICATE-----A" * n, trust, 300, ValueError),
    "values of a flag's variable": (lambda n: ",".join(f"n{i}" for i in range(n)), flags, 400),
    "path of a column": (lambda n: ".a" * n, jsonpath.parse, 200),
    "path of a field": (lambda n: (".a" * n, nested_schema(n)), lambda pair: find_field(pair[1], pair[0])),
    "passwords in a log line": (lambda n: "password=a " * n, redact),
    "secrets in a log line": (lambda n: f"{SECRET} " * n, redact),
    "backslashes in a log line": (lambda n: "of-growth" + "\\" * n, redact, 600),
    "value of a log line": (lambda n: [{"a": n} for n in range(n)], lambda value: to_json_value("a", value, redact)),
}
