"""Sequences of calls: scenarios with steps as single calls, each with what the steps before it left.

In go scenarios and a policy in an assumed world; out come scenarios of one call, which everything else that
reads scenarios understands. Open `steps.py`.
"""
