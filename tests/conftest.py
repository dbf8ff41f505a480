"""What all tests share.

Properties draw the same examples in every run, so that a red run is red for everybody and again tomorrow.
New ones are looked for with `--hypothesis-profile=searching` and by the fuzzer.
"""

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True)
settings.register_profile("searching", derandomize=False, print_blob=True)
settings.load_profile("repeatable")
