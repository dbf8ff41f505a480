"""Receipts as an auditor has them: the file, the archive, the heads, and nothing of ours to check them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "docs" / "check_receipt.py"


def checked(receipt: Path, archive: Path, heads: Path) -> tuple[int, str]:
    """Run the script with plain Python and plain OPA alone; return its status and what it said."""
    opa = shutil.which("opa")
    assert opa is not None
    with tempfile.TemporaryDirectory() as place:
        Path(place, "opa").symlink_to(opa)
        for file in (receipt, archive, heads, SCRIPT):
            shutil.copy(file, Path(place, file.name))
        names = [file.name for file in (SCRIPT, receipt, archive, heads)]
        ended = subprocess.run(
            [sys.executable, "-I", "-S", *names],
            cwd=place,
            env={"PATH": place},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    return ended.returncode, ended.stdout + ended.stderr
