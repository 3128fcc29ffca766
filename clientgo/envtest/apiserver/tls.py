"""A certificate authority of the server's own: made when it starts, in memory, gone when it ends.

Keys are P-256, which take a millisecond to make. The authority's key never leaves the process; what it signs is valid
for a week, longer than any test and too short for anybody to build on.
"""

import ipaddress
import ssl
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_VALID = timedelta(days=7)
Pair = tuple[bytes, bytes]  # a certificate and its key, PEM
_EARLIER = timedelta(hours=1)  # clocks of clients may be slow


class Authority:
    """Signs certificates for servers and clients; `certificate` (PEM) is what trusts them."""

    def __init__(self, name: str = "clientgo-embedded-ca") -> None:
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._public = x509.SubjectKeyIdentifier.from_public_key(self._key.public_key())
        builder = self._builder(self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(self._public, critical=False)
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        made = builder.sign(self._key, hashes.SHA256())
        self.certificate = made.public_bytes(serialization.Encoding.PEM)

    def __repr__(self) -> str:
        return "<Authority>"

    def server(self, hosts: Iterable[str]) -> Pair:
        """A certificate for a server that is reached under these names and addresses."""
        names = [_general_name(host) for host in hosts]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
        return self._issue(subject, ExtendedKeyUsageOID.SERVER_AUTH, x509.SubjectAlternativeName(names))

    def client(self, name: str, groups: Iterable[str] = ()) -> Pair:
        """A certificate for a user: Kubernetes reads the name from CN, the groups from O."""
        organizations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*organizations, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        return self._issue(subject, ExtendedKeyUsageOID.CLIENT_AUTH)

    def _issue(
        self, subject: x509.Name, purpose: x509.ObjectIdentifier, names: x509.SubjectAlternativeName | None = None
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = self._builder(subject, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        signer = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(self._public)
        builder = builder.add_extension(signer, critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        made = builder.sign(self._key, hashes.SHA256())
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return made.public_bytes(serialization.Encoding.PEM), private

    def _builder(self, subject: x509.Name, public: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(public)
        builder = builder.serial_number(x509.random_serial_number())
        return builder.not_valid_before(now - _EARLIER).not_valid_after(now + _VALID)


def server_context(pair: Pair, clients: bytes | None = None) -> ssl.SSLContext:
    """A server's TLS context; with `clients` (PEM) it asks for client certificates signed by that authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # The ssl module reads keys from files alone; the folder is this user's, and gone at once.
    with tempfile.TemporaryDirectory(prefix="clientgo-") as folder:
        file = Path(folder) / "pair.pem"
        file.write_bytes(b"".join(pair))
        context.load_cert_chain(file)
    if clients is not None:
        context.load_verify_locations(cadata=clients.decode())
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
