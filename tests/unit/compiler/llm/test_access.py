"""Where keys, addresses and prices come from, and that none of it is ever shown."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ironcurtain.compiler.llm.access import (
    SERVICES,
    Price,
    UserConfig,
    access_to,
    load_user_config,
    price_of,
    shipped,
)
from ironcurtain.errors import FileError, FormatError, IronCurtainError, ModelFailedError, SeveralErrors

CANARY = "sk-canary-0123456789"
OPENAI = SERVICES["openai"]


def written(directory: Path, content: str, mode: int = 0o600) -> Path:
    path = directory / "config.json"
    path.write_text(content)
    path.chmod(mode)
    return path


def config(**content: Any) -> UserConfig:
    return UserConfig.model_validate_json(json.dumps(content))


def test_a_file_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert load_user_config(tmp_path / "config.json") == UserConfig()


def test_the_environment_comes_before_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps({"keys": {"openai": "from-file"}}))
    own = load_user_config(path)
    assert access_to(OPENAI, own, {}).secret == "from-file"
    assert access_to(OPENAI, own, {"OPENAI_API_KEY": "from-environment"}).secret == "from-environment"


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o601])
def test_a_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path, json.dumps({"keys": {"openai": CANARY}}), mode)
    with pytest.raises(FileError, match="others can read or change it") as caught:
        load_user_config(path)
    assert "chmod 600" in caught.value.hint


@pytest.mark.parametrize(
    "content",
    [
        f'{{"keys": {{"openai": "{CANARY}"}}',
        json.dumps({"keys": {"nobody": CANARY}}),
        json.dumps({"keys": {CANARY: "openai"}}),
        json.dumps({"keys": CANARY}),
        json.dumps({"keys": {"openai": [CANARY]}}),
        json.dumps({CANARY: 1}),
        json.dumps({"openai_key": CANARY}),
        json.dumps({"timeout": CANARY}),
        json.dumps(CANARY),
    ],
)
def test_a_wrong_file_is_told_without_what_stands_in_it(tmp_path: Path, content: str) -> None:
    with pytest.raises(IronCurtainError) as caught:
        load_user_config(written(tmp_path, content))
    errors = caught.value.errors if isinstance(caught.value, SeveralErrors) else [caught.value]
    for error in errors:
        assert isinstance(error, FormatError)
        assert CANARY not in f"{error.what} {error.hint} {error.where} {error!r}"
        # A line would be printed as an excerpt of the source.
        assert error.where is not None
        assert error.where.line is None


def test_a_key_has_no_readable_form() -> None:
    own = config(keys={"openai": CANARY})
    access = access_to(OPENAI, own, {})
    assert access.secret == CANARY
    assert CANARY not in f"{own!r} {own} {access!r} {own.model_dump_json()}"


@pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES.keys())
def test_without_a_key_the_providers_own_address_is_not_asked(service: Any) -> None:
    with pytest.raises(ModelFailedError, match="there is no key") as caught:
        access_to(service, UserConfig(), {})
    assert service.keys[0] in caught.value.hint


@pytest.mark.parametrize(
    ("address", "key", "accepted"),
    [
        ("https://gateway.example/v1", CANARY, True),
        ("http://127.0.0.1:8080/v1", CANARY, True),
        ("http://[::1]:8080/v1", CANARY, True),
        ("http://localhost:11434/v1", CANARY, True),
        ("http://10.1.2.3:8000/v1", "", True),
        ("http://10.1.2.3:8000/v1", CANARY, False),
        ("http://gateway.example/v1", CANARY, False),
        ("http://localhost.example/v1", CANARY, False),
        ("http://127.0.0.1.example/v1", CANARY, False),
        ("https://user:pass@gateway.example/v1", CANARY, False),
        ("ftp://gateway.example", CANARY, False),
        ("gateway.example", CANARY, False),
        ("https://", CANARY, False),
        ("http://[::1", CANARY, False),
    ],
)
def test_a_key_travels_encrypted_or_not_at_all(address: str, key: str, *, accepted: bool) -> None:
    environ = {"OPENAI_BASE_URL": address, "OPENAI_API_KEY": key}
    if accepted:
        assert access_to(OPENAI, UserConfig(), environ).base_url == address
        return
    with pytest.raises(ModelFailedError) as caught:
        access_to(OPENAI, UserConfig(), environ)
    assert CANARY not in f"{caught.value.what} {caught.value.hint}"


def test_prices_have_a_date_and_dated_models_have_the_price_of_their_family() -> None:
    assert len(shipped().date) == len("2026-11-18")
    family = price_of("anthropic:claude-opus-4-5", {})
    assert family is not None
    assert price_of("anthropic:claude-opus-4-5-20251101", {}) == family
    assert price_of("anthropic:claude-opus-4-5-turbo", {}) is None
    assert price_of("openai:claude-opus-4-5", {}) is None


def test_own_prices_come_first() -> None:
    own = config(
        prices={"openai:llama": {"input": 0, "output": 0}, "openai:gpt-6-sol": {"input": 1, "output": 1}}
    )
    assert price_of("openai:llama", own.prices) == Price(input=Decimal(0), output=Decimal(0))
    found = price_of("openai:gpt-6-sol", own.prices)
    assert found is not None
    assert found.cost(1_000_000, 1_000_000) == 2


def test_every_shipped_price_is_of_a_known_provider_and_longer_calls_are_not_cheaper() -> None:
    for model, price in shipped().models.items():
        assert model.partition(":")[0] in SERVICES
        assert 0 < price.input < price.output
        if price.above is not None:
            assert price.cost(price.above + 1, 1000) > price.cost(price.above, 1000) * Decimal("1.4")
