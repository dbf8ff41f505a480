"""Is the program whole, can its project be read, and are its keys safe?

Examined are Python, the packages, the engine and one decision; the settings, and the model that they name;
and the files of approvals and keys.
"""

from __future__ import annotations

import importlib
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.compiler.llm.access import FILE_NAME, ModelAccess, Service, access_to, load_user_config
from ironcurtain.compiler.llm.providers.choose import installed, parse_model
from ironcurtain.compiler.llm.question import MANUAL
from ironcurtain.enforcement.approvals.key import ApprovalKey
from ironcurtain.enforcement.approvals.private_directory import PrivateDirectory, check_outside
from ironcurtain.engine.locate import find
from ironcurtain.errors import IronCurtainError, ModelFailedError
from ironcurtain.integrations.doctor.installation import Diagnosis, Installation, failed
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import RuleKind, kind_of
from ironcurtain.policy import Policy
from ironcurtain.servers.permitted import project_servers
from ironcurtain.system.extras import how_to_install
from ironcurtain.system.ownership import others_have_access
from ironcurtain.system.text import counted, visible

_PYTHON = (3, 11)
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)(?:\[[^\]]*\])?(?:[^;]*?>=\s*([0-9.]+))?[^;]*(?:;(.*))?")


def python(_: Installation) -> Iterator[Diagnosis]:
    """Look at the interpreter."""
    running = sys.version_info[:3]
    shown = ".".join(map(str, running))
    if running < _PYTHON:
        wanted = ".".join(map(str, _PYTHON))
        yield Diagnosis.fail("python", f"this is Python {shown}", f"Use Python {wanted} or newer.")
    else:
        yield Diagnosis.ok("python", f"Python {shown}")


def packages(_: Installation) -> Iterator[Diagnosis]:
    """Look at the packages that this one needs."""
    yield from check_packages(requires("ironcurtain") or [])


def check_packages(requirements: Iterable[str]) -> Iterator[Diagnosis]:
    """Hold what is installed against requirements as metadata write them; those of extras are optional."""
    wrong = 0
    plain = [requirement for requirement in requirements if "extra ==" not in requirement]
    for requirement in plain:
        match = _REQUIREMENT.match(requirement)
        if match is None:
            continue
        name, least = match.group(1), match.group(2)
        try:
            installed = version(name)
        except PackageNotFoundError:
            what = f"the package {name} is not installed"
        else:
            if least is None or _numbers(installed) >= _numbers(least):
                continue
            what = f"the package {name} is {installed}, and {least} or newer is needed"
        wrong += 1
        fix = f"Run `pip install '{requirement.partition(';')[0].strip()}'`, or install ironcurtain anew."
        yield Diagnosis.fail("packages", what, fix)
    if not wrong:
        what = (
            f"{counted(len(plain), 'package is', 'packages are')} there, ironcurtain {version('ironcurtain')}"
        )
        yield Diagnosis.ok("packages", what)


def engine_program(installation: Installation) -> Iterator[Diagnosis]:
    """Look for OPA."""
    try:
        program = find(installation.opa)
    except IronCurtainError as error:
        if not installation.engine:
            yield from failed("opa", error)
            return
        what = f"{error.what}; the nodes decide, and only compiling needs one here"
        yield Diagnosis.warn("opa", what, error.hint, code=error.code)
    else:
        yield Diagnosis.ok("opa", f"OPA {program.version}, {visible(str(program.path))}")


def decision(installation: Installation) -> Iterator[Diagnosis]:
    """Start an engine as enforcement does, and let it decide one call."""
    try:
        Bundle.read(installation.bundle)
    except IronCurtainError:
        yield Diagnosis.skip("engine", "the bundle cannot be read")
        return
    servers = installation.servers if installation.servers.exists() else None
    try:
        with Policy.load(
            installation.bundle,
            sandbox=installation.workspace,
            servers=servers,
            opa=installation.opa,
            verify_key=installation.verify_key,
            expect_revision=installation.expect_revision,
            min_serial=installation.min_serial,
            engine=installation.engine,
            engine_ca=installation.engine_ca,
            engine_token_file=installation.engine_token_file,
        ) as policy:
            decided = _one_decision(policy)
    except IronCurtainError as error:
        yield from failed("engine", error)
        return
    if decided is None:
        yield Diagnosis.warn("engine", "the engine starts; the policy has no tool to decide about")
    elif kind_of(decided.rule) is RuleKind.ENGINE:
        fix = "Run `ironcurtain opa which`, and verify the bundle: ironcurtain verify BUNDLE."
        yield Diagnosis.fail("engine", decided.reason, fix)
    else:
        what = f"the engine starts and decides: {decided.verdict} by {visible(decided.rule)}"
        yield Diagnosis.ok("engine", what)


def _one_decision(policy: Policy) -> Decision | None:
    """Decide a call without arguments, if possible one that comes as far as the engine."""
    last: Decision | None = None
    for server, tool in PolicyContent.of(policy.bundle).tools:
        last = policy.decide(server, tool, {})
        if kind_of(last.rule) is not RuleKind.STRUCTURAL:
            return last
    return last


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.partition("+")[0])[:4])


_TIMEOUT = 30.0
_OK = 200
_REFUSED = {401, 403}


def settings(installation: Installation) -> Iterator[Diagnosis]:
    """Look at the project's settings and at the user's own."""
    if installation.problem is not None:
        yield from failed(
            "settings", installation.problem, "Everything below is looked at with default settings."
        )
    try:
        load_user_config(installation.user / FILE_NAME)
    except IronCurtainError as error:
        yield from failed("settings", error)
    else:
        if installation.problem is None:
            yield Diagnosis.ok("settings", "the settings can be read")


def model(installation: Installation) -> Iterator[Diagnosis]:
    """Look whether the models that compile could be asked; without `online` nobody is."""
    services: dict[str, Service] = {}
    for named in installation.models:
        if named == MANUAL:
            continue
        try:
            service, _ = parse_model(named)
        except IronCurtainError as error:
            yield from failed("model", error)
        else:
            services[service.name] = service
    for service in services.values():
        yield from _service(installation, service)
    if {*installation.models} <= {MANUAL}:
        yield Diagnosis.ok("model", "a person answers a compile's questions")


def _service(installation: Installation, service: Service) -> Iterator[Diagnosis]:
    """Look whether a provider could be asked."""
    try:
        access = access_to(service, load_user_config(installation.user / FILE_NAME))
    except ModelFailedError as error:  # whoever only enforces needs no key
        yield Diagnosis.warn("model", error.what, error.hint, code=error.code)
        return
    except IronCurtainError as error:
        yield from failed("model", error)
        return
    if not installed(service.sdk):
        yield Diagnosis.warn(
            "model",
            f"the SDK for {service.title} is not installed",
            f"Run `{how_to_install(service.name)}`.",
            code=ModelFailedError.code,
        )
    elif installation.online:
        yield _ask(access)
    else:
        what = f"there is a way to {service.title}; nobody asked whether it leads there"
        yield Diagnosis.ok("model", what)


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
        fix = f"Set {access.service.keys[0]} to a key that is valid (`ironcurtain error models`)."
        return _fails(f"{asked} refuses the key (HTTP status {status})", fix)
    if status != _OK:
        return Diagnosis.warn(
            "model",
            f"{asked} does not tell its models (HTTP status {status}), so nothing is known of the key",
            "Let one small question be asked: `ironcurtain compile --max-cost 0.1`.",
        )
    return Diagnosis.ok("model", f"{asked} takes the key")


def _headers(access: ModelAccess) -> Mapping[str, str]:
    secret = access.secret
    if secret is None:
        return {}
    return {name: text.format(key=secret) for name, text in access.service.headers.items()}


def _fails(what: str, fix: str) -> Diagnosis:
    return Diagnosis.fail("model", what, fix, code=ModelFailedError.code)


_PRIVATE_MARK = b"PRIVATE KEY"


def approvals(installation: Installation) -> Iterator[Diagnosis]:
    """Look at the approvals directory and its key: private, and out of reach of agent and servers."""
    place, key = installation.approvals
    reachable = [
        *([installation.workspace] if installation.workspace is not None else []),
        *_working_roots(installation),
    ]
    try:
        if not os.path.lexists(place):
            check_outside(place, reachable)
            yield Diagnosis.ok("approvals", "no directory yet; the proxy makes it")
            return
        PrivateDirectory.open(place, create=False).close()
        ApprovalKey.read(key)
        for each in (place, key):
            check_outside(each, reachable)
    except IronCurtainError as error:
        yield from failed("approvals", error)
    else:
        yield Diagnosis.ok("approvals", f"{visible(str(place))} is private")


def _working_roots(installation: Installation) -> list[Path]:
    try:
        config = project_servers(installation.servers)
    except IronCurtainError:  # the part servers says why
        return []
    roots = (server.working_root for server in config.servers.values())
    return [config.directory / Path(root).expanduser() for root in roots if root is not None]


def keys(installation: Installation) -> Iterator[Diagnosis]:
    """Look who can read the private keys in the user's own directory."""
    found = sorted(path for path in _files(installation.user) if _is_private_key(path))
    for path in found:
        status = path.stat()
        if others_have_access(status):
            shown = visible(str(path))
            what = f"others can read the key {shown} (mode {stat.S_IMODE(status.st_mode):04o})"
            fix = f"Run `chmod 600 {shown}`; if somebody could have read it, make a new one."
            yield Diagnosis.fail("keys", what, fix)
    if not any(others_have_access(path.stat()) for path in found):
        yield Diagnosis.ok("keys", f"{counted(len(found), 'key is', 'keys are')} readable by you alone")


def _files(directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if path.is_file()] if directory.is_dir() else []


def _is_private_key(path: Path) -> bool:
    if path.suffix == ".key":
        return True
    return path.suffix == ".pem" and _PRIVATE_MARK in path.read_bytes()
