"""Dashboard in a real browser: the page of the sample controller under load, with failures, and with hostile names."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.kubernetes.types.apps_v1 import Deployment, DeploymentSpec
from clientgo.kubernetes.types.core_v1 import Container, PodSpec, PodTemplateSpec
from clientgo.kubernetes.types.shared import LabelSelector
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.reconcile.attempts import Attempts
from clientgo.workqueue import RateLimitingQueue
from hack.browser import NAMES, Page, browser, find_browser
from tests.faults.rig import Rig
from tests.serving.diagnosed import METRICS, serving

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(find_browser() is None, reason=f"no browser on PATH: {', '.join(NAMES)}"),
]

HOSTILE = "<img src=x onerror=\"document.title='attacked'\">"
TEXT = "document.getElementById({!r}).textContent"


@pytest.fixture(scope="module")
def tab() -> Iterator[Page]:
    with browser() as page:
        yield page


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    tab.errors.clear()
    yield tab
    tab.open("about:blank")


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    started = Rig(tmp_path)
    try:
        started.start()
        yield started
    finally:
        started.end()


def text(page: Page, location: str) -> str:
    return str(page.evaluate(TEXT.format(location)))


def show(page: Page, url: str) -> None:
    page.open(url)
    page.wait_for(f"{TEXT.format('status')} === 'Live'")


def test_page_shows_a_thousand_foos_and_finds_one(page: Page, rig: Rig) -> None:
    show(page, rig.diagnostics.urls["dashboard"])
    for number in range(1000):
        rig.create(f"foo-{number:03}")
    page.wait_for("document.querySelector('#caches tbody').textContent.includes('Foo1,000watching')", seconds=60)
    page.wait_for("document.querySelectorAll('#history tbody tr').length === 200")
    page.evaluate("document.getElementById('filter').value = 'FOO-999'")
    page.evaluate("document.getElementById('filter').dispatchEvent(new Event('input'))")
    page.wait_for("[...document.querySelectorAll('#history .key')].every(one => one.textContent === 'default/foo-999')")
    assert page.errors == []


def test_failing_foo_is_shown_with_its_error_events_and_reason(page: Page, rig: Rig) -> None:
    labels = {"app": "foreign"}
    spec = PodSpec(containers=(Container(name="a", image="a"),))
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=spec)
    selector = LabelSelector(match_labels=labels)
    foreign = Deployment(metadata=ObjectMeta(name="failing"), spec=DeploymentSpec(selector=selector, template=template))
    rig.kube.apps_v1.deployments("default").create(foreign)
    rig.create("failing")
    show(page, rig.diagnostics.urls["dashboard"])
    message = 'Resource "failing" already exists and is not managed by Foo'
    page.wait_for(f"{TEXT.format('failing')}.includes({message!r})")
    page.evaluate("document.querySelector('#failing .key').click()")
    page.wait_for("document.getElementById('object').open")
    page.wait_for(f"{TEXT.format('events')}.includes('ErrResourceExists')")
    assert "failing: " in text(page, "why")
    assert message in text(page, "attempts")
    page.evaluate("document.querySelector('#object button').click()")
    page.wait_for("!document.getElementById('object').open && location.hash === ''")
    assert page.errors == []


def test_lost_api_server_and_lost_controller_are_shown(page: Page, rig: Rig) -> None:
    show(page, rig.diagnostics.urls["dashboard"])
    page.wait_for("document.querySelector('#caches tbody').textContent.includes('watching')")
    assert page.evaluate("document.getElementById('problem').hidden")
    rig.proxy.refuse()
    page.wait_for("!document.getElementById('problem').hidden")
    assert "The API server cannot be reached" in text(page, "problem")
    rig.stop.set()
    page.wait_for(f"{TEXT.format('status')}.startsWith('No connection to the controller')")
    assert "watch" in text(page, "caches"), "the last values stay"


def test_hostile_names_errors_and_events_are_text(page: Page) -> None:
    queue, attempts, key = RateLimitingQueue[ObjectName](), Attempts("Foo"), ObjectName("", HOSTILE)
    with serving(METRICS) as diagnostics:
        diagnostics.facts["Coordination"] = lambda: HOSTILE
        diagnostics.add_controller(queue, attempts, lambda _: False)
        queue.add(key)
        with queue.processing() as used, attempts.at(used, HOSTILE) as attempt:
            attempt.failed(ValueError(HOSTILE), retry_in=1000.0)
        queue.add_after(key, 1000.0)
        show(page, diagnostics.urls["dashboard"])
        page.evaluate("document.querySelector('#history .key').click()")
        page.wait_for(f"{TEXT.format('why')}.includes('not in the cache')")
        for location in ("facts", "failing", "history", "object-name", "why", "attempts"):
            assert HOSTILE in text(page, location)
        assert page.evaluate("document.querySelectorAll('img').length + document.scripts.length") == 1
        # The policy forbids what a mistake in the page would let in.
        page.evaluate(f"document.body.insertAdjacentHTML('beforeend', {HOSTILE!r})")
        assert page.evaluate("document.title") == "foos"
    assert any("Content Security Policy" in error for error in page.errors)


def test_page_is_usable_by_keyboard_and_every_control_has_a_name(page: Page) -> None:
    queue, attempts, key = RateLimitingQueue[ObjectName](), Attempts("Foo"), ObjectName("ns", "a")
    with serving(METRICS) as diagnostics:
        diagnostics.add_controller(queue, attempts)
        queue.add_after(key, 1000.0)
        show(page, diagnostics.urls["dashboard"])
        nodes = page.command("Accessibility.getFullAXTree")["nodes"]
        controls = [
            node for node in nodes if node.get("role", {}).get("value") in ("button", "searchbox", "link", "image")
        ]
        assert len(controls) >= 6
        assert [control for control in controls if not control["name"]["value"]] == []
        for _ in range(10):
            page.press("Tab")
            if page.evaluate("document.activeElement.className") == "key":
                break
        page.press("Enter")
        page.wait_for(f"{TEXT.format('why')}.includes('delayed')")
        page.press("Escape")
        page.wait_for("!document.getElementById('object').open")
        assert page.evaluate("document.activeElement.textContent") == "ns/a", "the focus returns"


def test_page_follows_the_preferred_color_scheme(page: Page) -> None:
    colors = {}
    with serving(METRICS) as diagnostics:
        show(page, diagnostics.urls["dashboard"])
        for scheme in ("light", "dark"):
            page.prefer(scheme)
            colors[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colors == {"light": "rgb(244, 246, 248)", "dark": "rgb(14, 18, 22)"}
    assert page.errors == []
