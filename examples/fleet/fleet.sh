#!/bin/sh
# A policy plane on this machine: a bundle server and two OPAs, all on loopback. See docs/remote-engine.md.
#
#   fleet.sh up            start what is not running, and wait until both nodes serve a bundle
#   fleet.sh down          stop everything
#   fleet.sh start NAME    start one of bundles, node-1, node-2
#   fleet.sh stop NAME     kill one of them, as a power failure would
#
# FLEET_STATE  directory of the served bundle, the token, logs and process ids (default: state, beside this)
# FLEET_PORT   port of the bundle server; the nodes have the next two (default: 8180)
# FLEET_KEY    the public key that releases are verified with (default: yours)
# FLEET_OPA    the OPA executable (default: the one that ironcurtain uses)
set -eu
umask 077

here=$(cd "$(dirname "$0")" && pwd)
state=${FLEET_STATE:-$here/state}
port=${FLEET_PORT:-8180}
key=${FLEET_KEY:-$HOME/.ironcurtain/signing-key.pub.pem}

prepare() {
	mkdir -p "$state/served"
	[ -s "$state/token" ] || python3 -c 'import secrets; print(secrets.token_urlsafe(32))' >"$state/token"
	# The nodes get the token's digest: what they hold opens no door.
	python3 -c '
import hashlib, json, sys
digest = hashlib.sha256(sys.stdin.read().strip().encode()).hexdigest()
print(json.dumps({"system": {"engine": {"token_sha256": digest}}}))' <"$state/token" >"$state/token-digest.json"
}

runs() {
	[ -s "$state/$1.pid" ] && kill -0 "$(cat "$state/$1.pid")" 2>/dev/null
}

launch() {
	name=$1
	shift
	"$@" </dev/null >>"$state/$name.log" 2>&1 &
	echo $! >"$state/$name.pid"
}

node() {
	FLEET_BUNDLES=http://127.0.0.1:$port launch "node-$1" "${FLEET_OPA:-$(ironcurtain opa which)}" run --server \
		--addr "127.0.0.1:$((port + $1))" --config-file "$here/opa.yaml" \
		--set-file "keys.release.key=$key" --authentication token --authorization basic \
		--skip-version-check "$here/../../opa/system/authz/authz.rego" "$state/token-digest.json"
}

start() {
	runs "$1" && return
	case $1 in
	bundles) launch bundles python3 -m http.server --bind 127.0.0.1 --directory "$state/served" "$port" ;;
	node-1 | node-2) node "${1#node-}" ;;
	*) echo "fleet.sh: there is no $1" >&2 && exit 2 ;;
	esac
}

stop() {
	runs "$1" || return 0
	kill -9 "$(cat "$state/$1.pid")"
	for try in $(seq 50); do runs "$1" && sleep 0.1; done
	rm "$state/$1.pid"
}

# OPA answers 200 here once it has loaded its bundle.
serves() {
	python3 -c 'import sys, urllib.request as r; r.urlopen(sys.argv[1], timeout=2)' \
		"http://127.0.0.1:$((port + $1))/health?bundles=true" 2>/dev/null
}

await() {
	for try in $(seq 150); do
		serves "$1" && return
		runs "node-$1" || break
		sleep 0.2
	done
	echo "fleet.sh: node-$1 serves no bundle; see $state/node-$1.log" >&2
	exit 1
}

case ${1:-} in
up)
	prepare
	for name in bundles node-1 node-2; do start "$name"; done
	for number in 1 2; do await "$number"; done
	echo "nodes: http://127.0.0.1:$((port + 1)) http://127.0.0.1:$((port + 2))"
	;;
down) for name in node-1 node-2 bundles; do stop "$name"; done ;;
start) prepare && start "${2:-}" ;;
stop) stop "${2:-}" ;;
*) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
