"""The audit log: an append-only chain of records of decisions and results.

In: decisions and how calls ended. Out: `SESSION.jsonl`, in which every changed, removed or reordered line
is found, and secrets are redacted. Open `record_types.py` first for what a record holds, then `log.py`
(writing), `redaction.py` (what of a value is kept), `hash_chain.py` (how records are chained) and `reader.py`
(reading, checking).
"""
