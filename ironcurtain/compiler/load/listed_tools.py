"""The tools of a project's servers, as a compile reads them: live, or from lists in files."""

from __future__ import annotations

from collections.abc import Callable

from ironcurtain.compiler.load.load import Inputs
from ironcurtain.compiler.load.sources import Sources
from ironcurtain.compiler.options import Options
from ironcurtain.servers.launching import ServerLauncher
from ironcurtain.servers.tool_lists.live import list_each
from ironcurtain.servers.tool_lists.published import note_lists
from ironcurtain.servers.tool_lists.recorded import list_or_recorded, list_without_starting
from ironcurtain.servers.tools import Tools


def listed_tools(
    inputs: Inputs,
    options: Options,
    launcher: ServerLauncher,
    sources: Sources,
    say: Callable[[str], None],
) -> Tools:
    """Read the servers' lists, with the texts that depend on where they run as they were recorded.

    A compile that asks notes them beside its questions: while these are answered, nothing need be started.

    Raises:
        IronCurtainError: As `list_without_starting` where the compile is offline, else as `list_or_recorded`.
    """
    questions, output = sources.pending.parent, sources.output
    if options.offline:
        files = list_without_starting(inputs.servers, launcher, questions, output)
        return inputs.confirmations.settled(files)
    listed = list_or_recorded(
        inputs.servers,
        launcher,
        output,
        say,
        saved=options.saved_tools,
        read=options.ahead.reader(say) if options.ahead else list_each,
    )
    if options.provider is not None:
        note_lists(questions, listed)
    return inputs.confirmations.settled(listed)
