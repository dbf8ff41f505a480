"""OPA's other commands: checking, testing, evaluating, formatting and parsing Rego.

Each runs in a temporary directory of its own, with nothing of our environment, for a bounded time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from ironcurtain.engine.locate import Opa
from ironcurtain.errors import (
    BundleIntegrityError,
    BundleSignatureError,
    EngineFailedError,
    Place,
    RegoRejectedError,
    raise_all,
)
from ironcurtain.system import assets
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.private_runtime import private_directory
from ironcurtain.system.structs import Struct
from ironcurtain.system.subprocess_runner import ProcessOutput, clean_environment, run
from ironcurtain.system.text import visible

_KIND = "opa"
CAPABILITIES = assets.OPA / "capabilities.json"
"""The built-ins that a policy may use: pure ones, without network, clock, randomness or environment."""

_SHOWN = 2000
_TEXT_ERROR = re.compile(r"^(?:.*occurred: )?(.+?):(\d+): (rego_\w+: .*)$", re.MULTILINE)
T = TypeVar("T")


class _Printed(BaseModel):
    """Something that OPA prints, as far as it concerns us; few commands print it, so it is built late."""

    model_config = ConfigDict(defer_build=True)


class _Location(_Printed):
    file: str = ""
    row: int | None = None
    col: int | None = None

    @property
    def place(self) -> Place:
        return Place(visible(self.file or "query"), self.row, self.col)


class _Error(_Printed):
    message: str
    location: _Location


class _ErrorReport(_Printed):
    errors: tuple[_Error, ...] = ()


class _Cases(_Printed):
    """A test or, in a parameterised one, a case of it, which can have cases of its own."""

    skip: bool = False
    sub_results: dict[str, _Cases] | None = None

    @property
    def cases(self) -> int:
        if self.skip:
            return 0
        return sum(child.cases for child in self.sub_results.values()) if self.sub_results else 1


class _TestRow(_Cases):
    """A row of `opa test`; `error` says why the test could not be evaluated."""

    package: str
    name: str
    location: _Location
    fail: bool = False
    error: JsonValue = None

    @property
    def test(self) -> RegoTest:
        return RegoTest(f"{self.package}.{self.name}", self.location.place, self._outcome)

    @property
    def _outcome(self) -> str:
        if self.error:
            return "error"
        return "failed" if self.fail else "skipped" if self.skip else "passed"


_ROWS: TypeAdapter[tuple[_TestRow, ...] | None] = TypeAdapter(
    tuple[_TestRow, ...] | None, config=ConfigDict(defer_build=True)
)


class RegoTest(Struct):
    """One Rego test and how it ended; `place` is the test's own."""

    name: str
    place: Place
    outcome: str


class RegoReport(Struct):
    """The result of `opa test`.

    Attributes:
        tests: Every test that was found, in OPA's order; outcomes are `passed`, `failed`, `error`, `skipped`.
        cases: How many cases ran. A parameterised test counts once per case; OPA reports one with an
            empty table like a plain test that passed, so compare with the count that is expected.
    """

    tests: tuple[RegoTest, ...]
    cases: int

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(test.outcome == "passed" for test in self.tests)

    @property
    def failures(self) -> tuple[RegoTest, ...]:
        """The tests that did not pass, skipped ones included: a skipped test proves nothing."""
        return tuple(test for test in self.tests if test.outcome != "passed")


class OpaCommand:
    """Runs OPA's commands.

    All methods raise `EngineFailedError` if OPA does not run, takes too long or answers what it should not,
    and `RegoRejectedError` (`SeveralErrors` if there are several) with the places if it rejects the Rego.

    Args:
        opa: The executable.
        timeout: Seconds for one command.
    """

    def __init__(self, opa: Opa, *, timeout: float = 120.0) -> None:
        self._opa = opa
        self._timeout = timeout

    def check(
        self,
        *paths: Path,
        bundle: bool = False,
        schemas: Path | None = None,
        capabilities: Path | None = CAPABILITIES,
    ) -> None:
        """Compile strictly: `opa check --strict`.

        Args:
            paths: Rego files or directories; with `bundle`, bundles.
            bundle: Whether the paths are bundles.
            schemas: A directory of JSON Schemas (or one schema) that annotations refer to.
            capabilities: The built-ins that may be used; None for all.
        """
        arguments = ["check", "--strict", "--format", "json", "--max-errors", "100"]
        arguments += _schema(schemas) + _capabilities(capabilities)
        output = self._run([*arguments, *_locations(paths, bundle=bundle)])
        if output.status != 0:
            _reject(output.stderr, output)

    def test(self, *paths: Path, bundle: bool = True) -> RegoReport:
        """Run the tests in bundles, or in files and directories: `opa test`.

        Tests that fail are part of the report, and so is an empty set of tests: judge `cases`.
        """
        arguments = ["test", "--format", "json", "--timeout", f"{self._timeout:g}s"]
        output = self._run(
            [*arguments, *_capabilities(CAPABILITIES), *_locations(paths, bundle=bundle)], answers=(0, 1, 2)
        )
        if output.status == 1:
            _reject_text(output)
        rows = _read(_ROWS.validate_json, output.stdout, output) or ()
        # OPA runs tests side by side and reports them as they end.
        tests = sorted((row.test for row in rows), key=lambda test: test.name)
        return RegoReport(tuple(tests), sum(row.cases for row in rows))

    def eval(
        self,
        query: str,
        *,
        bundles: Sequence[Path] = (),
        data: Sequence[Path] = (),
        policy_input: bytes | None = None,
        capabilities: Path | None = CAPABILITIES,
    ) -> JsonValue:
        """Evaluate a query and return its value: `opa eval --strict-builtin-errors`.

        Args:
            query: A plain reference such as `data.a.b`; anything with `with` belongs into a module
                (OPA misreads it in a query).
            bundles: Bundles to load.
            data: Further modules and data files.
            policy_input: The JSON text of `input`.
            capabilities: The built-ins that may be used; None for all.

        Raises:
            EngineFailedError: Also if the query is undefined.
        """
        arguments = ["eval", "--format", "json", "--strict-builtin-errors", *_capabilities(capabilities)]
        for bundle in bundles:
            arguments += ["--bundle", str(bundle.absolute())]
        for path in data:
            arguments += ["--data", path.absolute().as_uri()]
        if policy_input is not None:
            arguments.append("--stdin-input")
        output = self._run([*arguments, query], policy_input or b"")
        if output.status != 0:
            _reject(output.stdout, output)
        match _json(output.stdout, output):
            case {"result": [{"expressions": [{"value": value}, *_]}, *_]}:
                return value
        raise EngineFailedError(f"the query {visible(query)} is undefined")

    def verify_signature(self, archive: bytes, key: str, algorithm: str) -> None:
        """Have OPA load a signed bundle as it does at its start, and so verify the signature.

        Args:
            archive: The bundle, a `.tar.gz`.
            key: The public key, PEM.
            algorithm: The one algorithm that the signature may have.

        Raises:
            BundleSignatureError: In OPA's own words, if it refuses the bundle.
        """
        with private_directory(_KIND) as place:
            files = {"bundle.tar.gz": archive, "key.pem": key.encode()}
            for file, content in files.items():
                (place / file).write_bytes(content)
            bundle, verifier, output = (place / file for file in (*files, "output.tar.gz"))
            arguments = ["build", "--bundle", str(bundle), "--output", str(output)]
            ended = self._run([*arguments, "--verification-key", str(verifier), "--signing-alg", algorithm])
        if ended.status != 0:
            words = _shown(ended.stderr + ended.stdout).replace(f"{place}/", "")
            raise BundleSignatureError(f"OPA refuses the bundle: {words}")

    def check_built_ins(self, archive: bytes) -> None:
        """See that a bundle uses only the built-ins that a policy may use; `opa run` knows no such limit.

        Raises:
            BundleIntegrityError, SeveralErrors: For each use of another one, with file and line.
        """
        with private_directory(_KIND) as place:
            bundle = place / "bundle.tar.gz"
            bundle.write_bytes(archive)
            arguments = ["check", "--format", "json", *_capabilities(CAPABILITIES), "--bundle", str(bundle)]
            output = self._run(arguments)
        if output.status == 0:
            return
        errors = _read(_ErrorReport.model_validate_json, output.stderr, output).errors
        raise_all(
            [
                BundleIntegrityError(
                    f"OPA refuses {each.location.place}: {visible(each.message)}",
                    hint="A policy may use the built-ins of opa/capabilities.json alone: do without it.",
                )
                for each in errors
            ]
        )
        raise _failed(output)

    def format(self, source: str) -> str:
        """Return a module as `opa fmt` writes it."""
        output = self._run(["fmt"], source.encode())
        if output.status != 0:
            _reject_text(output)
        return output.stdout.decode()

    def parse(self, path: Path, *, locations: bool = False) -> dict[str, JsonValue]:
        """Return the syntax tree of a module, a JSON object: `opa parse`.

        `locations` gives each node its place.
        """
        included = "locations,comments" if locations else "comments"
        output = self._run(["parse", "--format", "json", "--json-include", included, str(path.absolute())])
        if output.status != 0:
            _reject(output.stderr, output)
        return _json(output.stdout, output)

    def _run(
        self, arguments: list[str], stdin: bytes = b"", *, answers: Sequence[int] = (0, 1, 2)
    ) -> ProcessOutput:
        """Run a command; a status that is none of OPA's own answers is a failure."""
        try:
            with private_directory(_KIND) as place:
                output = run(
                    [str(self._opa.path), *arguments],
                    cwd=place,
                    environment=clean_environment(place),
                    timeout=self._timeout,
                    stdin=stdin,
                )
        except OSError as error:
            raise EngineFailedError(f"`opa {arguments[0]}` did not finish: {visible(str(error))}") from error
        if output.status not in answers:
            raise _failed(output)
        return output


def _json(text: bytes, output: ProcessOutput) -> dict[str, JsonValue]:
    try:
        document = json.loads(text)
    except ValueError:
        raise _failed(output) from None
    if not isinstance(document, dict):
        raise _failed(output)
    return document


def _read(read: Callable[[bytes], T], text: bytes, output: ProcessOutput) -> T:
    try:
        return read(text)
    except ValidationError:
        raise _failed(output) from None


def _reject(report: bytes, output: ProcessOutput) -> NoReturn:
    """Raise what OPA lists as errors; an error without a place is a failure of OPA's, not of the Rego."""
    errors = _read(_ErrorReport.model_validate_json, report, output).errors
    raise_all([RegoRejectedError(visible(each.message), where=each.location.place) for each in errors])
    raise _failed(output)


def _reject_text(output: ProcessOutput) -> NoReturn:
    """Raise the errors of a command that reports them as text, as far as they have a place."""
    places = _TEXT_ERROR.findall(output.stderr.decode("utf-8", "replace"))
    raise_all(
        [
            RegoRejectedError(visible(message), where=Place(visible(source), int(line)))
            for source, line, message in places
        ]
    )
    raise _failed(output)


def _schema(schemas: Path | None) -> list[str]:
    return ["--schema", str(schemas.absolute())] if schemas else []


def _capabilities(capabilities: Path | None) -> list[str]:
    return ["--capabilities", str(capabilities.absolute())] if capabilities else []


def _locations(paths: Sequence[Path], *, bundle: bool) -> list[str]:
    if bundle:
        return ["--bundle", *(str(path.absolute()) for path in paths)]
    # As an address, since OPA reads `a:b` as "the file b, to be loaded at a".
    return [path.absolute().as_uri() for path in paths]


def _shown(stream: bytes) -> str:
    text = stream.decode("utf-8", "replace").strip()
    return "; ".join(visible(line.strip()) for line in text[:_SHOWN].splitlines() if line.strip())


def _failed(output: ProcessOutput) -> EngineFailedError:
    words = _shown(output.stderr) or _shown(output.stdout) or "it said nothing"
    return EngineFailedError(f"OPA ended with status {output.status}: {words}")
