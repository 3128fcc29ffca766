"""fieldValidation: what happens to fields nobody knows: Ignore says nothing, Warn warns, Strict refuses."""

from clientgo.apiserver.apiextensions.causes import invalid_value
from clientgo.apiserver.handlers.writes import Write
from clientgo.apiserver.http.gojson import duplicate_fields
from clientgo.apiserver.http.status import bad_request, invalid


def report_unknown(write: Write, unknown: list[str]) -> None:
    """Warn of, or refuse, fields the kind does not have.

    Raises:
        ApiFailure: strict validation was asked for: 400 for an object, 422 for a patch.
    """
    report(write, [f'unknown field "{path}"' for path in unknown])


def report_duplicates(write: Write, body: bytes) -> None:
    """Warn of, or refuse, fields that stand twice in one object of the body.

    Raises:
        ApiFailure: 400, strict validation was asked for.
    """
    if write.validation != "Ignore":
        report(write, [f'duplicate field "{path}"' for path in duplicate_fields(body)])


def report(write: Write, problems: list[str]) -> None:
    """Treat these problems as the write's fieldValidation says.

    Raises:
        ApiFailure: strict validation was asked for.
    """
    if not problems or write.validation == "Ignore":
        return
    if write.validation == "Warn":
        write.warnings.extend(problems)
        return
    why = "strict decoding error: " + ", ".join(problems)
    if write.patch is not None:
        raise invalid("", "", "", [invalid_value("patch", write.patch(), why)])
    resource = write.resource
    kind = resource.kind
    raise bad_request(f'{kind} in version "{resource.version}" cannot be handled as a {kind}: {why}')
