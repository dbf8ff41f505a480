"""What is a secret by its own form: keys, tokens, hashes of passwords, passwords in addresses.

The forms are rules of a secret scanner (`scanner_rules.json` says which, with its licence), and our own.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from typing import Any

from ironcurtain.system.secret_forms.linear import compiled

_KEY = r"(?:BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|BEGIN SSH2 ENCRYPTED PRIVATE KEY)"
_END = r"END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?"
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_PREFIXED = (
    r"sk-[A-Za-z0-9_-]{16,}",
    r"(?:ghp|gho|ghu|ghs|ghr)_[A-Za-z0-9]{16,}",
    r"github_pat_[A-Za-z0-9_]{16,}",
    r"gl(?:pat|oat|soat|agent|ft)-[A-Za-z0-9_.-]{16,}",
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
    r"(?:xox[abcdeoprs]|xapp)-[A-Za-z0-9%-]{10,}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"AIza[A-Za-z0-9_-]{16,}",
    r"(?:npm|hf|pypi|rk_live|sk_live|sk_test|pk_live)[_-][A-Za-z0-9_-]{16,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){1,3}",
    r"ya29\.[A-Za-z0-9._-]{16,}",
    r"1//0[A-Za-z0-9_-]{16,}",
    r"GOCSPX-[A-Za-z0-9_-]{16,}",
    r"whsec_[A-Za-z0-9+/=]{16,}",
    r"(?:gsk|r8|rpa|tfp|pcsk|apify_api|phx|sbp|sb_secret|bkua|CCIPAT|lsv2_(?:pt|sk)|lin_oauth)_[A-Za-z0-9_.=-]{16,}",
    r"(?:xai|tvly|nvapi|ctx7sk|tskey|CFPAT|dnkey)-[A-Za-z0-9_-]{16,}",
    r"fig(?:d|o|u|or|ur|oh|uh|dr|dh)_[A-Za-z0-9_-]{16,}",
    r"dckr_[op]at_[A-Za-z0-9_-]{16,}",
    r"(?:ATATT3|ATCTT3|ATBB)[A-Za-z0-9_=-]{16,}",
    r"NR(?:AK|II|JS|AA|IQ)-[A-Za-z0-9-]{16,}",
    r"cf(?:k|ut|at)_[A-Za-z0-9]{16,}",
    r"vc[piark]_[A-Za-z0-9]{16,}",
    r"sgp_[A-Za-z0-9_]{16,}",
    r"sq[apu]_[0-9a-f]{40}",
    r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{16,}",
    r"secret_[A-Za-z0-9]{43}\b",
    r"(?:live|test)_(?:pub_)?[A-Za-z0-9]{16,}",
    r"key-[0-9a-f]{32}\b",
    r"fc-[0-9a-f]{32}\b",
    r"[0-9a-f]{32}-us[0-9]{1,2}\b",
    rf"pat-(?:na|eu|ap)[0-9]-{_UUID}",
    rf"access-(?:sandbox|development|production)-{_UUID}",
    r"sl\.[A-Za-z0-9_-]{16,}",
    r"t1\.[A-Za-z0-9_-]{16,}={0,2}\.[A-Za-z0-9_-]{16,}",
    r"AQVN[A-Za-z0-9_-]{16,}",
    r"AKID[A-Za-z0-9]{32}\b",
    r"(?:FwoG|IQoJ)[A-Za-z0-9/+=]{40}[A-Za-z0-9/+=]*",
    r"[A-Za-z0-9]+JQQJ9[A-Za-z0-9]{16,}",
    r"[MNO][A-Za-z0-9_-]{20,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}",
    r"FLWSECK(?:_TEST)?-[0-9a-h]{12,}(?:-X)?",
    r"[A-Za-z0-9]{6}_[A-Za-z0-9]{16,}_mmk",
    r"mfa\.[A-Za-z0-9_-]{16,}",
)
"""Tokens that begin with what says whose they are; a name may stand before them, with `_`."""
_OTHERS = (
    r"(?:\b|_|bot)[0-9]{8,10}:A[A-Za-z0-9_-]{34}\b",
    r"(?i:discord(?:app)?\.com/api/webhooks/)[0-9]{16,}/[A-Za-z0-9_-]{16,}",
    r"\$2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}",
    r"\$(?:1|5|6|y|7|argon2(?:id|i|d)|scrypt|apr1)\$[./A-Za-z0-9=,$+]{16,}",
    # A key that does not end is one up to the end of the text.
    rf"-{{4,5}} ?{_KEY} ?-{{4,5}}(?:(?s:.*?)-{{4,5}} ?{_END} ?-{{4,5}}|(?s:.*))",
    r"PuTTY-User-Key-File-[0-9](?s:.*)",
    r"(?i:\b(?:bearer|basic|negotiate)\s+)[A-Za-z0-9._~+/=-]{12,}",
    r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/\s:@\"']{0,200}:[^/\s\"']{1,200}|[A-Za-z0-9_-]{20,})@",
    r"(?i:[?&;](?:sig|signature|x-amz-signature|x-amz-credential|x-goog-signature|code|key)=)[^&\s\"'<>]{16,}",
    r"(?i:\b-?pass(?:in|out)?[ \t]+pass:)[^\s\"']{4,}",
)


@cache
def token_pattern() -> Any:  # noqa: ANN401 - the library has no type for a pattern
    """Return the pattern of everything that is a secret by its form alone."""
    rules = json.loads(files(__package__).joinpath("scanner_rules.json").read_text())["rules"]
    own = (rf"(?:\b|_)(?:{'|'.join(_PREFIXED)})", *_OTHERS)
    return compiled((*own, *rules.values()))


_KEY_BEGINS = re.compile(rf"-{{4,5}} ?{_KEY} ?-{{4,5}}|PuTTY-User-Key-File-[0-9]")
_KEY_ENDS = re.compile(rf"-{{4,5}} ?{_END} ?-{{4,5}}|Private-MAC: ?[0-9a-f]{{20}}")


def open_key(text: str) -> str:
    """Return how a key begins that does not end in a text; empty where there is none."""
    begun = ""
    for each in _KEY_BEGINS.finditer(text):
        begun = "" if _KEY_ENDS.search(text, each.end()) else each.group()
    return begun
