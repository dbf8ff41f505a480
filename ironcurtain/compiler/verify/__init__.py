"""Verification of a bundle, and the repair of rules that do not do what their scenarios say.

In go a bundle and scenarios; out comes a `Verification`, or after repairs a `RepairResult`. Begin with
`verify.py`, which decides every scenario with the engine; `repair.py` asks models for corrections,
`gate_judgement.py` has the gate's checks run before anything is published.
"""
