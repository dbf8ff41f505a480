#!/bin/sh
# For any CI: the published policy must be what the constitution and the kept answers make, and verify.
# Asks no model and no person.
set -eu

ironcurtain opa which > /dev/null 2>&1 || ironcurtain opa install
ironcurtain lint --strict
ironcurtain compile --locked --saved-tools
git diff --exit-code -- generated
uncommitted=$(git ls-files --others -- generated)
if [ -n "$uncommitted" ]; then
  printf 'not committed:\n%s\n' "$uncommitted" >&2
  exit 1
fi
ironcurtain verify
