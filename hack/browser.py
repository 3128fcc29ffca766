"""Headless Chromium driven over the DevTools protocol, for tests and screenshots of the dashboard.

with browser() as page:
page.open("http://127.0.0.1:8080/dashboard")
page.wait_for("document.title === 'foo-controller'")
"""

import base64
import contextlib
import http.client
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import websocket

from clientgo.testing.eventually import eventually

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

SECONDS = 20.0
"""Time limit of the browser's start, of a command and of a condition."""


def find_browser() -> str | None:
    """Return the path of Chromium or Chrome, or None if there is neither."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Page:
    """Tab of the browser; `errors` are the exceptions and messages of its console."""

    def __init__(self, connection: websocket.WebSocket) -> None:
        self.errors: list[str] = []
        self._connection = connection
        self._numbers = itertools.count(1)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result; raise RuntimeError if it fails."""
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message: dict[str, Any] = json.loads(self._connection.recv())
            self._note(message)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                result: dict[str, Any] = message["result"]
                return result

    def open(self, url: str) -> None:
        """Load an address, and wait until its document is complete."""
        self.command("Page.navigate", url=url)
        self.wait_for("document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        """Return the value of a JavaScript expression; raise RuntimeError if it throws."""
        result = self.command("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"].get("description", "exception"))
        return result["result"].get("value")

    def wait_for(self, expression: str, *, seconds: float = SECONDS) -> None:
        """Wait until a JavaScript expression is true."""
        eventually(lambda: bool(self.evaluate(expression)), seconds=seconds)

    def press(self, key: str) -> None:
        """Press and release a key: "Tab", "Enter" or "Escape"."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for event in ("keyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", type=event, key=key, code=key, windowsVirtualKeyCode=code, **text)

    def prefer(self, scheme: str) -> None:
        """Set the preferred color scheme, "light" or "dark"."""
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def resize(self, width: int, height: int) -> None:
        """Set the size of the page in pixels."""
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )

    def screenshot(self, path: Path) -> None:
        """Write a picture of the visible page to a PNG file."""
        path.write_bytes(base64.b64decode(self.command("Page.captureScreenshot", format="png")["data"]))

    def _note(self, message: dict[str, Any]) -> None:
        details = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(details["exceptionDetails"].get("exception", {}).get("description", details)))
        elif message.get("method") == "Log.entryAdded" and details["entry"]["level"] == "error":
            self.errors.append(f"{details['entry']['text']} {details['entry'].get('url', '')}")


@contextmanager
def browser() -> Iterator[Page]:
    """Run the browser until the block ends; yield its page.

    Raises:
        FileNotFoundError: there is no Chromium or Chrome.
    """
    program = find_browser()
    if program is None:
        raise FileNotFoundError(f"no browser found: install one of {', '.join(NAMES)}")
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as folder:
        command = [
            program, "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={folder}", "--no-first-run",
            "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-extensions",
            "--hide-scrollbars", *(["--no-sandbox"] if os.geteuid() == 0 else []), "about:blank",
        ]  # fmt: skip
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        try:
            with closing(
                websocket.create_connection(_page_url(folder), timeout=SECONDS, suppress_origin=True)
            ) as built:
                yield Page(built)
        finally:
            # The whole session: Chromium runs as several processes.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)


def _page_url(folder: str) -> str:
    ports = Path(folder) / "DevToolsActivePort"
    eventually(lambda: ports.is_file() and len(ports.read_text().splitlines()) > 1, seconds=SECONDS)
    port = int(ports.read_text().splitlines()[0])
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)) as connection:
        connection.request("GET", "/json/list")
        targets = json.load(connection.getresponse())
    return str(next(target["webSocketDebuggerUrl"] for target in targets if target["type"] == "page"))
