"""Signatures of service account tokens: JSON Web Tokens of ES256, and the key set that verifies them.

The private key is derived from 32 secret bytes. Importing this module loads `cryptography`.
"""

import base64
import binascii
import hashlib
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

ALGORITHM = "ES256"

_SIZE = 32  # bytes of a coordinate, and of each half of a signature
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256
_SCHEME = ec.ECDSA(hashes.SHA256())
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class _Signer(NamedTuple):
    private: ec.EllipticCurvePrivateKey
    public: ec.EllipticCurvePublicKey
    key_id: str


def sign(secret: bytes, claims: dict[str, Any]) -> str:
    """Return a token with these claims."""
    signer = _signer(secret)
    header = {"alg": ALGORITHM, "kid": signer.key_id}
    text = b".".join(_b64(msgspec.json.encode(part)) for part in (header, claims))
    r, s = decode_dss_signature(signer.private.sign(text, _SCHEME))
    return b".".join((text, _b64(r.to_bytes(_SIZE, "big") + s.to_bytes(_SIZE, "big")))).decode()


@lru_cache(maxsize=1024)
def claims_of(secret: bytes, token: str) -> dict[str, Any] | None:
    """Return the claims of a token, or None if it was not signed with this secret; they must not be changed."""
    text, _, encoded = token.encode().rpartition(b".")
    try:
        signature = base64.urlsafe_b64decode(encoded + b"==")
        r, s = (int.from_bytes(half, "big") for half in (signature[:_SIZE], signature[_SIZE:]))
        _signer(secret).public.verify(encode_dss_signature(r, s), text, _SCHEME)
    except (binascii.Error, InvalidSignature, ValueError):
        return None
    return _decode(base64.urlsafe_b64decode(text.rpartition(b".")[2] + b"=="))


def key_set(secret: bytes) -> dict[str, Any]:
    """Return the JSON Web Key Set with the public key."""
    signer = _signer(secret)
    point = signer.public.public_numbers()
    x, y = (_b64(coordinate.to_bytes(_SIZE, "big")).decode() for coordinate in (point.x, point.y))
    key = {"use": "sig", "kty": "EC", "kid": signer.key_id, "crv": "P-256", "alg": ALGORITHM, "x": x, "y": y}
    return {"keys": [key]}


@lru_cache(maxsize=16)
def _signer(secret: bytes) -> _Signer:
    private = ec.derive_private_key(int.from_bytes(secret, "big") % (_ORDER - 1) + 1, ec.SECP256R1())
    public = private.public_key()
    encoded = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return _Signer(private, public, _b64(hashlib.sha256(encoded).digest()).decode())


def _b64(raw: bytes) -> bytes:
    return base64.urlsafe_b64encode(raw).rstrip(b"=")
