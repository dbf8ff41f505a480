#!/bin/sh
# For any CI: the published policy must be what the constitution and the kept answers make, and verify.
# Asks no model and no person.
set -eu

ironcurtain opa install
ironcurtain lint --strict
ironcurtain compile --locked --saved-tools
git diff --exit-code -- generated
ironcurtain verify
