"""Scenarios for `clientgo perturb`."""

from clientgo.perturb import Scenario, create, delete
from tests.perturb.greetings import Correct, StatusFirst, greeting

CORRECT = Scenario(Correct, [create(greeting())])
BROKEN = Scenario(StatusFirst, [create(greeting("other", "b")), create(greeting()), delete(greeting())], name="broken")
