"""What audit logs say about a policy: its use, and sentences that would fit it better, each proved.

In: records of audit logs, a bundle and its guarantees. Out: an `Advice`. Open `advise.py` first. `usage.py`
counts calls by class, `permitted.py` holds them against what is permitted, `questions.py` and `narrower.py`
make candidate sentences, and `proofs.py` proves a candidate or drops it. `forecast.py` counts approvals of
a profile.
"""
