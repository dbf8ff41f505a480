"""OPA's commands through our wrapper: results as data, refusals with places, nothing left running."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.deployments.proxied import is_alive, wait_for
from support.documents import at, object_at

from ironcurtain.engine.command import CAPABILITIES, OpaCommand
from ironcurtain.engine.locate import Opa, find
from ironcurtain.errors import EngineFailedError, RegoRejectedError, SeveralErrors
from ironcurtain.system import assets


@pytest.fixture(scope="module")
def command() -> OpaCommand:
    return OpaCommand(find())


def module(directory: Path, text: str, name: str = "policy.rego") -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    path.write_text(text)
    return path


def script(directory: Path, text: str, timeout: float = 60.0) -> OpaCommand:
    path = directory / "opa"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return OpaCommand(Opa(path, "1.22.2", "configured"), timeout=timeout)


GOOD = "package p\n\nfour := 2 + 2\n"


def test_check_accepts(command: OpaCommand, tmp_path: Path) -> None:
    command.check(module(tmp_path, GOOD))
    command.check(tmp_path, bundle=True)


def test_check_names_every_place(command: OpaCommand, tmp_path: Path) -> None:
    path = module(tmp_path, "package p\n\nimport data.unused\n\na if b(1)\n")
    with pytest.raises(SeveralErrors) as caught:
        command.check(path)
    assert {(str(e.where), e.what) for e in caught.value.errors} == {
        (f"{path}:3:1", "import data.unused unused"),
        (f"{path}:5:6", "undefined function b"),
    }
    assert {type(e) for e in caught.value.errors} == {RegoRejectedError}


def test_check_against_a_schema(command: OpaCommand, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"tool": {"type": "string"}}, "additionalProperties": False}
    schemas = tmp_path / "schemas"
    module(schemas, json.dumps(schema), "input.json")
    text = (
        "# METADATA\n# scope: package\n# schemas:\n#   - input: schema.input\npackage p\n\na if input.toool\n"
    )
    with pytest.raises(RegoRejectedError, match="undefined ref") as caught:
        command.check(module(tmp_path / "policy", text), schemas=schemas)
    assert caught.value.where is not None
    assert caught.value.where.line == 7


@pytest.mark.parametrize(
    "call",
    [
        'http.send({"method": "get", "url": "http://x"})',
        'net.lookup_ip_addr("x")',
        "opa.runtime()",
        "time.now_ns()",
        'rand.intn("x", 2)',
        'uuid.rfc4122("x")',
        'rego.parse_module("x", "package x")',
        'io.jwt.decode("x")',
        'json.match_schema({}, {"$ref": "http://x"})',
    ],
)
def test_impure_builtin_is_refused_in_bundles(command: OpaCommand, tmp_path: Path, call: str) -> None:
    with pytest.raises(RegoRejectedError, match="undefined function"):
        command.check(module(tmp_path, f"package p\n\na := {call}\n"))


def test_capabilities_are_a_pure_part_of_opa_own(command: OpaCommand, tmp_path: Path) -> None:
    ours = json.loads(CAPABILITIES.read_text())
    assert ours["allow_net"] == []
    assert not [b["name"] for b in ours["builtins"] if b.get("nondeterministic") or b.get("deprecated")]
    forbidden = (
        "http.",
        "opa.",
        "rego.",
        "rand.",
        "uuid.",
        "io.",
        "time.",
        "providers.",
        "net.lookup",
        "trace",
    )
    assert not [b["name"] for b in ours["builtins"] if b["name"].startswith(forbidden)]
    needed = (
        'package p\n\na := [object.get(input, ["x"], null), count(input.y), regex.match(`^a$`, input.z)]\n'
    )
    command.check(module(tmp_path, needed))


def test_authorisation_policy_passes_its_own_tests(command: OpaCommand) -> None:
    rules, tests = (assets.OPA / "system/authz" / name for name in ("authz.rego", "authz_test.rego"))
    command.check(rules, tests)
    report = command.test(rules, tests, bundle=False)
    assert (report.failures, report.passed) == ((), 7)


def test_tests_are_counted_by_case(command: OpaCommand, tmp_path: Path) -> None:
    module(
        tmp_path,
        "package p_test\n\ntest_one if true\n\ntest_two if false\n\ntodo_test_three if true\n\n"
        'test_table[n] if {\n\tsome n, c in {"a": 1, "b": 2, "c": 3}\n\tc < 3\n}\n',
    )
    report = command.test(tmp_path)
    assert report.passed == 1
    assert {(t.name, t.outcome) for t in report.failures} == {
        ("data.p_test.test_two", "failed"),
        ("data.p_test.todo_test_three", "skipped"),
        ("data.p_test.test_table", "failed"),
    }
    assert report.cases == 5


def test_no_tests_are_reported_as_none(command: OpaCommand, tmp_path: Path) -> None:
    module(tmp_path, GOOD)
    report = command.test(tmp_path)
    assert (report.tests, report.cases) == ((), 0)


def test_tests_that_do_not_compile_are_rejected(command: OpaCommand, tmp_path: Path) -> None:
    path = module(tmp_path, "package p_test\n\ntest_x if nothing(1)\n")
    with pytest.raises(RegoRejectedError, match="undefined function nothing") as caught:
        command.test(tmp_path)
    assert str(caught.value.where) == f"{path}:3"


def test_eval_gives_the_value(command: OpaCommand, tmp_path: Path) -> None:
    module(tmp_path / "bundle", GOOD)
    helper = module(tmp_path / "odd: name%20", "package h\n\nr := [input.n, data.p.four]\n", "h.rego")
    value = command.eval("data.h.r", bundles=[tmp_path / "bundle"], data=[helper], policy_input=b'{"n": 3}')
    assert value == [3, 4]


def test_eval_undefined_is_no_value(command: OpaCommand) -> None:
    with pytest.raises(EngineFailedError, match="undefined"):
        command.eval("data.nothing")


def test_eval_error_of_a_builtin_is_an_error(command: OpaCommand, tmp_path: Path) -> None:
    path = module(tmp_path, "package p\n\na := count(input.n)\n")
    with pytest.raises(RegoRejectedError, match="count: operand 1"):
        command.eval("data.p.a", data=[path], policy_input=b'{"n": 1}')


def test_eval_of_a_corrupt_bundle_is_no_fault_of_the_rego(command: OpaCommand, tmp_path: Path) -> None:
    module(tmp_path, "{", ".manifest")
    with pytest.raises(EngineFailedError, match="manifest"):
        command.eval("data", bundles=[tmp_path])


def test_formatting(command: OpaCommand, tmp_path: Path) -> None:
    ugly = module(tmp_path, "package p\na  :=   1\n", "ugly.rego")
    fine = module(tmp_path, GOOD, "fine.rego")
    assert command.format(fine.read_text()) == GOOD
    assert command.format(ugly.read_text()) == "package p\n\na := 1\n"
    with pytest.raises(RegoRejectedError, match="rego_parse_error") as caught:
        command.format("package p\na {")
    assert str(caught.value.where) == "stdin:2"


def test_parsing(command: OpaCommand, tmp_path: Path) -> None:
    tree = command.parse(module(tmp_path, GOOD))
    assert at(tree, "package", "path", 1) == {"type": "string", "value": "p"}
    with pytest.raises(RegoRejectedError):
        command.parse(module(tmp_path, "package p\na {\n"))


def test_attack_terminal_escapes_in_names_are_shown_escaped(command: OpaCommand, tmp_path: Path) -> None:
    with pytest.raises(RegoRejectedError) as caught:
        command.check(module(tmp_path / "\x1b[2J", "package p\n\na := b(1)\n"))
    assert "\x1b" not in str(caught.value.where)
    assert "\\x1b[2J" in str(caught.value.where)


def test_attack_eval_of_a_policy_that_calls_out(command: OpaCommand, tmp_path: Path) -> None:
    path = module(tmp_path, 'package p\n\na := http.send({"method": "get", "url": "http://127.0.0.1:9"})\n')
    with pytest.raises(RegoRejectedError, match=r"undefined function http\.send"):
        command.eval("data.p.a", data=[path])


def test_environment_of_ours_does_not_reach_opa(command: OpaCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.invalid")
    monkeypatch.setenv("OPA_LOG_LEVEL", "debug")
    monkeypatch.setenv("GOGC", "off")
    environment = object_at(command.eval("opa.runtime().env", capabilities=None))
    assert set(environment) <= {"HOME", "TMPDIR", "PATH", "LANG", "GOGC", "GOMEMLIMIT"}
    assert environment["GOGC"] != "off"


def test_opa_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    for seconds in (0.3, 20.0):  # a busy machine starts no shell within a moment
        asleep = f"sleep 300 & echo $! > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/child; wait"
        with pytest.raises(EngineFailedError, match="did not finish"):
            script(tmp_path, asleep, seconds).eval("data")
        if (tmp_path / "child").exists():
            break
    child = int((tmp_path / "child").read_text())
    wait_for(lambda: not is_alive(child))


def test_opa_that_talks_nonsense_fails(tmp_path: Path) -> None:
    for text in ("echo nonsense", "kill -9 $$", "exit 1", "exit 9", "echo oops >&2; exit 2"):
        with pytest.raises(EngineFailedError):
            script(tmp_path, text).eval("data")


def test_opa_that_does_not_run_fails(tmp_path: Path) -> None:
    with pytest.raises(EngineFailedError):
        OpaCommand(Opa(tmp_path / "gone", "1.22.2", "configured")).eval("data")
