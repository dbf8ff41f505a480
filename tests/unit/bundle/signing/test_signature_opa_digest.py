from __future__ import annotations

import json
import random
from pathlib import Path

import jwt
import pytest
from support.records.signing import shipped

from ironcurtain.bundle.signing.keys import new_key
from ironcurtain.bundle.signing.signature import opa_digest
from ironcurtain.engine.locate import find
from ironcurtain.system.json_text import MalformedJsonError
from ironcurtain.system.subprocess_runner import clean_environment, run

CHARACTERS = 'ab é"\\/<>&\u2028\u2029\u007f\u0001\b\f\n\r\t\U0001f600'
NUMBERS = ["0", "-0", "1", "1.0", "-1.50", "1e2", "1E+2", "0.1e-7", "9007199254740991", "123456.789"]


def document(draw: random.Random, depth: int = 0) -> str:
    """Write a JSON text with white space, unsorted keys, and numbers and strings in all their spellings."""
    kind = draw.choice("nslob" if depth < 4 else "nsb")
    space = draw.choice(["", " ", "\n\t"])
    if kind == "n":
        return draw.choice(NUMBERS)
    if kind == "b":
        return draw.choice(["true", "false", "null"])
    if kind == "s":
        return string(draw)
    inner = [document(draw, depth + 1) for _ in range(draw.randrange(4))]
    if kind == "l":
        return f"[{space}{','.join(inner)}{space}]"
    members = {string(draw): each for each in inner}
    distinct = {json.loads(key): f"{key}{space}:{space}{value}" for key, value in members.items()}
    return "{" + f",{space}".join(distinct.values()) + "}"


def string(draw: random.Random) -> str:
    text = "".join(draw.choice(CHARACTERS) for _ in range(draw.randrange(6)))
    return json.dumps(text, ensure_ascii=draw.random() < 0.5)


def signed_by_opa(directory: Path, files: dict[str, bytes]) -> dict[str, str]:
    """Return the digests that `opa sign` gives files."""
    for name, content in files.items():
        (directory / "b" / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / "b" / name).write_bytes(content)
    new_key(directory / "key.pem", "ES256")
    ended = run(
        [str(find().path), "sign", "--signing-alg", "ES256", "--signing-key", "../key.pem", "--bundle", "."],
        cwd=directory / "b",
        environment=clean_environment(directory),
        timeout=60,
    )
    assert ended.status == 0, ended.stderr
    (token,) = json.loads((directory / "b" / ".signatures.json").read_text())["signatures"]
    payload = jwt.decode(token, options={"verify_signature": False})
    return {each["name"]: each["hash"] for each in payload["files"]}


def test_it_is_what_opa_computes(tmp_path: Path) -> None:
    draw = random.Random(7)
    files = {f"d{number}/data.json": document(draw).encode() for number in range(300)}
    assert signed_by_opa(tmp_path, files) == {name: opa_digest(name, data) for name, data in files.items()}


def test_it_is_what_opa_computes_of_the_shipped_bundle(tmp_path: Path) -> None:
    files = dict(shipped().files)
    assert signed_by_opa(tmp_path, files) == {name: opa_digest(name, data) for name, data in files.items()}


def test_the_spelling_of_json_does_not_matter_but_of_numbers_it_does() -> None:
    assert opa_digest("data.json", b'{"b": [1], "a": "\\u00e9"}') == opa_digest(
        "x/data.json", '{"a":"é","b":[1]}'.encode()
    )
    assert opa_digest("data.json", b"1.0") != opa_digest("data.json", b"1")
    assert opa_digest("a.rego", b"1 ") != opa_digest("a.rego", b"1")


@pytest.mark.parametrize("content", [b"", b"{", b'{"a": 1, "a": 1}', b"NaN", b'"\\ud800"', b"\xff"])
@pytest.mark.parametrize("name", ["ironcurtain/rules/data.json", ".manifest"])
def test_what_two_parsers_read_differently_has_none(name: str, content: bytes) -> None:
    with pytest.raises(MalformedJsonError):
        opa_digest(name, content)
