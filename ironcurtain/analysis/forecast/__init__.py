"""How often a policy would ask a person, over a profile of use.

In: a bundle and counted calls, or an audit log. Out: a `Forecast` by clause. Open `forecast.py` first;
`rules.py` proposes rules that spare approvals.
"""
