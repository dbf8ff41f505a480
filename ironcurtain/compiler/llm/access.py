"""Access to a provider: key, address, time-out and prices.

Keys come from the environment, then from the user's own file `config.json` in `IRONCURTAIN_HOME` or
`~/.ironcurtain`; never from a flag, and never from a project's files. Addresses come from the same two
places, so that a project cannot send somebody's key elsewhere. Nothing that this file holds is ever shown.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Annotated, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError

from ironcurtain.errors import FileError, FormatError, ModelFailedError, raise_all
from ironcurtain.system import json_text
from ironcurtain.system.files import read_text
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.loopback import is_loopback
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

DEFAULT_TIMEOUT = 600.0
FILE_NAME = "config.json"
_SEE = "See `ironcurtain error models`."

ServiceName: TypeAlias = Literal["anthropic", "openai", "google"]
Money: TypeAlias = Annotated[Decimal, Field(ge=0, le=10_000, strict=False)]
_DATED = re.compile(r"-(?:\d{8}|\d{4}-\d{2}-\d{2})$")


class Service(Struct):
    """What is fixed about a provider.

    Attributes:
        title: What people call it.
        module: The module of ours that speaks to its SDK, below `ironcurtain.compiler.llm.providers`.
        endpoint: The class in that module.
        sdk: The SDK's module; the extra has the provider's name.
        keys: Environment variables for its key, the first that is set counts.
        address: Environment variable for its address.
        url: Its own address.
        models: Where its models are listed, below any address: that costs nothing.
        headers: What a request for the list shows the key in; `{key}` stands for it.
    """

    name: ServiceName
    title: str
    module: str
    endpoint: str
    sdk: str
    keys: tuple[str, ...]
    address: str
    url: str
    models: str
    headers: Mapping[str, str]


SERVICES: dict[str, Service] = {
    service.name: service
    for service in (
        Service(
            "anthropic",
            "the Anthropic API",
            "anthropic",
            "AnthropicEndpoint",
            "anthropic",
            ("ANTHROPIC_API_KEY",),
            "ANTHROPIC_BASE_URL",
            "https://api.anthropic.com",
            "/v1/models",
            {"x-api-key": "{key}", "anthropic-version": "2023-06-01"},
        ),
        Service(
            "openai",
            "the OpenAI API",
            "openai",
            "OpenAIEndpoint",
            "openai",
            ("OPENAI_API_KEY",),
            "OPENAI_BASE_URL",
            "https://api.openai.com/v1",
            "/models",
            {"Authorization": "Bearer {key}"},
        ),
        Service(
            "google",
            "the Gemini API",
            "google",
            "GoogleEndpoint",
            "google.genai",
            ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            "GOOGLE_GEMINI_BASE_URL",
            "https://generativelanguage.googleapis.com",
            "/v1beta/models",
            {"x-goog-api-key": "{key}"},
        ),
    )
}


class Price(Frozen):
    """US dollars for a million tokens; `long` holds for whole calls with more input than `above` tokens."""

    input: Money
    output: Money
    above: int | None = None
    long_input: Money = Decimal(0)
    long_output: Money = Decimal(0)

    def cost(self, input_tokens: int, output_tokens: int) -> Decimal:
        """Return the price of a call in US dollars."""
        is_long = self.above is not None and input_tokens > self.above
        rates = (self.long_input, self.long_output) if is_long else (self.input, self.output)
        return (input_tokens * rates[0] + output_tokens * rates[1]) / 1_000_000


class UserConfig(Frozen):
    """The user's file `config.json`.

    Attributes:
        keys: Key by provider.
        addresses: Base URL by provider, for gateways, compatible and local servers.
        prices: Price by `provider:model`, beside and above those that we ship.
        timeout: Seconds that an answer may take.
    """

    format: Literal["ironcurtain/config/v1"] = "ironcurtain/config/v1"
    keys: dict[ServiceName, SecretStr] = Field(default_factory=dict)
    addresses: dict[ServiceName, str] = Field(default_factory=dict)
    prices: dict[str, Price] = Field(default_factory=dict)
    timeout: float = Field(default=DEFAULT_TIMEOUT, gt=0, le=86_400)


class ModelAccess(Struct):
    """What an endpoint needs to reach its model.

    Attributes:
        base_url: None means the provider's own address.
        key: Has no readable representation; `secret` is its text.
        timeout: Seconds that the server may be silent for, and that an answer may take.
    """

    service: Service
    base_url: str | None
    key: SecretStr | None
    timeout: float

    @property
    def secret(self) -> str | None:
        """The key itself, for the SDK only."""
        return self.key.get_secret_value() if self.key is not None else None


def load_user_config(path: Path) -> UserConfig:
    """Read the user's file; one that does not exist is empty.

    Raises:
        FileError: If others may read or change it, or it cannot be read.
        FormatError: If it is not of its shape; what stands in it is not shown.
    """
    if not path.exists():
        return UserConfig()
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise FileError(
            "the file may hold keys, and others can read or change it",
            where=str(path),
            hint=f"chmod 600 {visible(str(path))}",
        )
    try:
        content = json_text.parse(read_text(path))
        return UserConfig.model_validate_json(json_text.canonical(content))
    except json_text.MalformedJsonError:
        raise FormatError("not valid JSON", where=str(path)) from None
    except ValidationError as error:
        # Neither a value nor a key of the file is repeated: a secret may stand in the wrong place.
        tops = sorted({str(problem["loc"][0]) for problem in error.errors() if problem["loc"]})
    known = tuple(UserConfig.model_fields)
    raise_all(
        [
            FormatError(f"{top}: not of the right shape", where=str(path), hint=_SEE)
            if top in known
            else FormatError("an unknown key", where=str(path), hint=f"Known keys: {', '.join(known)}.")
            for top in tops or ("format",)
        ]
    )
    raise AssertionError  # unreachable: a ValidationError holds at least one problem


def access_to(
    service: Service,
    config: UserConfig,
    environ: Mapping[str, str] = os.environ,
    *,
    or_manual: bool = True,
) -> ModelAccess:
    """Find the way to a provider.

    Args:
        service: The provider.
        config: The user's configuration.
        environ: Where keys and addresses are looked for first.
        or_manual: Whether a person could answer in the model's place.

    Raises:
        ModelFailedError: If there is no key where one is needed, or the address would expose it.
    """
    found = next((environ[name] for name in service.keys if environ.get(name)), None)
    key = SecretStr(found) if found else config.keys.get(service.name)
    base_url = environ.get(service.address) or config.addresses.get(service.name)
    if base_url is None and key is None:
        others = ["or use --model manual"] if or_manual else []
        raise ModelFailedError(
            f"there is no key for {service.title}",
            hint=", ".join(
                [f"Set {service.keys[0]} or put it into {FILE_NAME} (`ironcurtain error models`)", *others]
            )
            + ".",
        )
    if base_url is not None:
        _check_address(base_url, service, has_key=key is not None)
    return ModelAccess(service, base_url, key, config.timeout)


def _check_address(base_url: str, service: Service, *, has_key: bool) -> None:
    try:
        parts = urlsplit(base_url)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    if not host or parts.scheme not in ("http", "https") or parts.username is not None:
        raise ModelFailedError(
            f"the address for {service.title} is no http or https URL without a user name",
            hint=f"Check {service.address}.",
        )
    if parts.scheme == "http" and has_key and not is_loopback(host):
        raise ModelFailedError(
            f"the key for {service.title} would travel unencrypted to {quoted(host)}",
            hint=f"Use https in {service.address}, or unset the key.",
        )


class PriceTable(Frozen):
    """The table.

    Attributes:
        date: When the prices were looked up: `YYYY-MM-DD`.
        models: Price by `provider:model`.
    """

    date: str
    models: dict[str, Price]


@cache
def shipped() -> PriceTable:
    """Return the table that is part of this version."""
    data = resources.files("ironcurtain.compiler.llm").joinpath("prices.json").read_bytes()
    return PriceTable.model_validate_json(json_text.canonical(json_text.parse(data)))


def price_of(model: str, own: Mapping[str, Price]) -> Price | None:
    """Return the price of `provider:model`, or None if nobody told; the user's own prices come first.

    A dated id (`claude-opus-4-5-20251101`) has the price of the undated one.
    """
    undated = _DATED.sub("", model)
    candidates = (
        own.get(model),
        own.get(undated),
        shipped().models.get(model),
        shipped().models.get(undated),
    )
    return next((price for price in candidates if price is not None), None)
