#!/bin/sh
# The main job, start to end: compile the shipped constitution for two MCP servers, verify the bundle with
# OPA, decide five calls on an embedded engine, and let a client make three through the proxy. The servers are
# started where they can be contained; elsewhere the compile says that it takes their recorded tool lists, and
# the last part that its server is not contained. Compiling again writes the same bytes to generated/; home and
# sandbox of the calls lie in .cache/demo, which stays, so that what is printed can be typed again.
set -eu

work=.cache/demo
rm -rf "$work"
mkdir -p "$work/home/Downloads" "$work/home/Documents" "$work/home/Desktop" "$work/sandbox"
echo "Buy milk." > "$work/sandbox/notes.txt"
echo "Everything to the cat." > "$work/home/Documents/will.txt"
echo "Ship on Friday." > "$work/home/Desktop/plan.txt"

# run CODE COMMAND...: print a command as it can be typed, and run it; its exit code must be the one given.
# A verdict is an exit code: 0 allow, 1 deny, 4 escalate.
run() {
	want=$1 line="\$" got=0
	shift
	for word; do
		case $word in
		*[!A-Za-z0-9_./=-]*) line="$line '$word'" ;;
		*) line="$line $word" ;;
		esac
	done
	printf '\n%s\n' "$line"
	"$@" || got=$?
	[ "$got" = "$want" ] || { echo "expected exit code $want, got $got" >&2; exit 1; }
}

call() {
	want=$1
	shift
	run "$want" ironcurtain decide --bundle generated/bundle --sandbox "$work/sandbox" --home "$work/home" \
		--servers mcp-servers.json "$@"
}

run 0 ironcurtain compile --locked
run 0 ironcurtain verify
call 0 filesystem read_text_file '{"path": "notes.txt"}'
call 0 filesystem write_file '{"path": "~/Downloads/list.txt", "content": "milk"}'
call 1 filesystem move_file '{"source": "~/Documents/will.txt", "destination": "will.txt"}'
call 1 filesystem read_text_file '{"path": "~/.ironcurtain/config.json"}'
call 4 git git_clone '{"url": "https://github.com/octocat/hello-world.git", "path": "hello"}'
echo
echo "Now a client behind the proxy. It is a script, and no model; what it is told is what an agent is told."
"${PYTHON:-python3}" docs/demo_session.py
echo "All of this ran on a real OPA. To type commands yourself: . .venv/bin/activate"
echo "Next: read constitution.md and generated/bundle, or see docs/clients.md to run a client of yours behind the proxy."
