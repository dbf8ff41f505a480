"""How often a policy would ask a person, over a profile of use.

In go a bundle and counted calls, or an audit log; out comes a `Forecast` by clause. Begin with `forecast.py`.
"""
