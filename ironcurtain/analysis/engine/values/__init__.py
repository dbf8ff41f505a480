"""Representatives: values of each kind that predicates, patterns and schemas can tell apart.

In go tests, patterns and JSON schemas; out come values in an `Enumeration`, with the reasons why some
may be missing. Begin with `enumeration.py`, then `predicate_tree.py` and `value_generator.py`.
"""
