"""Commands that examine a policy: bundle in, report and exit status out; one file a command.

`verify.py` is the gate and the one to open first. The files without a command of their name read what
several commands take: a policy or a project (`policy_argument.py`), facts (`assumed_facts.py`), recorded
calls (`recorded_calls.py`), batches of calls (`batch.py`).
"""
