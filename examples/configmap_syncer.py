"""Copies ConfigMaps into other namespaces: the annotation `sync.example.com/to` is a label selector of namespaces.

clientgo run examples/configmap_syncer.py
"""

from clientgo.kubernetes.types.core_v1 import ConfigMap, Namespace
from clientgo.manager import ApiReader, Client, ControllerBuilder, Reconciler
from clientgo.meta import ObjectMeta, ObjectName, object_name
from clientgo.typed import DeleteOptions, Preconditions

TO, SOURCE = "sync.example.com/to", "sync.example.com/source"


class ConfigMapSyncer(Reconciler[ConfigMap]):
    """Keeps a copy of each annotated ConfigMap in the namespaces that it selects, and in no others."""

    def setup(self, builder: ControllerBuilder) -> None:
        """Reconcile the source of a changed copy, and all ConfigMaps if a namespace changes."""
        builder.watches(ConfigMap, source_of)
        builder.watches(Namespace, lambda _: [object_name(config) for config in self.client.list(ConfigMap)])

    def reconcile_request(self, request: ObjectName) -> None:
        """Create, update and delete the copies of one ConfigMap, which may be deleted itself."""
        source = self.client.find(ConfigMap, request) or ConfigMap()
        desired = namespaces_of(source, self.client)
        copies = {copy.metadata.namespace: copy for copy in self.client.list(ConfigMap) if request in source_of(copy)}
        if copies.keys() - desired:  # caches may be old after a restart: not a reason to delete
            source = self.client.api_reader.find(ConfigMap, request) or ConfigMap()
            desired = namespaces_of(source, self.client.api_reader)
        for namespace in copies.keys() - desired:
            only_this = DeleteOptions(preconditions=Preconditions(uid=copies[namespace].metadata.uid))
            self.client.delete(copies[namespace], only_this, missing_ok=True)
        for namespace in desired:
            meta = ObjectMeta(name=request.name, namespace=namespace, annotations={SOURCE: str(request)})
            if namespace not in copies or copies[namespace].data != source.data:
                self.client.apply(ConfigMap(metadata=meta, data=source.data), force=True)


def namespaces_of(source: ConfigMap, reader: Client | ApiReader) -> set[str]:
    """Return the names of the namespaces that get a copy, as the reader sees them."""
    selector = source.metadata.annotations.get(TO)
    selected = reader.list(Namespace, label_selector=selector) if selector else []
    return {namespace.metadata.name for namespace in selected} - {source.metadata.namespace}


def source_of(copy: ConfigMap) -> list[ObjectName]:
    """Return the name of the ConfigMap that this is a copy of, if it is one."""
    source = copy.metadata.annotations.get(SOURCE)
    return [ObjectName.parse(source)] if source else []
