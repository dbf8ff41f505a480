"""Documents that somebody else wrote, opened in an editor: what they say costs no more than their length."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironcurtain.integrations.editor.diagnose import diagnose
from ironcurtain.integrations.editor.places import Texts
from ironcurtain.integrations.editor.project import EditedProject


@pytest.mark.parametrize("filler", ["\n", "\n\t", "{ "])
def test_a_document_of_blanks_that_says_no_format_is_none_of_ours(tmp_path: Path, filler: str) -> None:
    path = tmp_path / "blank.yaml"
    texts = Texts({path: filler * 200_000 + "x"})
    assert diagnose(path, EditedProject.of(path, texts)) == []
