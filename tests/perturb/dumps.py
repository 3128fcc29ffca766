"""Controllers that run a command in a pod and store its output; a broken one, and commands of other kinds."""

from clientgo.aio import in_thread
from clientgo.errors import ConnectionFailed
from clientgo.kubernetes.clients.core_v1 import PodClient
from clientgo.kubernetes.types.core_v1 import ConfigMap, Container, Pod, PodSpec
from clientgo.manager import Reconciler
from clientgo.meta import ObjectMeta, meta_for, replace
from clientgo.perturb import create
from tests.perturb.greetings import Greeting, GreetingStatus, greeting

RULES = '[{command: slow, stdout: late, delay: 20}, {command: lost, disconnect: true}, {command: "", stdout: dump}]'
POD = Pod(
    metadata=ObjectMeta(name="db", namespace="default", annotations={"simulation.clientgo.dev/exec": RULES}),
    spec=PodSpec(containers=[Container(name="a", image="a")]),
)
STEPS = [create(POD), create(greeting())]


class Dumps(Reconciler[Greeting], owns=[ConfigMap], expected=[ConnectionFailed]):
    """Stores the output of a command."""

    command = ("pg_dump",)
    timeout = 5.0

    def reconcile(self, greeting: Greeting) -> None:
        if greeting.status.text != "stored":
            self.store(greeting, self.run())
            self.report(greeting)

    def run(self) -> str:
        pods = self.client.generated(PodClient, "default")
        return pods.run("db", self.command, timeout=self.timeout).check().stdout.decode()

    def store(self, greeting: Greeting, output: str) -> None:
        self.client.apply(ConfigMap(metadata=meta_for(greeting), data={"output": output}), owner=greeting)

    def report(self, greeting: Greeting) -> None:
        self.client.update_status(replace(greeting, status=GreetingStatus(text="stored")))


class ReportsFirst(Dumps, name="reports-first"):
    """Claims that the output is stored before the command has run."""

    def reconcile(self, greeting: Greeting) -> None:
        if greeting.status.text != "stored":
            self.report(greeting)
            self.store(greeting, self.run())


class AsyncDumps(Dumps, name="async-dumps"):
    """Runs the command in a coroutine."""

    async def reconcile(self, greeting: Greeting) -> None:  # type: ignore[override]
        if greeting.status.text != "stored":
            output = await in_thread(self.run)()
            await in_thread(self.store)(greeting, output)
            await in_thread(self.report)(greeting)


class Patient(Dumps, name="patient"):
    """Waits for a slow command."""

    command = ("slow",)
    timeout = 60.0


class Impatient(Dumps, name="impatient"):
    """Tries a slow command again and again."""

    command = ("slow",)


class Unlucky(Dumps, name="unlucky"):
    """Runs a command whose connection is lost."""

    command = ("lost",)
