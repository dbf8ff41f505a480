"""How results leave: report models in, text, JSON, Markdown, SARIF, JUnit or GitHub annotations out.

`reports.py` chooses the format of a gate's report and is the one to open first; `results.py` prints every
other result, `problems.py` failures; `display.py` knows colours and widths; `schemas.py` has all schemas.
"""
