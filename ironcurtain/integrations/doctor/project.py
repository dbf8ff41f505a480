"""Can the project's settings be read, and can the model that they name be asked?"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping

from ironcurtain.compiler.llm.access import FILE_NAME, ModelAccess, Service, access_to, load_user_config
from ironcurtain.compiler.llm.providers.choose import installed, parse_model
from ironcurtain.compiler.llm.question import MANUAL
from ironcurtain.errors import IronCurtainError, ModelFailedError
from ironcurtain.integrations.doctor.report import Diagnosis
from ironcurtain.integrations.doctor.subject import Installation, failed

_TIMEOUT = 30.0
_OK = 200
_REFUSED = {401, 403}


def settings(subject: Installation) -> Iterator[Diagnosis]:
    """Look at the project's settings and at the user's own."""
    if subject.problem is not None:
        yield from failed("settings", subject.problem, "Everything below is looked at with default settings.")
    try:
        load_user_config(subject.user / FILE_NAME)
    except IronCurtainError as error:
        yield from failed("settings", error)
    else:
        if subject.problem is None:
            yield Diagnosis(name="settings", status="ok", what="the settings can be read")


def model(subject: Installation) -> Iterator[Diagnosis]:
    """Look whether the models that compile could be asked; without `online` nobody is."""
    services: dict[str, Service] = {}
    for named in subject.models:
        if named == MANUAL:
            continue
        try:
            service, _ = parse_model(named)
        except IronCurtainError as error:
            yield from failed("model", error)
        else:
            services[service.name] = service
    for service in services.values():
        yield from _service(subject, service)
    if {*subject.models} <= {MANUAL}:
        yield Diagnosis(name="model", status="ok", what="a person answers a compile's questions")


def _service(subject: Installation, service: Service) -> Iterator[Diagnosis]:
    """Look whether a provider could be asked."""
    try:
        access = access_to(service, load_user_config(subject.user / FILE_NAME))
    except ModelFailedError as error:  # whoever only enforces needs no key
        yield Diagnosis(name="model", status="warn", what=error.what, fix=error.hint, code=error.code)
        return
    except IronCurtainError as error:
        yield from failed("model", error)
        return
    if not installed(service.sdk):
        yield Diagnosis(
            name="model",
            status="warn",
            what=f"the SDK for {service.title} is not installed",
            fix=f"Run `pip install 'ironcurtain[{service.name}]'`.",
            code=ModelFailedError.code,
        )
    elif subject.online:
        yield _ask(access)
    else:
        what = f"there is a way to {service.title}; nobody asked whether it leads there"
        yield Diagnosis(name="model", status="ok", what=what)


def _ask(access: ModelAccess) -> Diagnosis:
    """Ask for the list of models, by the way that a compile takes; the address may be a secret itself."""
    http = importlib.import_module("ironcurtain.compiler.llm.http")  # it comes with a provider's SDK
    address = (access.base_url or access.service.url).rstrip("/")
    asked = access.service.title
    try:
        with (
            http.bounded_client(_TIMEOUT) as client,
            client.stream("GET", address + access.service.models, headers=_headers(access)) as response,
        ):
            status = response.status_code
    except http.FAILURES as error:
        fix = f"Check your network, {access.service.address} and the addresses in {FILE_NAME}."
        return _fails(f"{asked} cannot be reached ({type(error).__name__})", fix)
    if status in _REFUSED:
        fix = f"Set {access.service.keys[0]} to a key that is valid (docs/models.md)."
        return _fails(f"{asked} refuses the key (HTTP status {status})", fix)
    if status != _OK:
        return Diagnosis(
            name="model",
            status="warn",
            what=f"{asked} does not tell its models (HTTP status {status}), so nothing is known of the key",
            fix="Let one small question be asked: `ironcurtain compile --max-cost 0.1`.",
        )
    return Diagnosis(name="model", status="ok", what=f"{asked} takes the key")


def _headers(access: ModelAccess) -> Mapping[str, str]:
    secret = access.secret
    if secret is None:
        return {}
    return {name: text.format(key=secret) for name, text in access.service.headers.items()}


def _fails(what: str, fix: str) -> Diagnosis:
    return Diagnosis(name="model", status="fail", what=what, fix=fix, code=ModelFailedError.code)
