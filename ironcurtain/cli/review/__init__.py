"""Commands that examine a policy: bundle in, report and exit status out; one file a command.

`verify.py` is the gate and the one to open first. The files without a command of their name read what
several commands take: a policy, its project and recorded calls (`policy_argument.py`), and decisions
(`decisions.py`).
"""
