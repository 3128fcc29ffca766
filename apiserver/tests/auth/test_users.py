"""Users: groups of authenticated users, and service accounts by the name of their user."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo_apiserver.api.users import User, authenticated, service_account, service_account_name

LABELS = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True)


@given(LABELS, st.lists(LABELS, min_size=1, max_size=3))
def test_account_of_a_service_accounts_user_is_that_account(namespace: str, labels: list[str]) -> None:
    name = ".".join(labels)
    assert service_account_name(service_account(namespace, name).name) == (namespace, name)


@pytest.mark.parametrize(
    "name",
    [
        "jane",
        "",
        "system:serviceaccount:",
        "system:serviceaccount:default",
        "system:serviceaccount:default:",
        "system:serviceaccount::robot",
        "system:serviceaccount:default:robot:more",
        "system:serviceaccount:Default:robot",
        "system:serviceaccount:default:-robot",
        "system:serviceaccount:a.b:robot",
        f"system:serviceaccount:{'a' * 64}:robot",
        f"system:serviceaccount:default:{'a' * 254}",
        "system:serviceaccounts:default:robot",
    ],
)
def test_other_user_names_have_no_service_account(name: str) -> None:
    assert service_account_name(name) is None


def test_service_account_is_in_the_groups_of_all_and_of_its_namespace() -> None:
    groups = service_account("default", "robot").groups
    assert groups == ("system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated")


def test_authenticated_user_is_in_that_group_once_and_last() -> None:
    assert authenticated("jane", "system:authenticated", "dev").groups == ("dev", "system:authenticated")


def test_user_info_has_no_empty_members() -> None:
    assert User("jane").info == {"username": "jane"}
    user = User("jane", ("dev",), "7", {"scopes": ("a", "b")})
    assert user.info == {"username": "jane", "uid": "7", "groups": ["dev"], "extra": {"scopes": ["a", "b"]}}
