"""The page that compares two policies: each change with a call that shows it and its sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from ironcurtain.analysis.diff.report import (
    Change,
    Difference,
    details,
    same_words,
    statement,
    words_details,
    words_statement,
)
from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.errors import UsageError
from ironcurtain.system.structs import Struct
from ironcurtain.web.access import Access
from ironcurtain.web.guard import form_of
from ironcurtain.web.live import changes
from ironcurtain.web.once_per_state import OncePerState, version_of
from ironcurtain.web.rendering import not_examined, page, refused

HERE = "/compare"
ApprovalsText = Callable[[Difference, str, str], str]
_TITLES = {"loosened": "Loosened", "tightened": "Tightened"}


class Comparison(Struct):
    """Two policies after they were compared.

    Attributes:
        old: What the older one was called.
        sentences: By clause id its words, those of the newer policy before those of the older.
    """

    old: str
    difference: Difference
    sentences: Mapping[str, str]

    @property
    def parts(self) -> Mapping[str, list[tuple[Change, str, tuple[str, ...]]]]:
        """By heading the changes, each as a sentence with the lines that show it."""
        return {
            title: [
                (each, statement(each), tuple(details(each)))
                for each in self.difference.changes
                if each.direction == direction
            ]
            for direction, title in _TITLES.items()
        }

    @property
    def words(self) -> list[tuple[str, tuple[str, ...]]]:
        """What both say in other words, each with the words on both sides."""
        return [(words_statement(each), tuple(words_details(each))) for each in self.difference.words]

    @property
    def same(self) -> str:
        """What is known where nothing was found, empty where something was."""
        proof = self.difference.proof
        return "" if proof is Proof.FOUND else same_words(proof)

    def quoted(self, change: Change) -> Iterator[str]:
        """Yield the sentences behind the call that shows a change."""
        if change.witness is None:
            return
        for clause in dict.fromkeys((change.witness.old.clause, change.witness.new.clause)):
            if clause is not None and clause in self.sentences:
                yield f"{clause}: {self.sentences[clause]}"


class ComparePages:
    """The comparison, and the file of approvals.

    Args:
        examination: The comparison; None where no older policy was named.
        access: Who is let in.
        approvals: Returns the file that approves what is loosened, for a reason and an approver.
    """

    def __init__(
        self,
        examination: OncePerState[Comparison] | None,
        access: Access,
        approvals: ApprovalsText | None,
    ) -> None:
        self._examination, self._access, self._approvals = examination, access, approvals

    async def shown(self, request: Request) -> Response:
        """Show what differs."""
        return await run_in_threadpool(self._shown, request)

    async def approvals(self, request: Request) -> Response:
        """Answer with the file of approvals; it is written nowhere."""
        return await run_in_threadpool(self._file, request)

    async def changes(self, request: Request) -> Response:
        """Tell when the comparison has ended, and when it begins anew."""
        return changes(request, self._access, partial(version_of, self._examination))

    def _shown(self, request: Request) -> Response:
        found = self._found(request)
        return found if isinstance(found, Response) else page("compare.html", request, compared=found)

    def _file(self, request: Request) -> Response:
        found, form = self._found(request), form_of(request)
        if isinstance(found, Response):
            return found
        reason, approver = form.get("reason", "").strip(), form.get("approver", "").strip()
        if self._approvals is None or not reason or not approver:
            return refused(request, 400, "An approval needs a reason and an approver.")
        try:
            text = self._approvals(found.difference, reason, approver)
        except (UsageError, ValueError):
            return refused(request, 400, "A reason and an approver have at most 2,000 characters each.")
        named = {"content-disposition": 'attachment; filename="diff-approvals.yaml"'}
        return Response(text, media_type="application/yaml", headers=named)

    def _found(self, request: Request) -> Comparison | Response:
        if self._examination is None:
            return page(
                "policy_none.html", request, what="Compare", option="--bundle generated/bundle --against main"
            )
        progress = self._examination.progress(asked=True)
        if progress.trouble:
            return not_examined(request, "Compare", HERE, progress.trouble)
        if progress.result is None:
            return page("policy_wait.html", request, what="Compare", follow=f"{HERE}/changes", trouble="")
        return progress.result
