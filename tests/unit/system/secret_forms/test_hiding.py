"""What is shown of a text with secrets, and what is left as it stands."""

from __future__ import annotations

import pytest

from ironcurtain.system.secret_forms.hiding import PiecewiseHiding, without_secrets, words_without_secrets
from ironcurtain.system.secret_forms.names import is_secret_setting, names_a_secret


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mysql --password hunter-2 shop", "mysql --password [redacted] shop"),
        ("curl -u me:hunter2 https://example.org", "curl -u [redacted] https://example.org"),
        ('{\\"password\\":\\"hunter2\\",\\"port\\":1}', '{\\"password\\":\\"[redacted]\\",\\"port\\":1}'),
        ('{"user": "me", "jwt": "a.b.c.d"}', '{"user": "me", "jwt": "[redacted]"}'),
        ("SECRET_KEY=hunter2", "SECRET_KEY=[redacted]"),
        ("machine example.org login me password hunter2", "machine example.org login me password [redacted]"),
        ('Authorization: Digest username="me", response="f0"', 'Authorization: Digest [redacted]"'),
        ("Cookie: theme=dark; sid=1234", "Cookie: [redacted]"),
        ('password = "with \\" in it", next', 'password = "[redacted]", next'),
        ("The password is hunter2, she said.", "The password is [redacted], she said."),
    ],
)
def test_the_name_stays_and_the_value_goes(text: str, shown: str) -> None:
    assert without_secrets(text) == shown
    assert without_secrets(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "git push -u origin HEAD:main",
        "docker run -u 1000:1000 alpine",
        "password: ${PASSWORD}",
        "export TOKEN=$GITHUB_TOKEN",
        "token: <your token>",
        "def login(password: str) -> None:",
        "--token is required",
        "use --password when asked",
        "password=***",
        'key = os.environ["API_KEY"]',
        '"js-tokens": "^6.0.0"',
        "max_tokens: 4096",
        "password_policy: strict",
        "to login, a page asks for the password first",
        "fe80:5432:0:1:2",
    ],
)
def test_what_stands_for_a_secret_is_none(text: str) -> None:
    assert without_secrets(text) == text


@pytest.mark.parametrize(
    "name",
    [
        *("authorization", "Cookie", "secret_key", "accountKey", "jwt", "DB_PASS", "X-Api-Key", "tokenValue"),
        *("password2", "API_KEY_PROD", "connection_string", "seed_phrase", "user_auth"),
    ],
)
def test_a_name_says_that_its_value_is_a_secret(name: str) -> None:
    assert names_a_secret(name)
    assert is_secret_setting(name)


@pytest.mark.parametrize("name", ["max_tokens", "passwords", "key", "author", "bypass", "compass", "monkey"])
def test_a_name_that_only_resembles_one(name: str) -> None:
    assert not names_a_secret(name)


def test_settings_of_a_server_take_more_for_secrets() -> None:
    assert all(map(is_secret_setting, ["KEY", "SENTRY_DSN", "GITHUB_PAT", "SECRET_ARN", "TOKENS"]))
    assert not any(map(is_secret_setting, ["PATH", "HOME", "KEYBOARD", "PATTERN", "AUTHOR"]))


def test_a_command_line_hides_what_its_flags_name() -> None:
    words = ["npx", "hub", "--api-key", "hunter", "-u", "me:hunter2", "--url", "https://me:hunter2@x.org"]
    shown = ["npx", "hub", "--api-key", "[redacted]", "-u", "[redacted]", "--url", "[redacted]x.org"]
    assert words_without_secrets(words) == shown


def test_a_key_that_comes_line_by_line() -> None:
    hiding = PiecewiseHiding()
    lines = ["starts", "-----BEGIN PRIVATE KEY-----", "MIIEow", "-----END PRIVATE KEY-----", "goes on"]
    assert [hiding.shown(line) for line in lines] == ["starts", *["[redacted]"] * 3, "goes on"]


def test_a_key_without_an_end_hides_no_later_words() -> None:
    hiding = PiecewiseHiding()
    hiding.shown("-----BEGIN PRIVATE KEY-----")
    assert {hiding.shown("x" * 4_000) for _ in range(5)} == {"[redacted]"}
    assert hiding.shown("it goes on") == "it goes on"
