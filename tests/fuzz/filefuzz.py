"""Fuzz targets for files and flags: kubeconfigs, definitions, the generator's configuration, command lines."""

import contextlib
import functools
import io
import json
import shlex
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import yaml

from clientgo.codegen.__main__ import main as codegen
from clientgo.envtest.crds import read_crds
from clientgo.errors import ConfigError
from clientgo.program.commandline import flag_values
from clientgo.rest.kubeconfig import config_from
from clientgo_apiserver.__main__ import _parser as apiserver_parser
from controller.options import parse
from tests.fuzz.engine import Bug, Target
from tests.fuzz.sentences import check_text, sentence

CREDENTIALS = Path(__file__).parents[1] / "codegen" / "credentials.yaml"
FOO_CRD = Path(__file__).parents[2] / "artifacts" / "crd" / "samplecontroller.k8s.io_foos.yaml"


@functools.cache
def folder() -> Path:
    """Return a folder for this process, removed at exit."""
    temporary_directory = tempfile.TemporaryDirectory(prefix="fuzz-")
    _KEPT.append(temporary_directory)
    return Path(temporary_directory.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def written(name: str, data: bytes) -> Path:
    """Write a file; return its path."""
    path = folder() / name
    path.write_bytes(data)
    return path


def kubeconfigs(data: bytes) -> str:
    """Load a kubeconfig: a configuration or a one-line error."""
    path = written("config", data)
    try:
        config = config_from([str(path)], "")
    except ConfigError as error:
        return sentence(error, data, ConfigError).replace(str(path), "FILE")
    if config is None:
        raise Bug("a file that is there was passed over")
    return f"{bool(config.token)} {bool(config.ca_data)} {config.delegated is not None} {config.insecure}"


def definitions(data: bytes) -> str:
    """Generate code from definitions: it compiles, or there is a list of one-line errors."""
    path = written("crd.yaml", data)
    code, printed = _run(
        lambda: codegen(
            [
                "--from-crd",
                str(path),
                "--output-package",
                "made",
                "--root",
                str(folder()),
                "--verify",
                "--crd-dir",
                "crds",
            ]
        )
    )
    if "+++ " in printed:
        for text in _new_modules(printed):
            compile(text, "generated", "exec", dont_inherit=True)
        return "generated"
    if code == 0:
        raise Bug(f"nothing was made of it, and nothing was said: {printed!r}")
    return _complaints(printed.replace(str(path), "FILE"), data)


def _new_modules(diff: str) -> list[str]:
    modules: list[list[str]] = []
    for line in diff.splitlines():
        if line.startswith("+++ "):
            modules.append([] if line.rstrip().endswith(".py") else ["#"])
        elif line.startswith("+") and modules and modules[-1] != ["#"]:
            modules[-1].append(line[1:])
    return ["\n".join(lines) for lines in modules if lines != ["#"]]


def codegen_configs(data: bytes) -> str:
    """Load the generator's configuration: options or a one-line error."""
    path = written("codegen.yaml", data)
    code, printed = _run(lambda: codegen(["--config", str(path), "--verify", "--root", str(folder())]))
    return "fine" if code == 0 else _complaints(printed.replace(str(path), "FILE"), data)


def installed_crds(data: bytes) -> str:
    """Load CRDs for an environment: definitions or a one-line error."""
    path = written("installed.yaml", data)
    try:
        return f"{len(read_crds([path]))} definitions"
    except ConfigError as error:
        return sentence(error, data, ConfigError).replace(str(path), "FILE")


def controller_flags(data: bytes) -> str:
    """Parse the controller's flags: accepted, or a one-line error after the usage, with exit code 2."""
    return _flags(lambda words: flag_values(parse(words)), data)


def apiserver_flags(data: bytes) -> str:
    """Parse the bundled server's flags: accepted, or usage and a one-line error."""
    return _flags(lambda words: apiserver_parser().parse(words), data)


def codegen_flags(data: bytes) -> str:
    """Parse the generator's flags, without input: accepted, or usage and a one-line error."""
    words = [word for word in _words(data) if not word.startswith(("--root", "--built-in", "--config"))]
    code, printed = _run(lambda: codegen([*words, "--verify", "--root", str(folder())]))
    return "fine" if code == 0 else _complaints(printed, data)


def _words(data: bytes) -> list[str]:
    # No line breaks, which argparse shows as they are, and no NUL, which an argument can't hold.
    text = " ".join(data.decode("utf-8", "surrogateescape").replace("\x00", "").split())
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _flags(read: Callable[[Sequence[str]], object], data: bytes) -> str:
    words = _words(data)
    code, printed = _run(lambda: 0 if read(words) is not None else 1)
    if code == 0:
        return "help" if printed else "fine"
    if code != 2:
        raise Bug(f"exit code {code}: {printed}")
    last = printed.strip().split(": error: ", 1)
    if not printed.startswith("usage: ") or len(last) != 2:
        raise Bug(f"no usage and sentence: {printed!r}")
    return check_text(last[1], data)[:60]


def _complaints(printed: str, data: bytes) -> str:
    first = printed.strip().split(": error: ", 1)[-1]
    for line in first.splitlines():
        check_text(line, data)
    if "Traceback" in printed or not first:
        raise Bug(printed)
    return first.splitlines()[0][:100]


def _run(call: Callable[[], int]) -> tuple[int, str]:
    string_io = io.StringIO()
    with contextlib.redirect_stdout(string_io), contextlib.redirect_stderr(string_io):
        try:
            code = call()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return code, string_io.getvalue()


def _as_json(path: Path) -> bytes:
    """Convert YAML to JSON, which is YAML too and can be mutated as a tree."""
    return json.dumps(yaml.safe_load(path.read_text(encoding="utf-8"))).encode()


KUBECONFIG = (
    b'{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"k","cluster":{"server":'
    b'"https://h:6443","certificate-authority-data":"QUJD","proxy-url":"","tls-server-name":"n"}}],"users":[{"name":'
    b'"u","user":{"token":"t","username":"x","password":"y","exec":{"command":"c","apiVersion":"v1"},"as":"z",'
    b'"as-groups":["g"],"as-user-extra":{"k":["v"]},"client-certificate":"c.pem"}}],"contexts":[{"name":"c",'
    b'"context":{"cluster":"k","user":"u","namespace":"n"}}]}'
)
BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%b]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(12)
)
KUBE_WORDS = (
    b'"clusters"', b'"users"', b'"contexts"', b'"cluster"', b'"user"', b'"context"', b'"server"', b'"current-context"',
    b'"certificate-authority-data"', b'"certificate-authority"', b'"client-key-data"', b'"tokenFile"', b'"name"',
    b"clusters: &a\n", b"- name: ", b"  cluster: *a\n", b"<<: *a\n", b"---\n", b"|\n", b"? ", b"!!binary ", b"!!int ",
)  # fmt: skip
CRD_WORDS = (
    b'"spec"', b'"versions"', b'"schema"', b'"openAPIV3Schema"', b'"properties"', b'"type"', b'"object"', b'"array"',
    b'"items"', b'"string"', b'"integer"', b'"number"', b'"boolean"', b'"format"', b'"int-or-string"', b'"default"',
    b'"enum"', b'"required"', b'"additionalProperties"', b'"x-kubernetes-int-or-string"', b'"names"', b'"kind"',
    b'"plural"', b'"group"', b'"scope"', b'"served"', b'"storage"', b'"description"', b'"pattern"', b'"class"',
    b'"subresources"', b'"status"', b'"scale"', b'"nullable"', b'"oneOf"', b"'", b'"""', b'"a b"', b'"None"', b'"self"',
)  # fmt: skip
CONFIG = b'{"boilerplate":"x","outputs":[{"from-crd":["a.yaml"],"output-package":"others","generators":["client"]}]}'
FLAG_WORDS = (
    "--kubeconfig --master --namespace --embedded --embedded-port --workers --resync-period --qps --burst "
    "--leader-elect --leader-elect-lease-duration --shard-count --metrics-bind-address --health-probe-bind-address "
    "--log-level -v --metrics-secure --port --host --crd --ready-seconds --data-dir --help -- = 15s 1m30s 500ms "
    "0 -1 1e400 [::1]:80 :0 127.0.0.1:1 65536 debug text ٣ 1_0 0x1 --output-package --generators --max-description "
    "--from-crd --crd-dir"
)
FLAGS = [
    "--workers 2 --resync-period 30s --leader-elect",
    "--metrics-bind-address [::1]:8080 -v 4",
    "--port 1 --host ::1",
]
CODEGEN_FLAGS = ["--from-crd x.yaml --output-package made", "--input-module a.b --crd-dir c --generators crd", "-h"]


def _target(
    run: Callable[[bytes], str],
    seeds: Sequence[bytes],
    words: Sequence[bytes],
    weight: float = 1.0,
    *,
    once: Sequence[bytes] = (),
) -> Target:
    return Target(run.__name__.replace("_", "-"), run, seeds, words, once, weight)


def _bytes(texts: Sequence[str]) -> list[bytes]:
    return [text.encode() for text in texts]


TARGETS = [
    _target(kubeconfigs, [KUBECONFIG, b"", b"a: ["], KUBE_WORDS, 2, once=[BOMB]),
    _target(definitions, [_as_json(CREDENTIALS), _as_json(FOO_CRD)], CRD_WORDS, 4, once=[BOMB]),
    _target(installed_crds, [_as_json(FOO_CRD), b"a: ["], CRD_WORDS),
    _target(codegen_configs, [CONFIG, b"outputs: []"], _bytes(FLAG_WORDS.replace("--", "").split())),
    _target(controller_flags, _bytes(FLAGS), _bytes(FLAG_WORDS.split()), 2),
    _target(apiserver_flags, _bytes(FLAGS), _bytes(FLAG_WORDS.split())),
    _target(codegen_flags, _bytes(CODEGEN_FLAGS), _bytes(FLAG_WORDS.split())),
]
