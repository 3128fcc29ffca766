"""Random writes played on a real API server and on the bundled one; run by hand.

    python -m hack.differential --kubeconfig real/kubeconfig --sequences 20000
    python -m hack.differential --kubeconfig real/kubeconfig --record 1500

The kubeconfig's user needs a token, and its server must be for tests only: objects stay in the namespace
`differential`. No controllers may run there. A sequence differs if a status code, or what is stored after a write,
managedFields included, is not the same.
"""

import argparse
import json
import secrets
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clientgo.program.flags import natural
from clientgo.rest import load_config
from clientgo.rest.connections.dial import Dialer
from clientgo.rest.connections.pool import PoolTransport
from tests.differential.bundled import bundled
from tests.differential.kinds import DEFINITION, KINDS, NAMESPACE
from tests.differential.playing import Outcome, Send, is_same, play
from tests.differential.recording import RECORDED, Recorded, write
from tests.differential.sequences import JSON, sequence

_FRESH = 200
"""Sequences after which a new bundled server is used, since its store is in memory."""
_TIMEOUT = 30.0
"""Seconds for a request to the real server."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Play the sequences; return 1 if any differs."""
    options = _parser().parse_args(arguments)
    real, run = _real(options.kubeconfig), secrets.token_hex(4)
    _prepare(real)
    seeds = range(options.seed, options.seed + (options.record or options.sequences))
    if options.record:
        write(RECORDED, (_recorded(real, seed, f"{run}-{seed}") for seed in seeds))
        return 0
    differing: Counter[str] = Counter()
    words = writes = 0
    for number, seed in enumerate(seeds):
        if number % _FRESH == 0:
            ours = bundled()
        kind, steps = sequence(seed, tuple(options.kinds))
        pairs = list(
            zip(steps, play(real, kind, f"{run}-{seed}", steps), play(ours, kind, f"{run}-{seed}", steps), strict=True)
        )
        writes += len(pairs)
        words += sum(theirs.code == mine.code and theirs.message != mine.message for _, theirs, mine in pairs)
        different = next((pair for pair in enumerate(pairs) if not is_same(*pair[1][1:])), None)
        if different:
            step, (request, theirs, mine) = different
            differing[f"{kind.name} {request['verb']}"] += 1
            _say(f"seed {seed} {kind.name} step {step}: {json.dumps(request)}\n{_difference(theirs, mine)}")
        elif options.words:
            for request, theirs, mine in pairs:
                if theirs.message != mine.message:
                    _say(f"seed {seed} {kind.name}: {json.dumps(request)}")
                    _say(f"  real: {theirs.message}\n  ours: {mine.message}")
        if number % 1000 == 999:
            _say(f"{number + 1:,} sequences, {writes:,} writes: {differing.total()} differ")
    _say(f"{len(seeds):,} sequences, {writes:,} writes: {differing.total()} differ, {words} writes with other messages")
    for name, count in differing.most_common():
        _say(f"{count:6} {name}")
    return 1 if differing else 0


def _recorded(real: Send, seed: int, name: str) -> Recorded:
    kind, steps = sequence(seed)
    return Recorded(seed, kind.name, steps, list(play(real, kind, name, steps)))


def _difference(theirs: Outcome, mine: Outcome) -> str:
    if theirs.code != mine.code:
        return f"  real: {theirs.code} {theirs.message}\n  ours: {mine.code} {mine.message}"
    return "\n".join(f"  {line}" for line in _changes(theirs.stored, mine.stored, ""))


def _changes(theirs: Any, mine: Any, path: str) -> list[str]:
    if isinstance(theirs, dict) and isinstance(mine, dict):
        names = {**theirs, **mine}
        return [line for name in names for line in _changes(theirs.get(name), mine.get(name), f"{path}.{name}")]
    return [] if theirs == mine else [f"{path}: real {json.dumps(theirs)}", f"{path}: ours {json.dumps(mine)}"]


def _prepare(real: Send) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    for path, body in (
        ("/api/v1/namespaces", namespace),
        ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", DEFINITION),
    ):
        code, status = real("POST", path, body, JSON)
        if code not in (201, 409):
            raise SystemExit(f"error: {path}: {status}")
    while real("GET", KINDS["Thing"].path("v1"), None, JSON)[0] != 200:
        pass  # until the new kind is served


def _real(kubeconfig: Path) -> Send:
    config = load_config(kubeconfig=kubeconfig)
    transport = PoolTransport(Dialer(config))

    def send(method: str, target: str, body: Any, content_type: str) -> tuple[int, Any]:
        headers = (("Authorization", f"Bearer {config.token}"), ("Content-Type", content_type))
        data = None if body is None else json.dumps(body).encode()
        reply = transport.request(method, target, headers, data, _TIMEOUT)
        is_object = reply.body.startswith(b"{")
        return reply.status, json.loads(reply.body) if is_object else {"message": reply.body.decode()}

    return send


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201  # for the person who runs it


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hack.differential", description="compare random writes with a real server")
    parser.add_argument("--kubeconfig", type=Path, required=True, help="kubeconfig of the real server")
    parser.add_argument("--sequences", type=natural, default=1000, help="number of sequences (default: 1000)")
    parser.add_argument("--seed", type=int, default=1, help="first seed (default: 1)")
    parser.add_argument(
        "--kinds", nargs="+", choices=[*KINDS], default=[*KINDS, "Thing", "Thing"], help="kinds to write"
    )
    parser.add_argument("--words", action="store_true", help="show messages that differ too")
    parser.add_argument("--record", type=natural, metavar="N", help="record the real server's outcomes of N sequences")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
