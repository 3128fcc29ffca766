"""Event correlator compared with a simple model of client-go's rules."""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from clientgo.kubernetes.types.core_v1 import Event, EventSource, ObjectReference
from clientgo.meta import replace
from clientgo.record.correlator import EventCorrelator
from clientgo.record.events import make_event, nanoseconds
from clientgo.testing.clock import FakeClock
from tests.models.budget import examples

DIFFERENT, WITHIN = 10, 600.0
"""From so many different messages, no further apart than so many seconds, similar events are combined."""

AT_ONCE, EVERY = 25, 300.0
"""So many events of a source about an object at once, and one more each so many seconds."""


@dataclass
class Similar:
    """Events that differ only in their message."""

    messages: set[str] = field(default_factory=set)
    combining: bool = False
    last: float = 0.0


class CorrelatorMachine(RuleBasedStateMachine):
    """Events of three reasons about two objects; the server sometimes does not answer."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.correlator = EventCorrelator(clock=self.clock)
        self.similar: dict[tuple[str, str], Similar] = {}
        self.counts: dict[tuple[str, ...], int] = {}
        self.tokens: dict[str, float] = {}
        self.taken_at: dict[str, float] = {}

    @rule(
        name=st.sampled_from(["pod1", "pod2"]),
        reason=st.sampled_from(["Pulled", "Failed", "Killed"]),
        message=st.integers(0, 14),
        times=st.sampled_from([1, 1, 1, 2, 12]),
    )
    def happens(self, name: str, reason: str, message: int, times: int) -> None:
        for number in range(times):
            # The same message a few times, or different ones.
            self.one(name, reason, f"it was number {message if times == 2 else message + number}")

    @rule(seconds=st.sampled_from([1.0, 299.0, 300.0, 599.0, 601.0, 5000.0]))
    def let_time_pass(self, seconds: float) -> None:
        self.clock.step(seconds)

    def one(self, name: str, reason: str, message: str) -> None:
        event = _event(name, reason, message, self.clock.time())
        result = self.correlator.correlate(event)
        sent = result.event
        self._grouped(name, reason, message, combined=(sent.message or "").startswith("(combined from"))
        same = (name, reason) if sent.message != message else (name, reason, message)
        self.counts[same] = self.counts.get(same, 0) + 1
        assert sent.count == self.counts[same], "each is counted, sent or not"
        assert bool(result.patch) is (self.counts[same] > 1), "the first is new, all later ones are patches"
        assert result.skip is not self._allowed(name, sent=not result.skip)
        if not result.skip:
            updated = replace(sent, metadata=replace(sent.metadata, resource_version=str(self.clock.now())))
            self.correlator.update_state(updated, result.key)

    def _grouped(self, name: str, reason: str, message: str, *, combined: bool) -> None:
        group = self.similar.get((name, reason))
        if group is None or self.clock.now() - group.last > WITHIN:
            group = self.similar[name, reason] = Similar()
        new = message not in group.messages
        group.messages.add(message)
        group.last = self.clock.now()
        if not group.combining:
            group.combining = len(group.messages) >= DIFFERENT
            assert combined is group.combining
        elif new:
            assert combined, "a group that combines does so with what is new"
        # Of a message seen before, it depends on which one was forgotten to keep the group small: either will do.

    def _allowed(self, name: str, *, sent: bool) -> bool:
        now = self.clock.now()
        tokens = self.tokens.get(name, float(AT_ONCE)) + (now - self.taken_at.get(name, now)) / EVERY
        tokens = min(tokens, float(AT_ONCE))
        # At the very moment a token is whole, rounding decides.
        allowed = sent if abs(tokens - 1.0) < 1e-9 else tokens > 1.0
        self.tokens[name], self.taken_at[name] = tokens - (1.0 if allowed else 0.0), now
        return allowed


def _event(name: str, reason: str, message: str, at: float) -> Event:
    involved = ObjectReference(kind="Pod", name=name, namespace="ns", uid=f"uid-{name}", api_version="v1")
    source = EventSource(component="kubelet", host="node1")
    return make_event(involved, event_type="Normal", reason=reason, message=message, at=nanoseconds(at), source=source)


TestCorrelator = CorrelatorMachine.TestCase
TestCorrelator.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
