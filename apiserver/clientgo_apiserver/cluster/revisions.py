"""ControllerRevisions: the templates that StatefulSets and DaemonSets have had."""

from typing import ClassVar

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.cluster.base import controller_reference, is_deleting
from clientgo_apiserver.cluster.podcontrol import WorkloadController
from clientgo_apiserver.cluster.rollout import DEFAULT_HISTORY, template_hash
from clientgo_apiserver.storage.stored import Key, name_of

REVISIONS: Key = ("apps", "controllerrevisions")
HASH_LABEL = "controller-revision-hash"


class RevisionedController(WorkloadController):
    """Controller of workloads whose templates are recorded as ControllerRevisions."""

    _revision_label: ClassVar[str] = HASH_LABEL

    def _revisions(self, obj: Object) -> list[Object]:
        """Return the revisions, the oldest first; the last one has the current template.

        As in Kubernetes, a workload adopts the revisions of a deleted one that its selector matches.
        """
        revisions = [*self._owned.by(obj, REVISIONS)]
        for orphan in self._owned.orphans(REVISIONS, obj["metadata"]["namespace"]):
            if not is_deleting(orphan) and self._selects(obj, orphan):
                owners = [*(orphan["metadata"].get("ownerReferences") or ()), controller_reference(obj)]
                meta = {"uid": orphan["metadata"]["uid"], "ownerReferences": owners}
                revisions.append(self._internal.patch(REVISIONS, *name_of(orphan), {"metadata": meta}))
        revisions.sort(key=lambda each: int(each["revision"]))
        data = {"spec": {"template": {**obj["spec"]["template"], "$patch": "replace"}}}
        latest = int(revisions[-1]["revision"]) if revisions else 0
        same = next((each for each in reversed(revisions) if each["data"] == data), None)
        if same is None:
            revisions.append(self._create_revision(obj, data, latest + 1))
        elif same is not revisions[-1]:
            newest = self._internal.patch(REVISIONS, *name_of(same), {"revision": latest + 1})
            revisions = [each for each in revisions if each is not same] + [newest]
        return revisions

    def _create_revision(self, obj: Object, data: Object, number: int) -> Object:
        meta, digest = obj["metadata"], template_hash(obj)
        labels = (obj["spec"]["template"].get("metadata") or {}).get("labels") or {}
        revision = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": f"{meta['name']}-{digest}",
                "namespace": meta["namespace"],
                "labels": {**labels, self._revision_label: digest},
                "annotations": meta.get("annotations") or {},
                "ownerReferences": [controller_reference(obj)],
            },
            "data": data,
            "revision": number,
        }
        return self._internal.create(REVISIONS, meta["namespace"], revision)

    def _trim_revisions(self, obj: Object, revisions: list[Object], used: set[str]) -> None:
        """Delete the oldest unused revisions beyond the workload's limit; `used` has names or hashes."""
        limit = obj["spec"].get("revisionHistoryLimit")
        unused = [each for each in revisions[:-1] if not {each["metadata"]["name"], hash_of(each)} & used]
        for each in unused[: max(0, len(unused) - (DEFAULT_HISTORY if limit is None else int(limit)))]:
            self._internal.delete(REVISIONS, *name_of(each), uid=each["metadata"]["uid"])


def hash_of(obj: Object) -> str:
    """Return the hash of a pod's template, or of a DaemonSet's revision."""
    return str((obj["metadata"].get("labels") or {}).get(HASH_LABEL, ""))
