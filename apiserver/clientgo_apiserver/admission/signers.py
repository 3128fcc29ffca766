"""Permissions on signers of certificates: to approve and sign requests, and to attest trusted authorities.

A permission is a verb on the resource `signers`, by the signer's name or its domain, as `example.com/*`.
"""

from clientgo_apiserver.admission.escalation import without_owners
from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.api.status import forbidden, forbidden_field, invalid
from clientgo_apiserver.auth.authorization import Attributes, decide
from clientgo_apiserver.registry.write import Write
from clientgo_apiserver.state import State

_GROUP = "certificates.k8s.io"


def check_signer(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Check that the user may do this with certificates of the object's signer (403; 422 for a pod's certificate)."""
    if write.resource.group != _GROUP or (write.resource.plural, write.subresource) not in _CHECKS:
        return
    verb, reason = _CHECKS[write.resource.plural, write.subresource]
    if old is not None and _is_unchanged(write, new, old):
        return
    signer = ((old or new).get("spec") or {}).get("signerName") or ""
    if (verb == "attest" and not signer) or _may(state, write, verb, signer):
        return
    if reason:
        raise forbidden(write.resource, write.name or new["metadata"]["name"], f'{reason} signerName "{signer}"')
    who = f'User "{write.request.user.name}" is not permitted to "{verb}" for signer "{signer}"'
    raise invalid(write.resource.kind, _GROUP, write.name, [forbidden_field("spec.signerName", who)])


def _is_unchanged(write: Write, new: Object, old: Object) -> bool:
    if write.subresource == "status":
        before, after = (obj.get("status") or {} for obj in (old, new))
        return before == after
    return not write.subresource and without_owners(new) == without_owners(old)


def _may(state: State, write: Write, verb: str, signer: str) -> bool:
    return any(
        decide(state, Attributes(write.request.user, verb, _GROUP, "*", "signers", "", "", name)).allowed
        for name in (signer, f"{signer.partition('/')[0]}/*")
    )


_CHECKS = {
    ("certificatesigningrequests", "approval"): ("approve", "user not permitted to approve requests with"),
    ("certificatesigningrequests", "status"): ("sign", "user not permitted to sign requests with"),
    ("podcertificaterequests", "status"): ("sign", ""),
    ("clustertrustbundles", ""): ("attest", "user not permitted to attest for"),
}
"""Verb and the reason of a rejection, by resource and subresource."""
