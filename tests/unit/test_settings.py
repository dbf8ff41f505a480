"""`ironcurtain.toml`."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironcurtain.errors import FormatError
from ironcurtain.settings import Settings, defaults, find_settings, load_settings


def write(directory: Path, text: str) -> Path:
    path = directory / "ironcurtain.toml"
    path.write_text(text)
    return path


def test_without_a_file_there_are_defaults(tmp_path: Path) -> None:
    assert load_settings(None) == Settings()
    (tmp_path / "a").mkdir()
    assert find_settings(tmp_path / "a") is None


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'constitution = "rules/c.md"\noutput = "/elsewhere"\n')
    values = defaults(path, load_settings(path))
    assert values["constitution"] == str(tmp_path / "rules" / "c.md")
    assert values["output"] == "/elsewhere"
    assert values["custom"] is None


def test_roles_and_hosts_are_read(tmp_path: Path) -> None:
    hosts = 'case_insensitive_hosts = ["git.example"]\n'
    text = hosts + '[[roles]]\nname = "channel"\ndescription = "d"\ncase = "exact"\n'
    settings = load_settings(write(tmp_path, text))
    assert settings.case_insensitive_hosts == ("git.example",)
    assert settings.roles[0].name == "channel"


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ('\nconstitutoin = "x"', 'unknown key "constitutoin"', 2),
        ('serial = "1"', "serial", 1),
        ("serial = -1", "serial", 1),
        ("x = [", "not valid TOML", None),
        ('[[roles]]\nname = "Bad Name"\ndescription = "d"\ncase = "exact"', "roles.0.name", 1),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, said: str, line: int | None) -> None:
    with pytest.raises(FormatError) as caught:
        load_settings(write(tmp_path, text))
    assert said in caught.value.what
    assert caught.value.where is not None
    assert caught.value.where.line == line


def test_a_misspelt_key_is_recognised(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        load_settings(write(tmp_path, 'constitutoin = "x"'))
    assert caught.value.hint == 'Did you mean "constitution"?'


def test_the_users_own_guidance_is_off_until_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("IRONCURTAIN_HOME", str(home))

    def found(text: str) -> object:
        path = write(tmp_path, text)
        return defaults(path, load_settings(path))["user_constitution"]

    home.mkdir()
    assert found("serial = 1") is None
    assert found("user_constitution = true") is None
    (home / "constitution-user.md").write_text("- Mine.\n")
    assert found("serial = 1") is None
    assert found("user_constitution = true") == str(home / "constitution-user.md")
    assert found('user_constitution = "mine.md"') == str(tmp_path / "mine.md")
