"""Signatures of answers, by which an approver is told from whoever else can write the approvals directory."""

from __future__ import annotations

from jwt import PyJWS
from jwt.exceptions import PyJWTError

from ironcurtain.bundle.signing.keys import PrivateKey, PublicKey
from ironcurtain.enforcement.approvals.messages import ANSWER_FORMAT, ApprovalAnswer
from ironcurtain.system import json_text


def signed(answer: ApprovalAnswer, key: PrivateKey) -> ApprovalAnswer:
    """Return an answer with a signature of all of it, a compact JSON Web Signature."""
    algorithm = key.public.algorithm
    token = PyJWS(algorithms=[algorithm]).encode(_content(answer), key.key, algorithm=algorithm)
    return answer.model_copy(update={"signature": token})


def is_signed(answer: ApprovalAnswer, key: PublicKey) -> bool:
    """Tell whether the holder of a key signed exactly this answer; the key alone says the algorithm."""
    try:
        found: bytes = PyJWS(algorithms=[key.algorithm]).decode(
            answer.signature, key.key, algorithms=[key.algorithm]
        )
    except (PyJWTError, ValueError):
        return False
    return found == _content(answer)


def _content(answer: ApprovalAnswer) -> bytes:
    """Return what is signed: no signature of a bundle or of another document is one of an answer."""
    unsigned = answer.model_dump(mode="json", exclude={"signature"})
    return json_text.canonical({"format": ANSWER_FORMAT, "answer": unsigned})
