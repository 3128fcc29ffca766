"""`/debug/flags/v`: how much is logged, read and changed while the program runs.

    curl -X PUT -d 4 localhost:8080/debug/flags/v

The path and the verbs are those of Kubernetes' components; the body is klog's number or a level's name.
"""

import logging

from clientgo.log import current_level, set_level
from clientgo.serving.message import Response, ServingRequest
from clientgo.serving.routing import Access, Route

log = logging.getLogger(__name__)


def log_level_route() -> Route:
    """GET says the level; PUT sets the one its body names, and answers 400 if there is none of that name."""

    def serve(request: ServingRequest) -> Response:
        if request.method != "PUT":
            return Response(200, f"{current_level()}\n")
        former = current_level()
        try:
            set_level(request.body.decode("utf-8", "replace").strip())
        except ValueError as error:
            return Response(400, f"{error}\n")
        # A warning, so that it is there whatever the level has become.
        log.warning("log level changed", extra={"from": former, "to": current_level(), "peer": request.peer})
        return Response(200, f"successfully set the log level to {current_level()}\n")

    return Route(serve, methods=("GET", "PUT"), access=Access.PRIVATE)
