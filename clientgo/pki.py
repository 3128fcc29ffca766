"""Certificate authorities and certificates (X.509) with P-256 keys, which take a millisecond to generate.

The bundled API server, webhooks in development and servers without a given certificate use them. Importing this module
requires `cryptography`, an optional dependency.
"""

import ipaddress
import re
from collections.abc import Iterable
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from clientgo.clock import SYSTEM_CLOCK, Clock, utc
from clientgo.errors import ConfigError

WEEK = timedelta(days=7)

BACKDATED = timedelta(hours=1)
"""Time before its creation from which a certificate is valid: clocks of peers may be slow."""

Pair = tuple[bytes, bytes]
"""A certificate and its key, as PEM."""

_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----")
_MAX_COMMON_NAME = 64  # X.520; longer host names are in the alternative names only
_NO_USAGE = dict.fromkeys(
    ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only"),
    False,
)


class CertificateAuthority:
    """Certificate authority; `certificate` (PEM) is what its peers trust, `key` (PEM) signs.

    Raises:
        ConfigError: the certificate or the key is invalid, or they do not match.
    """

    def __init__(self, certificate: bytes, key: bytes, *, clock: Clock = SYSTEM_CLOCK) -> None:
        try:
            self._certificate = x509.load_pem_x509_certificate(certificate)
            private = serialization.load_pem_private_key(key, None)
        except (ValueError, TypeError) as error:
            raise ConfigError(f"invalid certificate authority: {error}") from error
        if not isinstance(private, ec.EllipticCurvePrivateKey):
            raise ConfigError("invalid certificate authority: its key must be an elliptic-curve key")
        if private.public_key() != self._certificate.public_key():
            raise ConfigError("invalid certificate authority: key and certificate do not match")
        self._key = private
        self._identifier = x509.SubjectKeyIdentifier.from_public_key(private.public_key())
        self._clock = clock
        self.certificate = self._certificate.public_bytes(serialization.Encoding.PEM)
        self.key = _key_pem(private)

    def __repr__(self) -> str:
        return f"<CertificateAuthority until {self._certificate.not_valid_after_utc:%Y-%m-%d}>"

    @classmethod
    def create(cls, name: str, lifetime: timedelta = WEEK, *, clock: Clock = SYSTEM_CLOCK) -> "CertificateAuthority":
        """Create an authority with a new key."""
        key, subject = ec.generate_private_key(ec.SECP256R1()), _common_name(name)
        identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
        builder = _builder(subject, subject, key.public_key(), lifetime, clock, is_authority=True)
        builder = builder.add_extension(identifier, critical=False)
        # Distinguishes two authorities of one name in a bundle (RFC 5280, 4.2.1.1).
        builder = builder.add_extension(_issued_by(identifier), critical=False)
        certificate = builder.sign(key, hashes.SHA256())
        return cls(certificate.public_bytes(serialization.Encoding.PEM), _key_pem(key), clock=clock)

    @property
    def pem(self) -> bytes:
        """Certificate and key."""
        return self.certificate + self.key

    @property
    def valid_now(self) -> bool:
        """True if the authority has not expired, and is not from the future: the clock may have been wrong."""
        return _is_valid(self._certificate, self._clock)

    @property
    def remaining(self) -> timedelta:
        """Time until the authority expires."""
        return self._certificate.not_valid_after_utc - utc(self._clock)

    @property
    def lifetime(self) -> timedelta:
        """Time for which the authority was created."""
        return self._certificate.not_valid_after_utc - self._certificate.not_valid_before_utc - BACKDATED

    def server(self, hosts: Iterable[str], lifetime: timedelta = WEEK) -> Pair:
        """Return a certificate for a server with these names and addresses.

        Raises:
            ValueError: `hosts` is empty.
        """
        names = [_general_name(host) for host in hosts]
        if not names:
            raise ValueError("a serving certificate needs at least one host")
        subject = _common_name(str(names[0].value)[:_MAX_COMMON_NAME])
        extension = x509.SubjectAlternativeName(names)
        return self._issue(subject, ExtendedKeyUsageOID.SERVER_AUTH, lifetime, extension)

    def client(self, name: str, groups: Iterable[str] = (), lifetime: timedelta = WEEK) -> Pair:
        """Return a certificate for a user: Kubernetes reads the name from CN, the groups from O."""
        organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return self._issue(subject, ExtendedKeyUsageOID.CLIENT_AUTH, lifetime)

    def has_signed(self, certificate: bytes, hosts: Iterable[str]) -> bool:
        """Return whether this authority signed the certificate (PEM), which is for all hosts and valid now."""
        try:
            loaded = x509.load_pem_x509_certificate(certificate)
            loaded.verify_directly_issued_by(self._certificate)
            names = loaded.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
            return False
        return _is_valid(loaded, self._clock) and all(_general_name(host) in names for host in hosts)

    def _issue(
        self,
        subject: x509.Name,
        purpose: x509.ObjectIdentifier,
        lifetime: timedelta,
        names: x509.SubjectAlternativeName | None = None,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(subject, self._certificate.subject, key.public_key(), lifetime, self._clock)
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        builder = builder.add_extension(_issued_by(self._identifier), critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        signed = builder.sign(self._key, hashes.SHA256())
        return signed.public_bytes(serialization.Encoding.PEM), _key_pem(key)


def self_signed(name: str, hosts: Iterable[str], lifetime: timedelta, *, clock: Clock = SYSTEM_CLOCK) -> bytes:
    """Return a self-signed serving certificate and its key in one PEM."""
    key, subject = ec.generate_private_key(ec.SECP256R1()), _common_name(name)
    names = x509.SubjectAlternativeName([_general_name(host) for host in hosts])
    builder = _builder(subject, subject, key.public_key(), lifetime, clock)
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    certificate = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    return certificate.public_bytes(serialization.Encoding.PEM) + _key_pem(key)


def expiry(certificate: bytes) -> datetime:
    """Return the time until which the first certificate in PEM text is valid; raise `ValueError` if there is none."""
    return x509.load_pem_x509_certificate(certificate).not_valid_after_utc


def common_name(certificate: bytes) -> str:
    """Return the subject's name in the first certificate in PEM text; raise `ValueError` if there is none."""
    names = x509.load_pem_x509_certificate(certificate).subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    return str(names[0].value) if names else ""


def dns_names(certificate: bytes) -> list[str]:
    """Return the host names that a certificate in PEM text is for; raise `ValueError` if there is none."""
    extensions = x509.load_pem_x509_certificate(certificate).extensions
    return extensions.get_extension_for_class(x509.SubjectAlternativeName).value.get_values_for_type(x509.DNSName)


def merge_bundle(bundle: bytes, *, add: bytes = b"", remove: bytes = b"", clock: Clock = SYSTEM_CLOCK) -> bytes:
    """Return the certificates of a bundle (PEM) with some added and removed, without duplicates and expired ones."""
    added = _BLOCK.findall(add)
    removed = set(_BLOCK.findall(remove)) - set(added)
    blocks = [block for block in dict.fromkeys([*_BLOCK.findall(bundle), *added]) if block not in removed]
    return b"".join(block + b"\n" for block in blocks if not _has_expired(block, clock))


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    public: ec.EllipticCurvePublicKey,
    lifetime: timedelta,
    clock: Clock,
    *,
    is_authority: bool = False,
) -> x509.CertificateBuilder:
    now = utc(clock)
    constraints = x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None)
    usage = x509.KeyUsage(
        digital_signature=not is_authority, key_cert_sign=is_authority, crl_sign=is_authority, **_NO_USAGE
    )
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(public)
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - BACKDATED).not_valid_after(now + lifetime)
    return builder.add_extension(constraints, critical=True).add_extension(usage, critical=True)


def _issued_by(identifier: x509.SubjectKeyIdentifier) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier)


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _is_valid(certificate: x509.Certificate, clock: Clock) -> bool:
    return certificate.not_valid_before_utc <= utc(clock) < certificate.not_valid_after_utc


def _has_expired(certificate: bytes, clock: Clock) -> bool:
    """Return whether a certificate (PEM) is of no use any more; one from the future may be so to a slow clock alone."""
    try:
        return expiry(certificate) <= utc(clock)
    except ValueError:
        return True
