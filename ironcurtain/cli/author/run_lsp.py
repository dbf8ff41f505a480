"""What `ironcurtain lsp` does."""

from __future__ import annotations

from ironcurtain.errors import Exit
from ironcurtain.integrations.editor.server import serve


def run(*, stdio: bool, no_verify: bool) -> Exit:
    """Serve an editor until it ends the session."""
    del stdio  # editors name the one way that there is
    serve(runs_gate=not no_verify)
    return Exit.YES
