import pytest
from clientgo.errors import Forbidden, Invalid
from clientgo.manager import Manager
from clientgo.meta import ApiObject, ObjectMeta, change

from api.v1 import webapp_types as v1
from api.v1alpha1 import webapp_types as v1alpha1

META = ObjectMeta(name="validated", namespace="default")


@pytest.mark.parametrize(
    "app",
    [
        v1.WebApp(META, v1.WebAppSpec("shop")),
        v1.WebApp(META, v1.WebAppSpec("registry.example.com:5000/shop")),
        v1alpha1.WebApp(META, v1alpha1.WebAppSpec("shop")),
    ],
)
def test_image_without_tag_is_rejected_in_each_version(manager: Manager, app: ApiObject) -> None:
    with pytest.raises((Invalid, Forbidden), match=r"spec.image: Invalid value: .*: must have a tag or a digest"):
        manager.client.create(app)


def test_change_of_the_host_is_accepted_with_a_warning(
    manager: Manager, created: list[ApiObject], caplog: pytest.LogCaptureFixture
) -> None:
    spec = v1.WebAppSpec("registry.example.com:5000/shop@sha256:0a1b", host="shop.example.com")
    stored = manager.client.create(v1.WebApp(META, spec))
    created.append(stored)

    manager.client.update(change(stored, lambda app: app.spec.host).to("store.example.com"))

    assert "links to shop.example.com stop working" in caplog.text
