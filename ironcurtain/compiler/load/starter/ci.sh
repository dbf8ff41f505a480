#!/bin/sh
# For any CI: the published policy verifies, is committed, and is what the constitution and the kept answers
# make. Asks no model and no person, and changes nothing here. Where it fails, its last line says why.
set -eu

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  printf 'CI failed: %s\n' "$1" >&2
  exit 1
}

ironcurtain opa which > /dev/null 2>&1 || ironcurtain opa install
ironcurtain verify
ironcurtain lint --strict
uncommitted=$(git ls-files --others -- generated)
[ -z "$uncommitted" ] || fail "not committed: $(echo $uncommitted)"

cp -R generated "$scratch"
if ! ironcurtain compile --locked --saved-tools --output "$scratch/generated" 2> "$scratch/said"; then
  cat "$scratch/said" >&2
  fail "$(sed -n 's/^error[^:]*: //p' "$scratch/said" | head -n 1)"
fi
if ! diff -r generated "$scratch/generated"; then
  fail "generated is not what this compile makes: run \`ironcurtain compile --locked\`, and commit generated"
fi
