"""From checked rules to a bundle: Rego, data documents and Rego tests.

In go a `CompiledPolicy`, annotations, lists and a project's own modules; out comes a `Bundle`, byte for byte
the same for the same input. Begin with `assemble.py`; `render.py` writes the rules, and every text gets into
Rego by `terms.py` only. `custom_modules.py` checks a project's own Rego.
"""
