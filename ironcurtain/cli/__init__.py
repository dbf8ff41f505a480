"""The command line: words in, text and an exit status out; no decision or evidence is made here.

`main.py` finds a command and turns its outcome into a status; open it first. Each command is the file of
its name in the package of its group (`author`, `review`, `run`, `operate`, as `--help` has them);
`options` reads what several commands take, `output` prints.
"""
