"""What a model or a person is asked, and the answers that are kept.

In go a stage's `Question`s; out come `Answer`s, from `generated/answers/` where one is kept, else from a
provider of `compiler.llm`. Begin with `answers.py`. The prompts are in `prompts/`, filled in by
`templates.py`; `open_questions.py` is what only a person decides.
"""
