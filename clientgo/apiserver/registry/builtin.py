"""The built-in kinds, as a table.

A row is: plural, kind, scope (N namespaced, C cluster), short names, categories, flags. Flags: `s` status subresource,
`x` scale subresource, `g` counts generations, `r` DELETE returns the object, `v` updates need a resourceVersion, `p`
PUT may create, `-dc` no deletecollection, `c` create only. Groups and rows are in the order of a real server's
discovery documents.
"""

from collections.abc import Iterator

from clientgo.apiserver.registry.registry import ALL_VERBS, Registry, Resource
from clientgo.meta.scheme import ScaleSubresource

_TABLE: dict[str, str] = {
    "v1": """
        bindings               Binding               N -      -   c
        configmaps             ConfigMap             N cm     -   -
        endpoints              Endpoints             N ep     -   p
        events                 Event                 N ev     -   p
        limitranges            LimitRange            N limits -   p
        namespaces             Namespace             C ns     -   s,r,-dc
        nodes                  Node                  C no     -   s
        persistentvolumeclaims PersistentVolumeClaim N pvc    -   s,r
        persistentvolumes      PersistentVolume      C pv     -   s,r
        pods                   Pod                   N po     all s,g,r
        podtemplates           PodTemplate           N -      -   g,r
        replicationcontrollers ReplicationController N rc     all s,x,g
        resourcequotas         ResourceQuota         N quota  -   s,r
        secrets                Secret                N -      -   -
        serviceaccounts        ServiceAccount        N sa     -   r
        services               Service               N svc    all s,r,p
    """,
    "apps/v1": """
        controllerrevisions    ControllerRevision    N -      -   -
        daemonsets             DaemonSet             N ds     all s,g
        deployments            Deployment            N deploy all s,x,g
        replicasets            ReplicaSet            N rs     all s,x,g
        statefulsets           StatefulSet           N sts    all s,x,g
    """,
    "events.k8s.io/v1": "events Event N ev - p",
    "authentication.k8s.io/v1": """
        selfsubjectreviews     SelfSubjectReview     C -      -   c
        tokenreviews           TokenReview           C -      -   c
    """,
    "authorization.k8s.io/v1": """
        localsubjectaccessreviews LocalSubjectAccessReview N - - c
        selfsubjectaccessreviews  SelfSubjectAccessReview  C - - c
        selfsubjectrulesreviews   SelfSubjectRulesReview   C - - c
        subjectaccessreviews      SubjectAccessReview      C - - c
    """,
    "autoscaling/v2": "horizontalpodautoscalers HorizontalPodAutoscaler N hpa all s",
    "autoscaling/v1": "horizontalpodautoscalers HorizontalPodAutoscaler N hpa all s",
    "batch/v1": """
        cronjobs               CronJob               N cj     all s,g
        jobs                   Job                   N -      all s,g
    """,
    "networking.k8s.io/v1": """
        ingressclasses         IngressClass          C -      -   g
        ingresses              Ingress               N ing    -   s,g
        networkpolicies        NetworkPolicy         N netpol -   g
    """,
    "policy/v1": "poddisruptionbudgets PodDisruptionBudget N pdb - s,g,v",
    "rbac.authorization.k8s.io/v1": """
        clusterrolebindings    ClusterRoleBinding    C -      -   p
        clusterroles           ClusterRole           C -      -   p
        rolebindings           RoleBinding           N -      -   p
        roles                  Role                  N -      -   p
    """,
    "storage.k8s.io/v1": "storageclasses StorageClass C sc - r",
    "admissionregistration.k8s.io/v1": """
        mutatingwebhookconfigurations   MutatingWebhookConfiguration   C - api-extensions g,v
        validatingwebhookconfigurations ValidatingWebhookConfiguration C - api-extensions g,v
    """,
    "apiextensions.k8s.io/v1": "customresourcedefinitions CustomResourceDefinition C crd,crds api-extensions s,g,v",
    "scheduling.k8s.io/v1": "priorityclasses PriorityClass C pc - g",
    "coordination.k8s.io/v1": "leases Lease N - - p,v",
    "discovery.k8s.io/v1": "endpointslices EndpointSlice N - - g",
}

# Kubernetes registers these beside metadata.name and metadata.namespace (the field label conversions of each group).
_SELECTABLE: dict[str, str] = {
    "v1/events": "involvedObject.kind involvedObject.namespace involvedObject.name involvedObject.uid"
    " involvedObject.apiVersion involvedObject.resourceVersion involvedObject.fieldPath reason reportingComponent"
    " source type",
    "events.k8s.io/v1/events": "regarding.kind regarding.namespace regarding.name regarding.uid regarding.apiVersion"
    " regarding.resourceVersion regarding.fieldPath reason reportingController type",
    "v1/namespaces": "status.phase",
    "v1/nodes": "spec.unschedulable",
    "v1/pods": "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName spec.hostNetwork"
    " status.phase status.podIP status.nominatedNodeName",
    "v1/replicationcontrollers": "status.replicas",
    "v1/secrets": "type",
    "v1/services": "spec.clusterIP spec.type",
    "apps/v1/replicasets": "status.replicas",
    "batch/v1/jobs": "status.successful",
}
_SINGULARS = {"endpoints": "endpoints"}
_STORAGE_VERSIONS = {"autoscaling": "v2", "events.k8s.io": "v1"}
_REPLICAS = ScaleSubresource(".spec.replicas", ".status.replicas", ".spec.selector")


def builtin_resources() -> Iterator[Resource]:
    """Yield every built-in resource, in the order of discovery."""
    for group_version, rows in _TABLE.items():
        group, _, version = group_version.rpartition("/")
        for row in rows.strip().splitlines():
            yield _resource(group, version, row.split())


def builtin_registry() -> Registry:
    """Return a registry of the built-in kinds."""
    return Registry(builtin_resources())


def _resource(group: str, version: str, row: list[str]) -> Resource:
    plural, kind, scope, short, categories, flag_text = row
    flags = flag_text.split(",")
    verbs = ("create",) if "c" in flags else ALL_VERBS
    if "-dc" in flags:
        verbs = tuple(verb for verb in verbs if verb != "deletecollection")
    return Resource(
        group=group,
        version=version,
        plural=plural,
        kind=kind,
        singular=_SINGULARS.get(plural, kind.lower()),
        list_kind=kind + "List",
        namespaced=scope == "N",
        short_names=() if short == "-" else tuple(short.split(",")),
        categories=() if categories == "-" else tuple(categories.split(",")),
        verbs=verbs,
        status="s" in flags,
        generation="g" in flags,
        unconditional_update="v" not in flags,
        create_on_update="p" in flags,
        returns_deleted="r" in flags,
        scale=_REPLICAS if "x" in flags else None,
        storage_version=_STORAGE_VERSIONS.get(group, version),
        storage_group="" if group == "events.k8s.io" else None,
        selectable_fields=tuple(_SELECTABLE.get(f"{group}/{version}/{plural}".lstrip("/"), "").split()),
    )
