"""Rules of certificates for pods, of trusted authorities, and of migrations of the storage version."""

import base64
import binascii
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from clientgo.internal.patterns import lazy_pattern
from clientgo_apiserver.api.conditions import conditions_of, is_true
from clientgo_apiserver.api.names import qualified_errors, subdomain_errors
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import (
    Cause,
    duplicate,
    forbidden_field,
    invalid_value,
    not_supported,
    omitted_value,
    quoted,
    required,
    too_long,
)
from clientgo_apiserver.registry.validation.cluster import signer_name
from clientgo_apiserver.registry.validation.pods.volumes import CERTIFICATE_PATHS, local_path
from clientgo_apiserver.registry.validation.scopes import FieldScope, rule, within

if TYPE_CHECKING:
    from cryptography.x509 import Certificate, CertificateSigningRequest

_MARK = lazy_pattern(rb"-----(BEGIN|END) ([^-\n]{1,64})-----")
_OMITTED = "<value omitted>"
_MAX_BUNDLE, _MAX_UID, _MAX_REQUEST, _MAX_CHAIN, _MAX_ANNOTATIONS = 1 << 20, 128, 4096, 65_536, 1 << 18
_HOUR, _DAY = 3_600, 86_400
_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_FINAL = ("Issued", "Denied", "Failed")
_REQUEST_FINAL = ("Approved", "Denied", "Failed")
_LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
_ONE_FINAL = 'There may be at most one condition with type "Issued", "Denied", or "Failed"'
_MARGIN = timedelta(minutes=10)
_SEMVER = lazy_pattern(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-[-.0-9A-Za-z]+)?(?:\+[-.0-9A-Za-z]+)?")
_OLDEST = "OldestEmulationVersion"


def _load(der: bytes) -> "Certificate":
    from cryptography.x509 import load_der_x509_certificate  # noqa: PLC0415  # 20 ms that other kinds do not need

    return load_der_x509_certificate(der)


def _load_request(der: bytes) -> "CertificateSigningRequest":
    from cryptography.x509 import load_der_x509_csr  # noqa: PLC0415  # as above

    return load_der_x509_csr(der)


def pem_blocks(pem: str) -> list[tuple[str, bytes, bool]]:
    """Return the blocks of PEM: type, content, and whether it has headers."""
    blocks, data, begin = [], pem.encode(), None
    for mark in _MARK.finditer(data):
        if mark[1] == b"BEGIN":
            begin = mark
        elif begin is not None and begin[2] == mark[2]:
            head, blank, body = data[begin.end() : mark.start()].replace(b"\r", b"").rpartition(b"\n\n")
            begin = None
            with suppress(binascii.Error):  # as Go's decoder, which looks for the next block
                content = base64.b64decode(body, validate=False)
                blocks.append((mark[2].decode(), content, bool(blank and head.strip())))
    return blocks


@rule()
def bundle_name(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the name of a bundle: with a signer, it begins with the signer's."""
    name, signer = value["metadata"].get("name", ""), (value.get("spec") or {}).get("signerName", "")
    prefix = f"{signer.replace('/', ':')}:"
    if not signer and ":" in name:
        yield invalid_value(
            "metadata.name", name, 'ClusterTrustBundle without signer name must not have ":" in its name'
        )
    elif signer and not name.startswith(prefix):
        reason = f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"
        yield invalid_value("metadata.name", name, reason)
    else:
        reasons = subdomain_errors(name.removeprefix(prefix) if signer else name)
        yield from (invalid_value("metadata.name", name, reason) for reason in reasons)


@rule()
def bundle_source(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check a source of a projected volume with trusted authorities."""
    name, signer, path = value.get("name"), value.get("signerName"), value.get("path")
    if name is not None and signer is not None:
        yield invalid_value("", value, "only one of name and signerName may be used")
    elif name is not None:
        yield from _named_bundle(name)
        if value.get("labelSelector") is not None:
            yield invalid_value(
                "labelSelector", value["labelSelector"], "labelSelector must be unset if name is specified"
            )
    elif signer is not None:
        if not signer:
            yield required("signerName", "must be a valid signer name")
        yield from within("signerName", list(signer_name(signer, scope)))
        yield from within("labelSelector", list(scope.errors_of("LabelSelector", value.get("labelSelector") or {})))
    else:
        yield required("", "either name or signerName must be specified")
    if not path:
        yield required("path")
    else:
        yield from within("path", list(local_path(path, scope)))


def _named_bundle(name: str) -> Iterator[Cause]:
    if not name:
        yield required("name", "must be a valid object name")
    *signer, last = name.split(":")
    for reason in subdomain_errors(last if len(signer) in (0, 2) else name):
        yield invalid_value("name", name, f"not a valid clustertrustbundlename: {reason}")


@rule()
def certificate_source(value: Object, scope: FieldScope) -> Iterator[Cause]:
    """Check a source of a projected volume with a certificate for the pod."""
    signer, seconds = value.get("signerName") or "", value.get("maxExpirationSeconds")
    yield from within("signerName", list(signer_name(signer, scope)))
    yield from within("userAnnotations", list(user_annotations(value.get("userAnnotations") or {}, scope)))
    if value.get("keyType", "") not in _KEY_TYPES:
        yield not_supported("keyType", value.get("keyType", ""), _KEY_TYPES)
    if seconds is not None and not _HOUR <= seconds <= _longest(signer):
        bound = f">= {_HOUR}" if seconds < _HOUR else f"<= {_longest(signer)}"
        yield invalid_value("maxExpirationSeconds", seconds, f"if provided, maxExpirationSeconds must be {bound}")
    paths = {name: value[name] for name in CERTIFICATE_PATHS if value.get(name)}
    for name, path in paths.items():
        yield from within(name, list(local_path(path, scope)))
    if not paths:
        yield required("", "specify at least one of credentialBundlePath, keyPath, and certificateChainPath")


@rule(absent=True)
def trust_bundle(value: str | None, scope: FieldScope) -> Iterator[Cause]:
    """Check PEM of certificate authorities, without duplicates; an unchanged one is not read again."""
    text = value or ""
    if scope.old is not None and ((scope.old.get("spec") or {}).get("trustBundle") or "") == text:
        return
    if len(text) > _MAX_BUNDLE:
        yield too_long("", _MAX_BUNDLE)
        return
    places = defaultdict[bytes, list[int]](list)
    reasons = []
    for index, (kind, der, has_headers) in enumerate(pem_blocks(text)):
        if reason := f"bad block type: {kind}" if kind != "CERTIFICATE" else "PEM block headers" if has_headers else "":
            reasons.append(f"entry {index} has {reason}")
        elif reason := _authority_error(der):
            reasons.append(f"entry {index} does not {reason}")
        else:
            places[der].append(index)
    if not reasons and not places:
        reasons = ["at least one trust anchor must be provided"]
    if not reasons:
        twice = [indices for indices in places.values() if len(indices) > 1]
        reasons = [f"duplicate trust anchor (indices [{' '.join(map(str, indices))}])" for indices in twice]
    yield from (invalid_value("", _OMITTED, reason) for reason in reasons)


def _authority_error(der: bytes) -> str:
    from cryptography.x509 import BasicConstraints, ExtensionNotFound  # noqa: PLC0415  # as in `_load`

    try:
        constraints = _load(der).extensions.get_extension_for_class(BasicConstraints).value
    except ExtensionNotFound:
        return "have the CA bit set"
    except ValueError:
        return "parse as X.509"
    return "" if constraints.ca else "have the CA bit set"


@rule()
def user_annotations(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the keys of annotations for the signer, which have a domain, and their size."""
    for key in value:
        if "/" not in key:
            yield invalid_value("", key.lower(), 'must be a domain-prefixed key (such as "acme.io/foo")')
        else:
            yield from (invalid_value("", key.lower(), reason) for reason in qualified_errors(key.lower()))
    if sum(len(key) + len(text) for key, text in value.items()) > _MAX_ANNOTATIONS:
        yield too_long("", _MAX_ANNOTATIONS)


@rule(absent=True)
def object_uid(value: str | None, _: FieldScope) -> Iterator[Cause]:
    """Check a uid: not empty, and not too long."""
    if not value:
        yield invalid_value("", "", "must not be empty")
    elif len(value) > _MAX_UID:
        yield too_long("", _MAX_UID)


@rule()
def certificate_lifetime(value: int, scope: FieldScope) -> Iterator[Cause]:
    """Check the longest lifetime of a certificate: an hour to a day for Kubernetes' signers, to 91 days for others."""
    limit = _longest(scope.root.value["spec"].get("signerName") or "")
    if not _HOUR <= value <= limit:
        yield invalid_value("", value, f"must be in the range [{_HOUR}, {limit}]")


def _longest(signer: str) -> int:
    """Return the longest lifetime in seconds of a signer's certificates."""
    domain = signer.partition("/")[0]
    return _DAY if domain == "kubernetes.io" or domain.endswith(".kubernetes.io") else 91 * _DAY


@rule(absent=True)
def stub_request(value: str | None, _: FieldScope) -> Iterator[Cause]:
    """Check the certificate request that has the pod's public key."""
    if not value:
        yield required("", "")
        return
    if len(base64.b64decode(value)) > _MAX_REQUEST:
        yield too_long("", _MAX_REQUEST)
        return
    try:
        request = _load_request(base64.b64decode(value))
        reason = _key_error(request) or ("" if request.is_signature_valid else "invalid signature")
    except ValueError:
        reason = "must be a valid PKCS#10 CSR"
    if reason:
        yield omitted_value("", reason)


def _key_error(request: "CertificateSigningRequest") -> str:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa  # noqa: PLC0415  # as in `_load`

    key = request.public_key()
    if isinstance(key, rsa.RSAPublicKey) and key.key_size not in (3072, 4096):
        return f'"{key.key_size}-bit modulus": RSA keys must have modulus size 3072 or 4096'
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name not in ("secp256r1", "secp384r1", "secp521r1"):
        return "elliptic public keys must use curve P256, P384, or P521"
    if not isinstance(key, rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey):
        return "unknown public key type; supported types are Ed25519, ECDSA, and RSA"
    return ""


def _final(obj: Object | None) -> str:
    """Return the type of the condition that ends a request; empty without one."""
    types = (condition.get("type", "") for condition in conditions_of(obj) if condition.get("status") == "True")
    return next((kind for kind in types if kind in _FINAL), "")


@rule()
def certificate_conditions(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that at most one of the conditions that end a request is set, and to True."""
    is_first = True
    for index, condition in enumerate(conditions_of(value)):
        field, kind, status = f"status.conditions[{index}]", condition.get("type", ""), condition.get("status", "")
        if kind not in _FINAL:
            yield not_supported(f"{field}.type", kind, _FINAL)
            continue
        if not is_first:
            yield invalid_value(f"{field}.type", kind, _ONE_FINAL)
        is_first = False
        if status != "True":
            yield not_supported(f"{field}.status", status, ("True",))


@rule(update=True)
def certificate_status(new: Object, old: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that a request's status changes only when it ends, and then consistently."""
    status, before = new.get("status") or {}, old.get("status") or {}
    if list(certificate_conditions(new, _)):
        return  # reported
    final, reason = _final(new), ""
    if _final(old):
        if status != before:
            reason = "immutable after PodCertificateRequest is issued, denied, or failed"
    elif final == "Issued":
        yield from _issued_errors(new)
    elif final and status.keys() - {"conditions"}:
        reason = "non-condition status fields must be empty when denying or failing the PodCertificateRequest"
    elif not final and status != before:
        reason = 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"'
    if reason:
        yield omitted_value("status", reason)


def _issued_errors(obj: Object) -> Iterator[Cause]:
    status, spec = obj["status"], obj["spec"]
    field, chain = "status.certificateChain", status.get("certificateChain") or ""
    if len(chain) > _MAX_CHAIN:
        yield too_long(field, _MAX_CHAIN)
        return
    blocks = pem_blocks(chain)
    if not blocks:
        yield invalid_value(field, chain, "issued certificate chain must contain at least one certificate")
        return
    if any(kind != "CERTIFICATE" for kind, _, _ in blocks):
        reason = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks"
        yield invalid_value(field, chain, reason)
        return
    leaf: Certificate | None = None
    for der in (content for _, content, _ in blocks):
        try:
            leaf = leaf or _load(der)
        except ValueError:
            yield invalid_value(field, chain, "leaf certificate does not parse as valid X.509")
            return
    assert leaf is not None, "there are blocks"
    if _key_of(leaf) != _key_of(_load_request(base64.b64decode(spec["stubPKCS10Request"]))):
        yield invalid_value(field, chain, "leaf certificate was not issued to the requested public key")
        return
    yield from _time_errors(status, leaf, spec.get("maxExpirationSeconds", _DAY))


def _key_of(signed: "Certificate | CertificateSigningRequest") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat  # noqa: PLC0415  # as in `_load`

    return signed.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def _time_errors(status: Object, leaf: "Certificate", longest: int) -> Iterator[Cause]:
    reasons = {
        "notBefore": "must be present and consistent with the issued certificate",
        "notAfter": "must be present and consistent with the issued certificate",
        "beginRefreshAt": "must be present and in the range [notbefore+10min, notafter-10min]",
    }
    missing = [name for name in reasons if not status.get(name)]
    if missing:
        yield from (required(f"status.{name}", reasons[name]) for name in missing)
        return
    start, end, refresh = (datetime.fromisoformat(status[name]).astimezone(UTC) for name in reasons)
    lifetime = (leaf.not_valid_after_utc - leaf.not_valid_before_utc).total_seconds()
    checks = (
        (
            start == leaf.not_valid_before_utc,
            "notBefore",
            "must be set to the NotBefore time encoded in the leaf certificate",
        ),
        (
            end == leaf.not_valid_after_utc,
            "notAfter",
            "must be set to the NotAfter time encoded in the leaf certificate",
        ),
        (lifetime >= _HOUR, "certificateChain", "leaf certificate lifetime must be >= 1 hour"),
        (
            lifetime <= longest,
            "certificateChain",
            f"leaf certificate lifetime must be <= spec.maxExpirationSeconds ({longest})",
        ),
        (refresh >= start + _MARGIN, "beginRefreshAt", "must be at least 10 minutes after status.notBefore"),
        (refresh <= end - _MARGIN, "beginRefreshAt", "must be at least 10 minutes before status.notAfter"),
    )
    failed = next(((name, reason) for holds, name, reason in checks if not holds), None)
    if failed is not None:
        yield invalid_value(f"status.{failed[0]}", status[failed[0]], failed[1])


@rule(absent=True)
def signing_request(value: str | None, scope: FieldScope) -> Iterator[Cause]:
    """Check that a new certificate request can be read and is signed with its key; later it does not change."""
    if not scope.updates and (reason := _request_error(base64.b64decode(value or ""))):
        yield invalid_value("", value, reason)


def _request_error(pem: bytes) -> str:
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415  # as in `_load`

    kind, der, _ = next(iter(pem_blocks(pem.decode(errors="replace"))), ("", b"", False))
    if kind != "CERTIFICATE REQUEST":
        return "PEM block type must be CERTIFICATE REQUEST"
    try:
        return "" if _load_request(der).is_signature_valid else "x509: invalid signature"
    except UnsupportedAlgorithm:
        return "x509: cannot verify signature: algorithm unimplemented"
    except ValueError:
        return "asn1: syntax error: data truncated"


@rule(absent=True)
def request_signer(value: str | None, scope: FieldScope) -> Iterator[Cause]:
    """Check the signer of a certificate request; the legacy one is left from older versions only."""
    if value != _LEGACY_SIGNER:
        yield from signer_name(value, scope)
    elif not scope.updates:
        yield invalid_value("", value, "the legacy signerName is not allowed via this API version")


@rule(update=True)
def request_status(new: Object, old: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the conditions and the certificate of a certificate request; what was wrong before may stay so."""
    yield from within("status.conditions", list(_request_conditions(conditions_of(new), conditions_of(old))))
    content, before = ((obj.get("status") or {}).get("certificate") or "" for obj in (new, old))
    if content not in ("", before) and (reason := _certificate_error(base64.b64decode(content))):
        yield invalid_value("status.certificate", "<certificate data>", reason)
    types = {each.get("type") for each in conditions_of(new)}
    for kind in _REQUEST_FINAL:
        if kind not in types and any(each.get("type") == kind for each in conditions_of(old)):
            yield forbidden_field("status.conditions", f'updates may not remove a condition of type "{kind}"')
    if before and content != before:
        yield forbidden_field("status.certificate", "updates may not modify existing certificate content")


def _request_conditions(conditions: list[Object], before: list[Object]) -> Iterator[Cause]:
    types, types_before = ([each.get("type", "") for each in listed] for listed in (conditions, before))
    for index, condition in enumerate(conditions):
        kind, status = condition.get("type", ""), condition.get("status", "")
        allowed = ("True",) if kind in _REQUEST_FINAL else ("False", "True", "Unknown")
        if not kind and "" not in types_before:
            yield required(f"[{index}].type")
        if not status:
            yield required(f"[{index}].status")
        elif status not in allowed:
            yield not_supported(f"[{index}].status", status, allowed)
        other = {"Approved": "Denied", "Denied": "Approved"}.get(kind)
        if other in types[:index] and not {kind, other} <= set(types_before):
            yield invalid_value("", kind, "Approved and Denied conditions are mutually exclusive")
        if kind in types[:index] and len(set(types_before)) == len(types_before):
            yield duplicate(f"[{index}].type", kind)


def _certificate_error(pem: bytes) -> str:
    """Return what is wrong with issued certificates; empty if nothing is."""
    blocks = pem_blocks(pem.decode(errors="replace"))
    for kind, der, has_headers in blocks:
        if kind != "CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {quoted(kind)}"
        if has_headers:
            return "no PEM block headers are permitted"
        if not der:
            return "found CERTIFICATE PEM block containing 0 certificates"
        try:
            _load(der)
        except ValueError:
            return "x509: malformed certificate"
    return "" if blocks else "must contain at least one CERTIFICATE PEM block"


@rule(update=True)
def migration_status(new: Object, old: Object, _: FieldScope) -> Iterator[Cause]:
    """Check that a migration keeps its resource version and its end."""
    version, before = ((obj.get("status") or {}).get("resourceVersion", "") for obj in (new, old))
    if version and (not version.isdecimal() or version.startswith("0")):
        yield invalid_value("status.resourceVersion", version, f"resource version is not well formed: {version}")
    if before and version != before:
        yield invalid_value("status.resourceVersion", version, "field is immutable")
    succeeded, failed = (is_true(new, kind) for kind in ("Succeeded", "Failed"))
    conditions = conditions_of(new)
    if succeeded and failed:
        reason = "Both success and failed conditions cannot be true at the same time"
        yield invalid_value("status.conditions", conditions, reason)
    for kind, word, holds in (("Succeeded", "Success", succeeded), ("Failed", "Failed", failed)):
        if is_true(old, kind) and not holds:
            reason = f"{word} condition cannot be set to false once it is true"
            yield invalid_value("status.conditions", conditions, reason)


@rule()
def candidate_versions(value: Object, _: FieldScope) -> Iterator[Cause]:
    """Check the versions of a candidate for coordinated leader election."""
    emulation, binary = value.get("emulationVersion", ""), value.get("binaryVersion", "")
    parsed = {name: _SEMVER.fullmatch(text) for name, text in (("emulation", emulation), ("binary", binary))}
    if emulation and parsed["emulation"] is None:
        yield invalid_value("emulationVersion", emulation, "must be a valid semantic version")
    if not binary:
        yield required("binaryVersion")
    elif parsed["binary"] is None:
        yield invalid_value("binaryVersion", binary, "must be a valid semantic version")
    numbers = [tuple(map(int, match.groups())) for match in parsed.values() if match is not None]
    if len(numbers) == len(parsed) and numbers[1] < numbers[0]:
        yield invalid_value("binaryVersion", binary, "must be greater than or equal to `emulationVersion`")
    if value.get("strategy") == _OLDEST and not emulation:
        yield required("emulationVersion", f"must be specified when `strategy` is '{_OLDEST}'")


@rule()
def election_strategy(value: str, _: FieldScope) -> Iterator[Cause]:
    """Check the strategy of an election: Kubernetes' own, or a qualified name."""
    if "/" not in value:
        if value != _OLDEST:
            yield not_supported("strategy", value, (_OLDEST,))
    else:
        yield from (invalid_value("strategy", value, reason) for reason in qualified_errors(value))
