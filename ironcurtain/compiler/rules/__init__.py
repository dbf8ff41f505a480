"""Stage 3, compile rules: ordered rules for each server, from the clauses that concern it.

In go clauses and annotations; out comes a `CompiledPolicy`. Begin with `compile_rules.py`. `checks/` holds
all rules to the specification, those that people wrote too; `checks/allow_rules.py` and `clause_coverage.py`
are for rules of a model only.
"""
