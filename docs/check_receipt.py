"""Check a receipt with plain OPA: `python -I check_receipt.py RECEIPT BUNDLE HEADS`.

BUNDLE is the published archive. HEADS holds the head of the log, or what its witness was told, one entry a
line. Take both from where the writer of the receipt could not change them: nothing else is believed.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ASK = """package receipt
answers[line] := answer if {
    some line, question in data.asked
    answer := data.ironcurtain.decision.decision with input as question
}
clauses := data.ironcurtain.rules.clauses"""


def sha(data: bytes) -> str:
    """Return a digest as the log writes it."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def of(value: object) -> str:
    """Return the digest of a JSON value as the log writes it."""
    return sha(json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def same(what: str, one: object, other: object) -> None:
    """End where two things are not the same."""
    if one != other:
        sys.exit(f"FORGED: {what}")


receipt, archive, heads = json.loads(Path(sys.argv[1]).read_bytes()), Path(sys.argv[2]), Path(sys.argv[3])
records, chain, bundle = receipt["records"], receipt["chain"], sha(archive.read_bytes())
seal, last = chain["before"], chain["first"] + len(chain["digests"]) - 1
for each in chain["digests"]:
    seal = sha((seal + each).encode())
known = [json.loads(line) for line in heads.read_bytes().splitlines()]
ends = [(each["session"], each["count"], each["seal"]) for each in known]
same("position", (receipt["session"], last, seal) in ends, other=True)
same("bundle", receipt["bundle"]["digest"], bundle)
for each in records:
    record, where = each["record"], f"line {each['line']}"
    asked = record.get("input_digest")
    same(f"record or position of {where}", of(record), chain["digests"][each["line"] - chain["first"]])
    same(f"kind of {where}", each["kind"] == "decided", asked is not None)
    same(f"input of {where}", of(each["input"]) if asked else None, asked)
    same(f"bundle of {where}", record["bundle"] if asked else bundle, bundle)
decided = {str(each["line"]): each for each in records if each["kind"] == "decided"}
with tempfile.TemporaryDirectory() as place:
    ask, data = Path(place, "ask.rego"), Path(place, "asked.json")
    ask.write_text(ASK)
    data.write_text(json.dumps({"asked": {line: each["input"] for line, each in decided.items()}}))
    command = ["opa", "eval", "-b", archive, "-d", ask, "-d", data, "data.receipt"]
    said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
said = said["result"][0]["expressions"][0]["value"]
for line, each in decided.items():
    record, answer, clause = each["record"], said["answers"][line], each["record"]["clause"]
    floors = [resource["floor"] for resource in record["subjects"] if resource["floor"]]
    raised = floors and answer["verdict"] == "allow"
    now = ["escalate", floors[0]] if raised else [answer["verdict"], answer["rule"]]
    same(f"verdict of line {line}", [record["verdict"], record["rule"]], now)
    sentence = {"clause": clause, "text": said["clauses"][clause]["text"]} if clause else None
    same(f"sentence of line {line}", each["sentence"], sentence)
gaps = "without gaps" if len(records) == records[-1]["line"] - records[0]["line"] + 1 else "with gaps"
sys.stdout.write(f"{len(records)} records {gaps}, {len(decided)} decided again as recorded\n")
