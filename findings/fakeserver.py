"""Small API server in memory for the scripts in this folder: objects, watches, merge and JSON patches.

It stores what it gets, without validation, and records each request. `Server.answers` replaces single responses.
"""

import json
import queue
import threading
from copy import deepcopy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit

GROUPS = {
    "/api/v1": {"namespaces": "Namespace", "configmaps": "ConfigMap", "events": "Event"},
    "/apis/apiextensions.k8s.io/v1": {"customresourcedefinitions": "CustomResourceDefinition"},
    "/apis/apps/v1": {"deployments": "Deployment"},
    "/apis/example.com/v1": {"things": "Thing"},
}
CLUSTER_SCOPED = {"Namespace", "CustomResourceDefinition"}
VERBS = ["create", "delete", "get", "list", "patch", "update", "watch"]


class Server(ThreadingHTTPServer):
    """A server on a free port of the loopback interface, which serves until the program ends."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.lock = threading.RLock()
        self.objects, self.requests, self.history, self.watches, self.version = {}, [], [], [], 100
        self.answers = {}  # (method, path) -> list of status codes
        threading.Thread(target=self.serve_forever, daemon=True).start()  # noqa: TID251 - the product is not used here

    def handle_error(self, request, client_address):
        """Ignore clients that disconnect."""

    def store(self, path, item):
        """Store an object, and send it to the watches."""
        with self.lock:
            self.version += 1
            item = {"apiVersion": api_version(path), "kind": kind_of(path), **deepcopy(item)}
            item.setdefault("metadata", {}).update(resourceVersion=str(self.version))
            item["metadata"].setdefault("uid", f"uid-{self.version}")
            item["metadata"].setdefault("creationTimestamp", "2026-01-01T00:00:00Z")
            event = {"type": "MODIFIED" if path in self.objects else "ADDED", "object": item}
            self.objects[path] = item
            self.history.append((self.version, path, event))
            for events in self.watches:
                events.put((self.version, path, event))
            return item

    def wait_for(self, condition, seconds=20):
        """Wait until the condition holds; return whether it does."""
        for _ in range(seconds * 20):
            if condition():
                return True
            threading.Event().wait(0.05)
        return False

    def kubeconfig(self, user):
        """Return a kubeconfig of the server, as a dict."""
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "default"}}],
            "clusters": [{"name": "k", "cluster": {"server": self.url}}],
            "users": [{"name": "u", "user": user}],
        }


def discovery(path):
    """Return the document of a discovery path, or None."""
    names = [group.removeprefix("/apis/") for group in GROUPS if group.startswith("/apis/")]
    if path == "/version":
        return {"major": "1", "minor": "35", "gitVersion": "v1.35.0"}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        versions = [{"groupVersion": name, "version": "v1"} for name in names]
        groups = [{"name": v["groupVersion"][:-3], "versions": [v], "preferredVersion": v} for v in versions]
        return {"kind": "APIGroupList", "groups": groups}
    if path in GROUPS:
        rows = [
            {"name": name, "singularName": kind.lower(), "namespaced": kind not in CLUSTER_SCOPED, "kind": kind}
            for plural, kind in GROUPS[path].items()
            for name in (plural, f"{plural}/status")
        ]
        resources = [{**row, "verbs": VERBS} for row in rows]
        return {"kind": "APIResourceList", "groupVersion": path.removeprefix("/apis/"), "resources": resources}
    return None


def group_of(path):
    """Return the path of the group version that a path belongs to, or None."""
    return next((group for group in GROUPS if path.startswith(f"{group}/")), None)


def api_version(path):
    """Return the apiVersion of the object at a path."""
    return group_of(path).removeprefix("/apis/").removeprefix("/api/")


def kind_of(path):
    """Return the kind of the object at a path."""
    return GROUPS[group_of(path)][path.split("/")[-2]]


def belongs(path, group, plural):
    """Return whether the path is that of an object of a resource."""
    return path.startswith(f"{group}/") and f"/{plural}/" in path


def merge(target, patch):
    """Return the result of a merge patch."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        result[key] = merge(result.get(key), value)
        if value is None:
            del result[key]
    return result


def apply(document, patch):
    """Return the result of a merge patch, or of a JSON patch with additions only."""
    if isinstance(patch, dict):
        return merge(document, patch)
    document = deepcopy(document)
    for operation in patch:
        *parents, last = operation["path"].split("/")[1:]
        target = document
        for key in parents:
            target = target[int(key) if isinstance(target, list) else key]
        if operation["op"] == "add" and isinstance(target, list):
            target.insert(int(last), operation["value"])
        elif operation["op"] == "add":
            target[last] = operation["value"]
    return document


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Log nothing."""

    def reply(self, code, item):
        """Send a JSON document."""
        data = json.dumps(item).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def serve(self):
        """Record and answer a request."""
        server, target = self.server, urlsplit(self.path)
        path, query = target.path.rstrip("/"), parse_qs(target.query)
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = json.loads(data) if data else None
        content_type = self.headers.get("Content-Type")
        authorization = self.headers.get("Authorization")
        record = SimpleNamespace(method=self.command, path=target.path, query=query, body=deepcopy(body))
        record.content_type, record.authorization = content_type, authorization
        with server.lock:
            server.requests.append(record)
            planned = server.answers.get((self.command, path))
        if planned:
            code = planned.pop(0)
            return self.reply(code, {"kind": "Status", "status": "Failure", "code": code, "message": "planned"})
        document = discovery(path)
        if document is not None:
            return self.reply(200, document)
        group = group_of(path)
        if group is None:
            return self.reply(404, {"kind": "Status", "status": "Failure", "code": 404, "message": "not found"})
        return self.answer(group, path, query, body)

    def answer(self, group, path, query, body):
        """Answer a request for objects."""
        server, segments = self.server, path.removeprefix(f"{group}/").split("/")
        if segments[0] == "namespaces" and len(segments) > 2:
            segments = segments[2:]
        kind = GROUPS[group][segments[0]]
        if len(segments) == 1 and self.command == "GET" and query.get("watch"):
            return self.watch(group, segments[0], int(query.get("resourceVersion", ["0"])[0]))
        with server.lock:
            if len(segments) == 1 and self.command == "GET":
                items = [item for key, item in server.objects.items() if belongs(key, group, segments[0])]
                meta = {"resourceVersion": str(server.version)}
                return self.reply(200, {"kind": f"{kind}List", "apiVersion": "v1", "metadata": meta, "items": items})
            if self.command == "POST":
                return self.reply(201, server.store(f"{path}/{body['metadata'].get('name')}", body))
            key = path.removesuffix("/status")
            if key not in server.objects:
                return self.reply(404, {"kind": "Status", "status": "Failure", "code": 404, "message": "not found"})
            if self.command == "PATCH":
                return self.reply(200, server.store(key, apply(server.objects[key], body)))
            if self.command == "PUT":
                return self.reply(200, server.store(key, body))
            return self.reply(200, server.objects[key])

    def watch(self, group, plural, version):
        """Send the events after a version, and those that follow."""
        events = queue.Queue()
        with self.server.lock:
            for entry in self.server.history:
                events.put(entry)
            self.server.watches.append(events)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while True:
            number, path, event = events.get()
            if number > version and belongs(path, group, plural):
                data = json.dumps(event).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = serve  # noqa: N815
