"""How many examples a property draws: few in the suite, many where somebody searches."""

from hypothesis import settings

FACTOR = 10 if settings.get_current_profile_name() == "searching" else 1


def examples(count: int) -> int:
    """Return how many examples to draw where `count` show a planted mistake several times over."""
    return FACTOR * count
