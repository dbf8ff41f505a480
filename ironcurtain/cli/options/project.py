"""A project: its settings and the places that they name."""

from __future__ import annotations

from pathlib import Path

from ironcurtain.settings import (
    USER_CONSTITUTION,
    Settings,
    find_settings,
    load_settings,
    user_constitution,
    user_directory,
)
from ironcurtain.system.structs import Struct


class Project(Struct):
    """A project.

    Attributes:
        file: Its `ironcurtain.toml`, if it has one.
        root: The directory that its paths are relative to.
    """

    file: Path | None
    root: Path
    settings: Settings

    def path(self, key: str) -> Path:
        """Return the place that a setting names."""
        return self.root / str(getattr(self.settings, key))

    @property
    def reads_own_guidance(self) -> bool:
        """Whether a compile of this project reads the user's own guidance."""
        return self.settings.user_constitution is not False

    @property
    def own_guidance(self) -> Path:
        """The file of the user's own guidance, which need not exist."""
        return user_constitution(self.file, self.settings) or user_directory() / USER_CONSTITUTION

    @property
    def existing_guidance(self) -> Path | None:
        """The file of the user's own guidance that a compile reads, if there is one."""
        named = isinstance(self.settings.user_constitution, str)
        read = self.reads_own_guidance and (named or self.own_guidance.exists())
        return self.own_guidance if read else None


def read_project(config: str | None) -> Project:
    """Return the project of a settings file, or of the nearest one upwards, or one with default settings."""
    file = Path(config) if config is not None else find_settings(Path.cwd())
    root = file.absolute().parent if file is not None else Path.cwd()
    return Project(file, root, load_settings(file))
