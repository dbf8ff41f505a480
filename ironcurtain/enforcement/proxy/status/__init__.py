"""What running proxies tell of themselves.

In: the state of one proxy. Out: a small private file, which `ironcurtain status` and `doctor` read, and
which counts only while its proxy holds a lock. Open `report.py` first: the file's content.
"""
