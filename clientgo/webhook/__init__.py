"""Admission and conversion webhooks.

    server = WebhookServer()
    webhook_managed_by(server).for_(Home).with_defaulter(HomeDefaulter()).with_validator(HomeValidator()).complete()
    server.start(stop)

`clientgo.webhook.field` has the errors of fields. Certificates for development are in `clientgo.webhook.rotation`,
which requires the extra `clientgo[secure-serving]`.
"""

from clientgo.webhook.admission import (
    AdmissionRequest,
    AdmissionResponse,
    UserInfo,
    allowed,
    denied,
    errored,
    patch_response,
    patched,
    validation_response,
)
from clientgo.webhook.builder import WebhookBuilder, mutate_path, validate_path, webhook_managed_by
from clientgo.webhook.handlers import (
    AdmissionHandler,
    AsyncAdmissionHandler,
    Defaulter,
    Denied,
    Validator,
    Warnings,
    defaulting,
    multi_mutating,
    multi_validating,
    validating,
)
from clientgo.webhook.hub import ConversionError, Convertible, Hub
from clientgo.webhook.server import WebhookFlags, WebhookServer, client_authority, tls_minimum, webhooks_enabled

__all__ = [
    "WebhookServer", "WebhookFlags", "webhooks_enabled", "tls_minimum", "client_authority",
    "webhook_managed_by", "WebhookBuilder", "mutate_path", "validate_path",
    "Defaulter", "Validator", "Warnings", "Denied", "AdmissionHandler", "AsyncAdmissionHandler",
    "AdmissionRequest", "AdmissionResponse", "UserInfo",
    "allowed", "denied", "errored", "patched", "patch_response", "validation_response",
    "defaulting", "validating", "multi_mutating", "multi_validating",
    "Hub", "Convertible", "ConversionError",
]  # fmt: skip
