"""How results leave: report models in, text, JSON, Markdown, SARIF, JUnit or GitHub annotations out.

`reports.py` chooses the format and is the one to open first; `problems.py` prints failures; `display.py`
knows colours, widths and live tables.
"""
