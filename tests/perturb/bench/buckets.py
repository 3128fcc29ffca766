"""Buckets of a provider outside of the cluster: mistakes about what happened before a crash, and about cleaning up."""

from contextlib import suppress
from secrets import token_hex

from clientgo.errors import AlreadyExists, NotFound
from clientgo.kubernetes.types.core_v1 import ConfigMap, Secret
from clientgo.manager import Finalizer, Result, TerminalError
from clientgo.meta import ObjectMeta, ObjectName, meta_for
from tests.perturb.bench.kinds import BenchReconciler, Bucket, config

FINALIZER = "bench.example.com/bucket"


def key(bucket: Bucket) -> str:
    """Return the bucket's name at the provider."""
    return f"{bucket.metadata.namespace}/{bucket.metadata.name}"


class Charged(BenchReconciler[Bucket]):
    """Charges for a bucket once; the provider ignores a second charge with the same key."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Charge, then record it."""
        if bucket.status.phase != "Charged" and self.is_current(bucket):
            self.charge(bucket)
        self.observed(bucket, phase="Charged")
        return None

    def charge(self, bucket: Bucket) -> None:
        """Charge with the object's uid as the key."""
        self.cloud.run(key(bucket), bucket.metadata.uid)


class ChargedTwice(Charged):
    """Bug: a crash between the charge and the status leads to a second charge."""

    def charge(self, bucket: Bucket) -> None:
        """Charge without a key."""
        self.cloud.run(key(bucket))


class Finalized(BenchReconciler[Bucket], finalizer=FINALIZER):
    """Creates the bucket after the finalizer, and removes it before."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Create the bucket, if the object still exists."""
        if self.is_current(bucket):
            self.cloud.records[key(bucket)] = bucket.spec.plan
            self.observed(bucket, phase="Ready")
            return None
        return Result(requeue_after=1.0)

    def finalize(self, bucket: Bucket) -> Result | None:
        """Remove the bucket."""
        self.cloud.records.pop(key(bucket), None)
        return None


class FinalizerFirst(Finalized):
    """Bug: the finalizer is removed before the bucket; a crash in between leaves the bucket for ever."""

    def reconcile_request(self, request: ObjectName) -> Result | None:
        """Remove the finalizer of a deleted object, then clean up."""
        bucket = self.client.find(Bucket, request)
        if bucket is not None and bucket.metadata.deletion_timestamp is not None:
            with suppress(NotFound):
                Finalizer(self.client, self.declaration.finalizer or "").remove(bucket)
            self.finalize(bucket)
            return None
        return super().reconcile_request(request)


class WithoutFinalizer(BenchReconciler[Bucket]):
    """Bug: the bucket is removed when the object's deletion is seen, and a deletion during a crash is not seen."""

    def reconcile_request(self, request: ObjectName) -> Result | None:
        """Create or remove the bucket."""
        bucket = self.client.find(Bucket, request)
        if bucket is None or bucket.metadata.deletion_timestamp is not None:
            self.cloud.records.pop(str(request), None)
            return None
        self.cloud.records[str(request)] = bucket.spec.plan
        self.observed(bucket, phase="Ready")
        return None

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Do nothing: `reconcile_request` does all."""


class DoneByName(Finalized):
    """Bug: what was created is remembered by name; an object deleted and created again has that name, too."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Skip names seen before."""
        done: set[str] = self.__dict__.setdefault("done", set())
        if key(bucket) in done:
            return None
        result = super().reconcile(bucket)
        if result is None:
            done.add(key(bucket))
        return result

    def reconcile_request(self, request: ObjectName) -> Result | None:
        """Forget an object that is gone."""
        if self.client.find(Bucket, request) is None:
            self.__dict__.setdefault("done", set()).discard(str(request))
        return super().reconcile_request(request)


class SecretBucket(BenchReconciler[Bucket], owns=[Secret]):
    """Keeps the password in a Secret: created once, and under one name."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Create the Secret, and delete the one of an earlier name."""
        if not self.is_current(bucket):
            return Result(requeue_after=1.0)
        name = ObjectName(bucket.metadata.namespace, bucket.spec.secret_name)
        if self.client.find(Secret, name) is None:
            self.create(bucket)
        self.clean_up(bucket)
        self.observed(bucket, name=name.name)
        return None

    def create(self, bucket: Bucket) -> None:
        """Create the Secret; one that exists already has the password."""
        with suppress(AlreadyExists):
            self.client.create(self.secret(bucket), owner=bucket)

    def secret(self, bucket: Bucket) -> Secret:
        """Return a Secret with the password."""
        meta = meta_for(bucket, bucket.spec.secret_name, labels={"bucket": bucket.metadata.name})
        return Secret(metadata=meta, data={"password": self.password(bucket).encode()})

    def password(self, bucket: Bucket) -> str:
        """Return the provider's password, which is set once."""
        return self.cloud.records.setdefault(key(bucket), "password")

    def clean_up(self, bucket: Bucket) -> None:
        """Delete Secrets of other names."""
        namespace, label = bucket.metadata.namespace, f"bucket={bucket.metadata.name}"
        for secret in self.client.list(Secret, namespace=namespace, label_selector=label):
            if secret.metadata.name != bucket.spec.secret_name:
                self.client.delete(secret, missing_ok=True)


class OldNameStays(SecretBucket):
    """Bug: after a change of the name the old Secret stays."""

    def clean_up(self, bucket: Bucket) -> None:
        """Leave them."""


class ForgetsOldName(SecretBucket):
    """Bug: the status has the new name before the old Secret is deleted, so that a crash in between leaves it."""

    def clean_up(self, bucket: Bucket) -> None:
        """Record the new name, then delete the Secret of the recorded one."""
        before = bucket.status.name
        self.observed(bucket, name=bucket.spec.secret_name)
        if before not in (None, bucket.spec.secret_name):
            old = Secret(metadata=ObjectMeta(namespace=bucket.metadata.namespace, name=before))
            self.client.delete(old, missing_ok=True)


class PasswordAgain(SecretBucket):
    """Bug: a Secret that the cache does not have yet is written with a new password."""

    def password(self, bucket: Bucket) -> str:
        """Set a new password at the provider."""
        self.cloud.records[key(bucket)] = self.cloud.records.get(key(bucket), "") + "password"
        return self.cloud.records[key(bucket)]

    def create(self, bucket: Bucket) -> None:
        """Apply, whatever exists."""
        self.client.apply(self.secret(bucket), owner=bucket, force=True)


class ExistsIsFatal(SecretBucket):
    """Bug: that its own first attempt has succeeded is an error without a retry."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Create until the status has the name."""
        if bucket.status.name is None:
            try:
                self.client.create(self.secret(bucket), owner=bucket)
            except AlreadyExists as error:
                raise TerminalError(f"Secret {bucket.spec.secret_name} exists") from error
            self.observed(bucket, name=bucket.spec.secret_name)
        return None


class DeletesOther(BenchReconciler[Bucket], finalizer=FINALIZER):
    """Keeps a ConfigMap without an owner, and deletes it in the end."""

    missing_ok = True

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Write the ConfigMap, if the object still exists."""
        if not self.is_current(bucket):
            return Result(requeue_after=1.0)
        self.client.apply(config(bucket, f"{bucket.metadata.name}-facts", {"plan": bucket.spec.plan}), force=True)
        return None

    def finalize(self, bucket: Bucket) -> Result | None:
        """Delete the ConfigMap."""
        self.client.delete(config(bucket, f"{bucket.metadata.name}-facts", {}), missing_ok=self.missing_ok)
        return None


class MissingIsAnError(DeletesOther):
    """Bug: what is deleted already cannot be deleted, and the object stays for ever."""

    missing_ok = False


class TwoParts(BenchReconciler[Bucket], owns=[Secret, ConfigMap]):
    """Keeps a Secret and a ConfigMap."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Write both."""
        name = ObjectName(bucket.metadata.namespace, f"{bucket.metadata.name}-key")
        if self.client.find(Secret, name) is None:
            with suppress(AlreadyExists):
                self.client.create(Secret(metadata=meta_for(bucket, name.name), data={"a": b"b"}), owner=bucket)
        elif self.is_finished():
            return None
        self.client.apply(config(bucket, bucket.metadata.name, {"plan": bucket.spec.plan}), owner=bucket, force=True)
        return None

    def is_finished(self) -> bool:
        """Return whether a Secret means that all is done."""
        return False


class FirstPartMeansDone(TwoParts):
    """Bug: the first part is the sign that all parts exist."""

    def is_finished(self) -> bool:
        """Trust the first part."""
        return True


class Sized(BenchReconciler[Bucket], owns=[ConfigMap]):
    """Rejects the size 0 in the status, and goes on with the next valid size."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Judge the current size."""
        if self.gives_up(bucket):
            return None
        desired = config(bucket, bucket.metadata.name, {"size": str(bucket.spec.size)})
        if bucket.spec.size == 0:
            if self.is_current(bucket):
                self.client.delete(desired, missing_ok=True)
            self.observed(bucket, phase="Failed")
            return None
        self.client.apply(desired, owner=bucket, force=True)
        self.observed(bucket, phase="Ready")
        return None

    def gives_up(self, bucket: Bucket) -> bool:
        """Return whether nothing is tried any more."""
        return False


class FailedForEver(Sized):
    """Bug: a failure is never looked at again."""

    def gives_up(self, bucket: Bucket) -> bool:
        """Stop after a failure."""
        return bucket.status.phase == "Failed"


class PasswordByCreate(BenchReconciler[Bucket], owns=[Secret]):
    """Gives each bucket a random password, once."""

    def reconcile(self, bucket: Bucket) -> Result | None:
        """Create the Secret, unless it exists."""
        name = ObjectName(bucket.metadata.namespace, f"{bucket.metadata.name}-password")
        if self.client.find(Secret, name) is None:
            self.write(bucket, Secret(metadata=meta_for(bucket, name.name), string_data={"password": token_hex(8)}))
        self.observed(bucket, name=name.name)
        return None

    def write(self, bucket: Bucket, secret: Secret) -> None:
        """Create it; a Secret that the cache does not show yet is a conflict."""
        self.client.create(secret, owner=bucket)


class PasswordByApply(PasswordByCreate):
    """Bug: where an old cache does not show the Secret, its password is overwritten by a new one."""

    def write(self, bucket: Bucket, secret: Secret) -> None:
        """Apply it."""
        self.client.apply(secret, owner=bucket, force=True)
