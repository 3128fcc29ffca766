"""Admission that the server does itself, as kube-apiserver's built-in plugins do: by kind, without webhooks.

They hold for the server's own controllers too: what makes pods in a namespace that refuses them is refused.
"""

from collections.abc import Callable
from typing import Any

from clientgo.apiserver.admission import podsecurity
from clientgo.apiserver.admission.limitranges import check_ranges, with_range_defaults
from clientgo.apiserver.admission.ownerpermissions import check_owners
from clientgo.apiserver.auth.escalation import check_escalation
from clientgo.apiserver.auth.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.state import State
from clientgo.apiserver.storage.stored import Key

Object = dict[str, Any]
Plugin = Callable[[State, Write, Object, Object | None], None]


def check_policies(state: State, write: Write, new: Object, old: Object | None) -> None:
    """Check an object before it is created or replaces `old`; writes to subresources are checked for owners only.

    Raises:
        ApiFailure: it is refused.
    """
    check_owners(state, write, new, old)
    if not write.subresource:
        for plugin in _PLUGINS.get(write.resource.storage, ()):
            plugin(state, write, new, old)


def set_policy_defaults(state: State, write: Write, new: Object) -> Object:
    """An object that is about to be created, with what policies of its namespace add to it."""
    return with_range_defaults(state, write, new) if write.resource.storage == _PODS else new


_PODS: Key = ("", "pods")
_PLUGINS: dict[Key, tuple[Plugin, ...]] = {
    **dict.fromkeys((ROLES, CLUSTER_ROLES, ROLE_BINDINGS, CLUSTER_ROLE_BINDINGS), (check_escalation,)),
    _PODS: (check_ranges, podsecurity.check_pod),
    ("", "namespaces"): (podsecurity.check_namespace,),
    **dict.fromkeys(
        (
            ("", "podtemplates"),
            ("", "replicationcontrollers"),
            ("apps", "daemonsets"),
            ("apps", "deployments"),
            ("apps", "replicasets"),
            ("apps", "statefulsets"),
            ("batch", "cronjobs"),
            ("batch", "jobs"),
        ),
        (podsecurity.check_workload,),
    ),
}
