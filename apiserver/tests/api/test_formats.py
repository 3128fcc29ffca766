import pytest

from clientgo_apiserver.api.formats import text_format
from clientgo_apiserver.api.gotext import quoted_text


@pytest.mark.parametrize(
    ("name", "valid", "invalid"),
    [
        ("date", "2024-02-29", "20240229"),
        ("date-time", "2024-01-01t10:00:00.5Z", "2024-01-01 10:00:00Z"),
        ("duration", "2 weeks", "2 moons"),
        ("duration", "1h30m", ""),
        ("byte", "aGk=", ""),
        ("uri", "/path", "path"),
        ("email", "Ann <a@b.c>", "a@"),
        ("hostname", "a-b.example.com", "a-b-c"),
        ("ipv4", "10.0.0.1", "10.0.0.256"),
        ("ipv4", "010.0.0.1", "10.0.0"),
        ("ipv6", "fe80::1", "fe80::1%eth0"),
        ("cidr", "10.0.0.0/8", "10.0.0.0/255.0.0.0"),
        ("mac", "0123.4567.89ab", "01:23:45:67:89"),
        ("mac", "0123456789ab", "01-23:45-67-89-ab"),
        ("uuid", "123e4567e89b12d3a456426614174000", "{123e4567-e89b-12d3-a456-426614174000}"),
        ("uuid4", "123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ("isbn", "978-0321751041", "978-0321751042"),
        ("isbn10", "0321751043", "0321751044"),
        ("creditcard", "4111 1111 1111 1111", "4111 1111 1111 1112"),
        ("ssn", "111-11-1111", "111111111"),
        ("rgbcolor", "rgb(0, 255,25)", "rgb(0,0,256)"),
        ("hexcolor", "#fff", "#ffff"),
        ("k8s-short-name", "a-b", "A"),
    ],
)
def test_format_accepts_what_the_server_accepts(name: str, valid: str, invalid: str) -> None:
    check = text_format(name)
    assert check is not None
    assert (check(valid), check(invalid)) == (True, False)


def test_characters_that_are_not_printed_are_escaped_in_quotes() -> None:
    assert quoted_text('a\a\x7f\u200b\u00a0\x01\n\ue000"\\') == r'"a\a\x7f\u200b\u00a0\x01\n\ue000\"\\"'
    assert quoted_text("\u00e9\U0001f600") == '"\u00e9\U0001f600"'
    assert quoted_text("\U000e0001") == r'"\U000e0001"'
