"""A log that holds no values holds none: not as they are, and in no common encoding.

Held by: a log of digests where it shall hold no values.
"""

from __future__ import annotations

import base64
import json
import urllib.parse
from random import Random

from support.generators import spaces
from support.generators.recorded import decide_all, record_all
from support.records.audited import KEY

from ironcurtain.analysis.engine.evaluate import load_described
from ironcurtain.analysis.replay.pseudonymization import AbstractSanitizer
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.audit.record_types import Approval
from ironcurtain.enforcement.audit.recorder import Recorder
from ironcurtain.model.verdict import Verdict

SECRETS = 1_000
ALPHABET = "abcdefghijkmnopqrstuvwxyz0123456789"


def encodings(secret: str) -> set[str]:
    data = secret.encode()
    found = {
        secret,
        secret.upper(),
        secret[::-1],
        data.hex(),
        urllib.parse.quote(secret, safe=""),
        "".join(f"%{byte:02x}" for byte in data),
        "".join(f"\\u{byte:04x}" for byte in data),
        base64.b32encode(data).decode().rstrip("="),
        base64.b85encode(data).decode(),
    }
    for shift in range(3):
        # What stands before shifts the digits, so all three alignments are looked for.
        coded = base64.b64encode(b"x" * shift + data).decode().rstrip("=")
        found |= {coded[4 if shift else 0 : -1], coded[4 if shift else 0 : -1].translate({43: "-", 47: "_"})}
    return found


def call_with(secret: str, number: int) -> Call:
    """Return a call with a secret somewhere in it."""
    caller = {"sub": "alice"}
    plain = {"path": "~/a/x"}
    calls = [
        Call("s", "read", {"path": f"~/a/{secret}/x"}),
        Call("s", "copy", {"source": "~/a/x", "target": f"/srv/{secret}", "note": secret}),
        Call("s", "send", {"to": [f"{secret}@example.com"], "url": f"https://{secret}.example.com/{secret}"}),
        Call("s", "send", {"to": [], "tags": ["red", secret], "options": {"name": secret, secret: secret}}),
        Call("s", "read", plain, {**caller, secret: secret, "groups": [{secret: [secret]}]}),
        Call("s", "read", {**plain, secret: secret}),
        Call("s", f"read-{secret}", plain),
        Call(f"s-{secret}", "read", plain),
        Call("s", "read", f'{{"path": "{secret}'),
        Call("s", "read", {"path": f"{secret}\0"}),
        Call("s", "send", {"to": [], "url": f"https://u:{secret}@example.com/"}),
        Call("s", "wipe", {"tree": f"~/d/{secret}", "mode": "hard"}),
        Call("s", "read", {**plain, "mode": secret}),
    ]
    chosen = calls[number % len(calls)]
    return Call(chosen.server, chosen.tool, chosen.arguments, chosen.caller, id=f"{number:05d}")


def test_abstracted_records_contain_none_of_a_thousand_planted_secrets() -> None:
    random = Random(7)
    secrets = ["".join(random.choices(ALPHABET, k=20)) for _ in range(SECRETS)]
    calls = [call_with(secret, number) for number, secret in enumerate(secrets)]
    bundle = spaces.bundle_of(spaces.random_policy(random, 25))
    records = record_all(calls, bundle, abstract=True, decided=decide_all(calls, bundle))
    assert len({record.rule for record in records}) > 5
    for secret, record in zip(secrets, records, strict=True):
        text = json.dumps(record.model_dump(mode="json"))
        folded = text.casefold()
        assert record.raw_digest.startswith("hmac-sha256:")
        assert not [one for one in encodings(secret) if one in text or one.casefold() in folded]


def test_what_servers_and_people_say_is_no_way_around() -> None:
    secret = "correct-horse-battery"
    bundle = spaces.bundle_of(spaces.random_policy(Random(1), 5))
    content, loaded = PolicyContent.of(bundle), load_described(bundle, spaces.WORLD)
    recorder = Recorder(
        content, loaded, key=KEY, sanitizer=lambda key: AbstractSanitizer(content, loaded, key)
    )
    call = Call("s", "read", {"path": "~/a/x"}, id="0")
    prepared, decisions = decide_all([call], bundle)
    approval = Approval(state="denied", verdict=Verdict.DENY, reason=secret)
    records = [
        recorder.decision(call, prepared["0"], decisions["0"], id_="0", forwarded=False, approval=approval),
        recorder.result("0", "failed", error=secret),
        recorder.result("0", "ok", result={"content": [{"text": secret}]}),
        recorder.event("reload", reason=secret, more={"deep": [secret]}),
    ]
    assert secret not in json.dumps([record.model_dump(mode="json") for record in records])
