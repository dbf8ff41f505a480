"""The files of a compile's result: the bundle, the reports, and what the next compile reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.provenance import statement
from ironcurtain.bundle.provenance_model import Provenance, Source
from ironcurtain.bundle.published import SIGNED_ARCHIVE
from ironcurtain.compiler.load.load import Inputs
from ironcurtain.compiler.questions.answers import AnswerCache
from ironcurtain.compiler.verify.baseline import Baseline
from ironcurtain.compiler.verify.evidence import FILE_NAME
from ironcurtain.compiler.verify.report import Verification
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.servers.listing import Tools
from ironcurtain.servers.recorded import recorded_files
from ironcurtain.servers.tools import tool_digest
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Frozen


@dataclass(frozen=True)
class Documents:
    """The files for people and for the next compile, before they are written."""

    annotations: Annotations
    policy: CompiledPolicy
    lists: Lists
    recorded: Baseline
    verification: Verification
    tools: Tools


def origin(
    sources: tuple[Source, ...], inputs: Inputs, cache: AnswerCache, documents: Documents
) -> Provenance:
    """Say what the bundle was made from, by digests; nothing in it depends on the machine or the time."""
    tools = documents.tools
    digests = {server: {tool.name: tool_digest(tool) for tool in listed} for server, listed in tools.items()}
    return Provenance(
        sources=sources,
        constitution=json_text.digest_bytes(inputs.constitution.encode()),
        tools=json_text.digest(digests),
        prompts=json_text.digest(sorted(answer.question for answer in cache.used)),
        scenarios=json_text.digest_bytes(_document(documents.recorded.scenarios)),
        answered_by=tuple(sorted({f"{a.provider}:{a.model}" if a.model else a.provider for a in cache.used})),
        checks={check.name: check.count for check in documents.verification.checks},
        version=version("ironcurtain"),
    )


def archives(bundle: Bundle, sign: Callable[[Bundle], Bundle] | None) -> dict[str, bytes]:
    """Return the archives, signed if that is wanted, and the statement of where they came from."""
    made = {"bundle.tar.gz": bundle.archive()}
    if sign is not None:
        made[SIGNED_ARCHIVE] = sign(bundle).archive()
    about = statement(bundle, made).model_dump(mode="json", by_alias=True)
    return {**made, "provenance.json": json_text.pretty(about).encode()}


def files(bundle: Bundle, documents: Documents, cache: AnswerCache) -> dict[str, bytes]:
    """Return the content of every file of the published directory, by relative path."""
    return {
        **{f"bundle/{path}": data for path, data in bundle.files.items()},
        "tool-annotations.json": _document(documents.annotations),
        "compiled-policy.json": _document(documents.policy),
        "dynamic-lists.json": _document(documents.lists),
        "test-scenarios.json": _document(documents.recorded.scenarios),
        FILE_NAME: documents.recorded.evidence.matrix_file,
        "verification.json": json_text.pretty(documents.verification.model_dump(mode="json")).encode(),
        **recorded_files(documents.tools),
        **{f"answers/{name}": data for name, data in cache.files().items()},
    }


def _document(model: Frozen) -> bytes:
    """Serialise as it was written: only what was set, so that the file stays readable."""
    return json_text.pretty(model.model_dump(mode="json", by_alias=True, exclude_unset=True)).encode()
