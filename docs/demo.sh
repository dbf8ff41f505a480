#!/bin/sh
# The main job, start to end: compile the shipped constitution for two MCP servers, verify the bundle with
# OPA, decide five calls on an embedded engine, and let a client make three through the proxy. The servers are
# started where they can be contained; elsewhere the compile says that it takes their recorded tool lists, and
# the last part that its server is not contained. Compiling again writes the same bytes to generated/; home and
# sandbox of the calls lie in a new temporary directory.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
mkdir -p "$work/home/Downloads" "$work/home/Documents" "$work/home/Desktop" "$work/sandbox"
echo "Buy milk." > "$work/sandbox/notes.txt"
echo "Everything to the cat." > "$work/home/Documents/will.txt"
echo "Ship on Friday." > "$work/home/Desktop/plan.txt"

run() {
	echo
	echo "\$ $*"
	"$@"
}

# A verdict is an exit code: 0 allow, 1 deny, 4 escalate.
call() {
	want=$1
	shift
	echo
	echo "\$ ironcurtain decide $*"
	got=0
	ironcurtain decide --bundle generated/bundle --sandbox "$work/sandbox" --home "$work/home" \
		--servers mcp-servers.json "$@" || got=$?
	[ "$got" = "$want" ] || { echo "expected exit code $want, got $got" >&2; exit 1; }
}

run ironcurtain compile --locked
run ironcurtain verify generated/bundle
call 0 filesystem read_text_file '{"path": "notes.txt"}'
call 0 filesystem write_file '{"path": "~/Downloads/list.txt", "content": "milk"}'
call 1 filesystem move_file '{"source": "~/Documents/will.txt", "destination": "will.txt"}'
call 1 filesystem read_text_file '{"path": "~/.ironcurtain/config.json"}'
call 4 git git_clone '{"url": "https://github.com/octocat/hello-world.git", "path": "hello"}'
echo
echo "Now a client behind the proxy. It is a script, and no model; what it is told is what an agent is told."
${PYTHON:-python3} docs/demo_session.py "$work"
echo "All of this ran on a real OPA. Next: read constitution.md and generated/bundle, or run the proxy for a client"
echo "that you have; docs/clients.md says how."
