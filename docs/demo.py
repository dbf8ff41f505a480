"""`make demo`: a sentence becomes a rule, one word of it is edited, and an agent meets the rules.

The agent is this script, and no model; it speaks MCP as any client does, and calls the real file server
through `ironcurtain proxy`. Where a model or a person would write, `demo_answer.json` is what a person wrote.
Everything lies in `.cache/demo`, which stays, so that each command that is printed can be typed again.
`--verbose` prints all that the commands print.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
from anyio import to_thread
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import TextContent

from ironcurtain.enforcement.sandbox.programs import survey

CHECKOUT = Path(__file__).resolve().parents[1]
SERVER = CHECKOUT / "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
ANSWER = Path(__file__).with_name("demo_answer.json")
PLACE = CHECKOUT / ".cache" / "demo"
HOME = PLACE / "home"
FILES = {
    "sandbox/notes.txt": "Buy milk.",
    "home/Documents/will.txt": "Everything to the cat.",
    "home/Desktop/plan.txt": "Ship on Friday.",
}
RULE = "filesystem-read-documents"
REGO = "agent/generated/bundle/ironcurtain/policy/filesystem/policy.rego"
SECONDS = 120
VERBOSE = "--verbose" in sys.argv[1:]
ENVIRONMENT = {
    **{name: os.environ[name] for name in ("LANG", "PYTHONPATH", "XDG_CACHE_HOME") if name in os.environ},
    "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
    "HOME": str(HOME),
}


def say(*lines: str) -> None:
    """Print lines."""
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()


def show(text: str, wanted: str = "") -> None:
    """Print what a command printed: the lines that match, or all of them."""
    say(*(f"  {line}" for line in text.splitlines() if VERBOSE or re.search(wanted, line)))


def run(command: str, code: int = 0, wanted: str = "", *, shown: bool = True) -> None:
    """Print a command as it can be typed, run it in `.cache/demo`, and show what it prints.

    Args:
        command: The command.
        code: The exit code that it has to have: 0 is yes, 1 no, 4 that a person is asked.
        wanted: A pattern of the lines that are shown without `--verbose`.
        shown: Whether anything is printed.
    """
    if shown:
        say(f"$ {command}")
    ended = subprocess.run(
        ["/bin/sh", "-c", command], cwd=PLACE, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    if ended.returncode != code:
        sys.exit(f"{ended.stdout}{ended.stderr}\nexpected exit code {code}, got {ended.returncode}")
    if shown:
        show(ended.stderr + ended.stdout, wanted)


def compile_policy(project: str, folder: str, answered: str) -> None:
    """Compile a project, and answer its question in a person's place: this folder may be read.

    Args:
        project: Its directory.
        folder: The folder.
        answered: The sentence that tells where the answer comes from.
    """
    answer = json.loads(ANSWER.read_text())
    for rule in answer["rules"]:
        if rule["name"] == RULE:
            rule["if"]["paths"][0]["within"] = [folder]
    compile_ = f"ironcurtain compile --saved-tools --config {project}/ironcurtain.toml"
    run(compile_, 4, "^waiting", shown=VERBOSE or project == "agent")
    (PLACE / project / "questions/rules-filesystem.answer.json").write_text(json.dumps(answer, indent=2))
    say(answered)
    run(compile_, 0, "^published")


def sentence_to_rule() -> None:
    """Compile the constitution that `init` writes, and show one sentence of it and its rule."""
    say("", "1. A SENTENCE BECOMES A RULE")
    run("ironcurtain init agent && grep 'may read files' agent/constitution.md", 0, "^- ")
    answer = f"There is no model here: this script answers with what a person wrote, {ANSWER.name}."
    compile_policy("agent", "~/Documents", answer)
    say("The sentence is this rule now:")
    rules = (PLACE / REGO).read_text().split("# METADATA\n")
    show(next(rule for rule in rules if f'"{RULE}"' in rule).rstrip(), "^[^#]")


def edited_word() -> None:
    """Change one word of the sentence in a copy, compile that, and show the difference."""
    say("", "2. ONE WORD OF IT IS EDITED")
    run(
        "cp -r agent edited && sed -i.was 's/read files in the Documents/read files in the home/' edited/*.md"
    )
    compile_policy(
        "edited", "~", "The answer has `~` now for `~/Documents`; it compiles, and no scenario fails:"
    )
    say("But `diff` compares the two over all calls, and says what opens:")
    differs = "ironcurtain diff agent/generated/bundle edited/generated/bundle"
    run(differs, 1, r"^Loosened|^  read-path.*tools|directory_tree \{")


def write_servers() -> None:
    """Write the configuration of the file server; say so where this machine cannot contain it."""
    # The server asks for the directories of its client, too; what comes before it knows them needs these.
    args = [str(SERVER), str(PLACE / "sandbox"), str(HOME / "Documents")]
    document: dict[str, Any] = {"mcpServers": {"filesystem": {"command": "node", "args": args}}}
    missing = survey().missing
    if missing:
        document["sandbox"] = {"policy": "warn"}
        permitted = json.dumps({"sandbox": document["sandbox"]})
        how = f"is NOT CONTAINED ({', '.join(missing)}) and starts only because of {permitted}"
    else:
        how = "runs contained"
    say(f"The edit is dropped: the first policy is enforced. The file server {how}.")
    (PLACE / "mcp-servers.json").write_text(json.dumps(document, indent=2) + "\n")


async def call(client: Client, tool: str, arguments: dict[str, str]) -> str:
    """Make a call, and print it with the answer that the agent gets."""
    say(f"The agent calls {tool} {json.dumps(arguments).replace(str(PLACE), '$PWD')}")
    result = await client.call_tool(f"filesystem__{tool}", arguments)
    answer = "\n".join(block.text for block in result.content if isinstance(block, TextContent)).strip()
    said = "it is refused:" if result.is_error else "it is done:"
    say(f"{said} {answer}".replace("\n", "\n  ").replace(": ", ":\n  ", int(result.is_error)))
    return answer


async def person_types(command: str, wanted: str = "") -> None:
    """Run a command as a person does in a second terminal."""
    await to_thread.run_sync(run, f"HOME=$PWD/home ironcurtain {command}", 0, wanted)


async def approve() -> None:
    """Read the one call that waits, when it waits, and approve it."""
    place = HOME / ".ironcurtain" / "approvals"
    while not (requests := [*place.glob("request-*.json")]):  # noqa: ASYNC110 - another program writes it
        await anyio.sleep(0.1)
    id_ = requests[0].stem.removeprefix("request-")
    say("it waits for a person, who reads and answers it in a second terminal (this script types for them):")
    # Not what tells the request from others, nor what else an approval could cover.
    rest = "session|for this session|client|caller|asked|answer by|digest|state"
    await person_types(
        f"approvals show {id_}", f"^(?!  ({rest}):|.*(sha256:| at /path: |nothing below|as above))"
    )
    await person_types(f"approvals approve {id_} --yes")


async def session() -> None:
    """Start the proxy, make the calls, and end it."""
    say("", "3. AN AGENT MEETS THE RULES")
    write_servers()
    options = "--bundle agent/generated/bundle --servers mcp-servers.json --sandbox sandbox"
    say(f"$ HOME=$PWD/home ironcurtain proxy {options}")
    arguments = ["-m", "ironcurtain", "proxy", *options.split(), "--patience", str(SECONDS)]
    proxy = StdioServerParameters(command=sys.executable, args=arguments, env=ENVIRONMENT, cwd=PLACE)
    will, plan = f"{HOME}/Documents/will.txt", f"{HOME}/Desktop/plan.txt"
    with (PLACE / "proxy.log").open("w+") as log:
        try:
            with anyio.fail_after(SECONDS):
                async with Client(stdio_client(proxy, errlog=log), cache=None) as client:
                    await call(client, "read_text_file", {"path": will})
                    moved = {"source": will, "destination": f"{PLACE}/sandbox/will.txt"}
                    refused = await call(client, "move_file", moved)
                    say("An agent is not told the rules. A person is:")
                    id_ = refused.rpartition(" ")[2]
                    explain = f"explain --id {id_} --bundle agent/generated/bundle"
                    await person_types(explain, "^  clause:  C6")
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(approve)
                        await call(client, "read_text_file", {"path": plan})
        except BaseException:
            log.seek(0)
            sys.stderr.write(log.read())
            raise


def main() -> None:
    """Make the files, and show the three parts."""
    shutil.rmtree(PLACE, ignore_errors=True)
    for name, text in FILES.items():
        (PLACE / name).parent.mkdir(parents=True, exist_ok=True)
        (PLACE / name).write_text(f"{text}\n")
    say(f"$ . .venv/bin/activate && cd {PLACE.relative_to(CHECKOUT)}")
    sentence_to_rule()
    edited_word()
    anyio.run(session)
    say("All of this ran on a real OPA. Next: docs/clients.md puts a client of yours behind the proxy.")


if __name__ == "__main__":
    main()
