"""Smoke tests of the wheels in fresh environments, as users install them: the library, the server, the tools, all.

`hack.dist` runs them. pip installs the requirements from the environment's index; the distributions themselves always
come from the wheels. Where kubectl is on PATH it is a client of the server, too.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from clientgo.testing.eventually import eventually
from hack.checkout import ROOT
from tests.processes import Child

LIBRARY = """
from importlib.util import find_spec
from clientgo.manager import Manager, Reconciler, run
from clientgo.cache import InformerFactory
from clientgo.kubernetes.clientset import Clientset
import clientgo.webhook, clientgo.aio
absent = ("clientgo.cli", "clientgo.testing", "clientgo_apiserver", "clientgo_olm", "uvicorn", "controller", "tests")
absent += ("kubernetes", "pydantic")
present = [name for name in absent if find_spec(name)]
assert not present, present
"""

CLIENT = """
import sys
from clientgo.kubernetes.clientset import Clientset
from clientgo.rest import load_config
client = Clientset(load_config(kubeconfig=sys.argv[1]))
print(sorted(each.metadata.name for each in client.core_v1.namespaces().list().items))
"""

FOO = ("--group", "apps", "--version", "v1", "--kind", "Foo", "--resource", "--controller")
GREETING = {"apiVersion": "example.com/v1", "kind": "Greeting", "metadata": {"name": "hello"}, "spec": {"text": "Hi"}}


class SmokeFailed(Exception):
    """The wheels do not work in a fresh environment."""


class Environment:
    """Fresh virtual environment with wheels, and an empty folder in which its programs run."""

    def __init__(self, folder: Path, *requirements: str) -> None:
        self.venv = folder / "venv"
        self._bin = self.venv / "bin"
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self._variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        self._variables["PATH"] = os.pathsep.join((str(self._bin), self._variables["PATH"]))
        self.run(sys.executable, "-m", "venv", "--without-pip", str(self.venv))
        if requirements:
            self.pip("install", "--quiet", "--no-compile", *requirements)
            self.pip("check")

    def pip(self, *arguments: str) -> None:
        """Run the pip of this process for the environment, which has none."""
        python = str(self._bin / "python")
        self.run(sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", *arguments)

    def run(self, *command: str, exit_code: int = 0, cwd: Path | None = None) -> str:
        """Run a command of the environment, and return its output.

        Raises:
            SmokeFailed: it ended with another exit code, or not within five minutes.
        """
        try:
            done = subprocess.run(
                [shutil.which(command[0], path=self._variables["PATH"]) or command[0], *command[1:]],
                cwd=cwd or self.home, env=self._variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, check=False, timeout=300,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise SmokeFailed(f"{' '.join(command)}: no end within {error.timeout:.0f} s") from error
        if done.returncode != exit_code:
            raise SmokeFailed(f"{' '.join(command)}: exit code {done.returncode}, expected {exit_code}\n{done.stdout}")
        return done.stdout

    def start(self, *command: str, cwd: Path | None = None) -> Child:
        """Start a program of the environment."""
        program = shutil.which(command[0], path=self._variables["PATH"]) or command[0]
        return Child([program, *command[1:]], self.home / "output", cwd=cwd or self.home, env=self._variables)

    def on_path(self, name: str) -> bool:
        """Return True if there is a command of this name."""
        return shutil.which(name, path=self._variables["PATH"]) is not None


def expect(condition: object, text: str) -> None:
    """Raise `SmokeFailed` unless the condition is true."""
    if not condition:
        raise SmokeFailed(text)


def readme_program(environment: Environment) -> Path:
    """Write the README's program into the home of an environment."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    [program] = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    path = environment.home / "greeter.py"
    path.write_text(program, encoding="utf-8")
    return path


def library(folder: Path, wheels: dict[str, str]) -> None:
    """Import the library alone."""
    environment = Environment(folder, wheels["clientgo"])
    environment.run("python", "-c", LIBRARY)
    expect(not environment.on_path("clientgo"), "the library has the command clientgo")
    lines = environment.run("python", "-c", "import clientgo.testing", exit_code=1).splitlines()
    expect(lines[-1] == "ModuleNotFoundError: No module named 'clientgo.testing'", f"the import ends with {lines}")


def tools(folder: Path, wheels: dict[str, str]) -> None:
    """Create a project, generate its manifests, and call a fake."""
    environment = Environment(folder, *(wheels[name] for name in ("clientgo", "clientgo_apiserver", "clientgo_tools")))
    environment.run("clientgo", "init", "--domain", "example.com", "--project-name", "smoke")
    environment.run("clientgo", "create", "api", *FOO)
    environment.run("make", "generate", "manifests")
    expect(list(environment.home.glob("config/crd/**/*foos*.yaml")), "make manifests wrote no CRD of Foo")
    environment.run("python", "-c", "from clientgo.testing.client import FakeClient; FakeClient()")
    environment.run("clientgo", "perturb", "--help")
    lines = environment.run("clientgo", "bundle", exit_code=1).splitlines()
    expect("install clientgo-olm from" in lines[-1], f"the missing distribution is not named: {lines}")


def server(folder: Path, wheels: dict[str, str]) -> None:
    """Start the server, and list its namespaces with the library and kubectl."""
    environment = Environment(folder, wheels["clientgo"], wheels["clientgo_apiserver"])
    config = environment.home / "kubeconfig"
    with environment.start("python", "-m", "clientgo_apiserver", "--kubeconfig-out", str(config)) as child:
        child.wait_for(r"https://")
        listed = environment.run("python", "-c", CLIENT, str(config))
        expect("kube-system" in listed, f"the client lists {listed}")
        if environment.on_path("kubectl"):
            listed = environment.run("kubectl", "--kubeconfig", str(config), "get", "namespaces", "--output", "name")
            expect("namespace/kube-system" in listed, f"kubectl lists {listed}")
            fields = environment.run("kubectl", "--kubeconfig", str(config), "explain", "deployment.spec.replicas")
            expect(len(fields.split("DESCRIPTION:")[-1].split()) > 5, f"kubectl explains {fields}")
        code, output = child.end(signal.SIGTERM)
        expect(code == 0, f"the server ended with exit code {code}: {output}")
    expect(not config.exists(), "the server left its kubeconfig")


def together(folder: Path, wheels: dict[str, str]) -> None:
    """Run the README's controller with the embedded server: it creates a ConfigMap."""
    distributions = (wheels[name] for name in ("clientgo_apiserver", "clientgo_tools", "clientgo_olm"))
    environment = Environment(folder, f"{wheels['clientgo']}[embedded,tools,olm]", *distributions)
    program = readme_program(environment)
    (environment.home / "greeting.json").write_text(json.dumps(GREETING), encoding="utf-8")
    with environment.start("clientgo", "run", str(program), "--embedded") as child:
        child.wait_for("export KUBECONFIG=")
        child.wait_for("Starting workers")
        config = str(environment.home / ".embedded" / "kubeconfig")
        if environment.on_path("kubectl"):
            kubectl = ("kubectl", "--kubeconfig", config)
            environment.run(*kubectl, "create", "--filename", "greeting.json")
            read = (*kubectl, "get", "configmap", "hello", "--ignore-not-found", "--output", "jsonpath={.data.text}")
            eventually(lambda: environment.run(*read), lambda text: text == "Hi")
        code, output = child.end(signal.SIGINT)
        expect(code == 0, f"the controller ended with exit code {code}: {output}")
    for command in ("bundle", "chart", "apiserver"):
        environment.run("clientgo", command, "--help")


def smoke(folder: Path, say: Callable[[str], None]) -> None:
    """Use the wheels of a folder in four fresh environments.

    Raises:
        SmokeFailed: something does not work.
    """
    wheels = {path.name.partition("-")[0]: str(path) for path in folder.glob("*.whl")}
    for case in (library, server, tools, together):
        say(f"smoke test: {case.__name__}")
        with tempfile.TemporaryDirectory() as scratch:
            case(Path(scratch), wheels)
