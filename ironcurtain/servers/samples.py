"""Sample results of tools: what a look-up answers, where the tool has no output schema to say it.

    samples = read_samples(config.directory)
    samples = with_sample(samples, "shop", "get_order_details", {"status": "pending"})
    write_samples(config.directory, samples)

They lie beside the servers' configuration, in `tool-samples.json`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write, has_content, load
from ironcurtain.system.frozen import Frozen, JsonValue, ServerName

FILE_NAME = "tool-samples.json"


class ToolSamples(Frozen):
    """The whole file.

    Attributes:
        samples: By server and tool, a result of the tool: an object.
    """

    format: Literal["ironcurtain/samples/v1"] = "ironcurtain/samples/v1"
    samples: dict[ServerName, dict[str, dict[str, JsonValue]]] = Field(default_factory=dict)

    def of(self, server: str, tool: str) -> dict[str, JsonValue] | None:
        """Return the sample of a tool."""
        return self.samples.get(server, {}).get(tool)


def read_samples(directory: Path) -> ToolSamples:
    """Read the samples that lie in a directory; a file that is not there holds none.

    Raises:
        FileError, FormatError: If the file is no such file.
    """
    path = directory / FILE_NAME
    return load(path, ToolSamples) if has_content(path) else ToolSamples()


def with_sample(samples: ToolSamples, server: str, tool: str, result: dict[str, JsonValue]) -> ToolSamples:
    """Return the samples with that of one tool set."""
    of_server = {**samples.samples.get(server, {}), tool: result}
    return ToolSamples(samples={**samples.samples, server: of_server})


def write_samples(directory: Path, samples: ToolSamples) -> None:
    """Write the samples of a directory.

    Raises:
        PublishError: If the file cannot be written.
    """
    written = json_text.pretty(samples.model_dump(mode="json"))
    atomic_write(directory / FILE_NAME, written.encode())
