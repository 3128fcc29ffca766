"""Controller of the Secrets that hold tokens of service accounts."""

import base64

from clientgo_apiserver.api.resources import Object
from clientgo_apiserver.auth.serviceaccounts import ACCOUNT_NAME, ACCOUNT_UID, TOKEN_TYPE, secret_token
from clientgo_apiserver.cluster.base import InternalController, annotation
from clientgo_apiserver.storage.keys import ACCOUNTS, SECRETS
from clientgo_apiserver.storage.stored import Key, name_of


class AccountTokenController(InternalController):
    """Fills each Secret of a service account, and removes those whose account does not exist."""

    _sources = (SECRETS,)
    _further = (ACCOUNTS,)

    def _changed(self, kind: str, key: Key, old: Object | None, new: Object | None) -> None:
        if key == SECRETS and new is not None and new.get("type") == TOKEN_TYPE:
            self._schedule(*name_of(new))
        elif key == ACCOUNTS and old is not None and new is None:
            namespace, account = name_of(old)
            for secret in self._store.list(SECRETS, namespace):
                if secret.get("type") == TOKEN_TYPE and annotation(secret, ACCOUNT_NAME) == account:
                    self._schedule(*name_of(secret))

    def _sync(self, *names: str) -> None:
        namespace, name = names
        secret = self._store.get(SECRETS, namespace, name)
        if secret is None or secret.get("type") != TOKEN_TYPE:
            return
        account = self._store.get(ACCOUNTS, namespace, annotation(secret, ACCOUNT_NAME))
        uid = account["metadata"]["uid"] if account is not None else ""
        if account is None or annotation(secret, ACCOUNT_UID) not in ("", uid):
            self._internal.delete(SECRETS, namespace, name, uid=secret["metadata"]["uid"])
            return
        data = secret.get("data") or {}
        root_ca = self._state.options.root_ca
        missing = {"namespace": namespace, **({"ca.crt": root_ca} if root_ca else {})}
        if not data.get("token"):
            missing["token"] = secret_token(self._state, account, secret)
        added = {field: base64.b64encode(text.encode()).decode() for field, text in missing.items()}
        added = {field: text for field, text in added.items() if data.get(field) != text}
        if added and not secret.get("immutable"):
            meta = {"uid": secret["metadata"]["uid"], "annotations": {ACCOUNT_UID: uid}}
            self._internal.patch(SECRETS, namespace, name, {"metadata": meta, "data": added})
