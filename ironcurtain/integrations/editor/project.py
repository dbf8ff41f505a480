"""The project that a document belongs to, read over the texts that an editor shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ironcurtain.compiler.annotate.changes import published_annotations
from ironcurtain.compiler.load.clause_record import known_clauses, published_policy
from ironcurtain.compiler.load.clauses import PlacedClause, read_clauses, read_user_clauses
from ironcurtain.compiler.questions.open_questions import ANSWERS_FILE
from ironcurtain.errors import IronCurtainError
from ironcurtain.integrations.editor.places import Span, words_at
from ironcurtain.integrations.editor.texts import Texts
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.settings import (
    FILE_NAME,
    Settings,
    find_settings,
    parse_settings,
    user_constitution,
)


@dataclass(frozen=True)
class EditedProject:
    """A project, or for a document outside of one its directory with default settings.

    Attributes:
        file: Its `ironcurtain.toml`, if it has one.
        root: The directory that its paths are relative to.
    """

    file: Path | None
    root: Path
    settings: Settings
    texts: Texts

    @classmethod
    def of(cls, path: Path, texts: Texts) -> EditedProject:
        """Return the project of a document; settings with mistakes count as the default ones."""
        file = path if path.name == FILE_NAME else find_settings(path.parent)
        root = file.parent if file is not None else path.parent
        try:
            settings = parse_settings(texts.read(file), file) if file is not None else Settings()
        except IronCurtainError:
            settings = Settings()
        return cls(file, root, settings, texts)

    @property
    def constitution(self) -> Path:
        """The constitution."""
        return self.root / self.settings.constitution

    @property
    def guidance(self) -> Path | None:
        """The user's own guidance, if the project reads one and it is there."""
        own = user_constitution(self.file, self.settings)
        return own if own is not None and self.texts.has(own) else None

    @property
    def scenarios(self) -> Path:
        """The handwritten scenarios."""
        return self.root / self.settings.scenarios

    @property
    def answers(self) -> Path:
        """What people answered."""
        return self.scenarios.with_name(ANSWERS_FILE)

    @property
    def questions(self) -> Path:
        """The directory of open questions and of the answers to them."""
        return self.root / self.settings.questions

    @property
    def published(self) -> Path:
        """The directory of what a compile publishes."""
        return self.root / self.settings.output

    @cached_property
    def clauses(self) -> tuple[PlacedClause, ...]:
        """The clauses as they are typed, the user's own first; a clause's source is its whole path.

        Raises:
            FileError: If the constitution is missing, or holds no sentence.
            ClauseIdError: For each written id that cannot be one, or is another clause's.
        """
        base, own = self.constitution, self.guidance
        known = known_clauses(self.published, self.questions)
        first = read_user_clauses(self.texts.read(own), str(own), known) if own is not None else ()
        elsewhere = [placed.clause.id for placed in first]
        return (*first, *read_clauses(self.texts.read(base), str(base), known, elsewhere))

    def clause(self, id_: str) -> PlacedClause | None:
        """Return a clause by its id; None where there is none, or the constitution cannot be read."""
        try:
            return next((placed for placed in self.clauses if placed.clause.id == id_), None)
        except IronCurtainError:
            return None

    def place_of(self, placed: PlacedClause) -> tuple[Path, Span]:
        """Return the document of a clause, and where its words stand there."""
        source, _, line = placed.clause.source.rpartition(":")
        path = Path(source)
        return path, words_at(self.texts.shown(path), int(line), placed.clause.text)

    @cached_property
    def annotations(self) -> Annotations | None:
        """What the last compile knows of the tools; None before one, or where it cannot be read."""
        try:
            return published_annotations(self.published)
        except IronCurtainError:
            return None

    @cached_property
    def policy(self) -> CompiledPolicy | None:
        """The rules of the last compile; None before one, or where they cannot be read."""
        try:
            return published_policy(self.published)
        except IronCurtainError:
            return None
