"""Language models, and people in their place: one interface, one file a provider.

In goes a `Question` with the JSON Schema of its answer; out comes an `Answer` that is valid by schema and by
the question's own check. Begin with `question.py`; `structured_completion.py` asks, retries and corrects for
every provider in `providers/`.
"""
