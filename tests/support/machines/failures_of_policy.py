"""What can be wrong with the program, the settings, the models, the bundle and the servers."""

from __future__ import annotations

import json
import shutil
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from ironcurtain.bundle.signing.keys import new_key
from ironcurtain.bundle.signing.signature import sign
from support.machines.healthy_installation import House, Plants, Sign
from support.projects.shipped import bundle as shipped

PLANTS = Plants()
SECRET = "secret-gateway"
"""Part of an address that stands in the user's own file: it must not be shown."""

# -- the program, the settings, the models ------------------------------------------------------------


@PLANTS.take("many things at once", "IC1003")
def settings_with_a_misspelt_key(house: House) -> list[Sign]:
    (house.project / "ironcurtain.toml").write_text('modle = "manual"\n')
    return [Sign("settings", 'unknown key "modle"', 'Did you mean "model"?', "IC1003")]


@PLANTS.take("many things at once", "IC1002")
def a_users_file_that_others_can_read(house: House) -> list[Sign]:
    (house.own / "config.json").write_text("{}")
    (house.own / "config.json").chmod(0o644)
    return [Sign("settings", "others can read or change it", "chmod 600", "IC1002")]


@PLANTS.take("many things at once", "IC3001")
def no_opa(house: House) -> list[Sign]:
    house.path_without("opa")
    fix = "Run `ironcurtain opa install`"
    return [Sign("opa", "no OPA was found", fix, "IC3001"), Sign("engine", "no OPA", fix, "IC3001")]


@PLANTS.take("a bundle that was edited", "IC3002")
def an_opa_that_is_too_old(house: House) -> list[Sign]:
    house.options += ["--opa", str(house.program("old-opa", "echo Version: 0.30.0"))]
    return [Sign("opa", "OPA 0.30.0", "ironcurtain opa install", "IC3002")]


@PLANTS.take("a bundle that others can write", "IC3003")
def an_opa_that_does_not_serve(house: House) -> list[Sign]:
    real = shutil.which("opa")
    text = f'case "$1" in run) echo no luck; exit 1;; *) exec {real} "$@";; esac'
    house.options += ["--opa", str(house.program("sick-opa", text))]
    return [Sign("engine", "no luck", "", "IC3003")]


@PLANTS.take("a bundle that was edited", "IC3301")
def a_judge_without_a_key(house: House) -> list[Sign]:
    house.settings(model="manual", judge_model="manual")
    house.patch.setenv("IRONCURTAIN_JUDGE_MODEL", "anthropic:some-model")
    return [Sign("model", "no key for the Anthropic API", "Set ANTHROPIC_API_KEY", "IC3301", "warn")]


class Refusing(BaseHTTPRequestHandler):
    """A provider that takes no key, and a proxy of the network that answers for all others."""

    def do_GET(self) -> None:
        elsewhere = self.path.startswith("http://models.invalid/v1/models")
        self.send_response(401 if self.headers["x-api-key"] == "wrong" else 502 if elsewhere else 500)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _refusing(house: House) -> str:
    server = house.stack.enter_context(ThreadingHTTPServer(("127.0.0.1", 0), Refusing))
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    house.stack.callback(server.shutdown)
    return f"http://127.0.0.1:{server.server_port}"


@PLANTS.take("an unsigned bundle", "IC3301")
def a_model_that_refuses_the_key(house: House) -> list[Sign]:
    house.settings(model="anthropic:some-model")
    house.patch.setenv("ANTHROPIC_API_KEY", "wrong")
    house.patch.setenv("ANTHROPIC_BASE_URL", _refusing(house))
    house.options.append("--online")
    return [Sign("model", "refuses the key (HTTP status 401)", "Set ANTHROPIC_API_KEY", "IC3301")]


@PLANTS.take("a bundle of a stranger's", "IC3301")
def a_model_that_cannot_be_reached(house: House) -> list[Sign]:
    house.settings(model="anthropic:some-model")
    address = f"http://127.0.0.1:{house.deaf_port()}/{SECRET}"
    (house.own / "config.json").write_text(json.dumps({"addresses": {"anthropic": address}}))
    (house.own / "config.json").chmod(0o600)
    house.options.append("--online")
    return [Sign("model", "the Anthropic API cannot be reached", "ANTHROPIC_BASE_URL", "IC3301")]


@PLANTS.take("another bundle than was expected")
def a_model_behind_a_proxy_of_the_network(house: House) -> list[Sign]:
    house.settings(model="manual", second_model="anthropic:some-model")
    house.patch.setenv("ANTHROPIC_BASE_URL", "http://models.invalid")
    for name in ("http_proxy", "HTTP_PROXY"):
        house.patch.setenv(name, _refusing(house))
    house.options.append("--online")
    return [Sign("model", "does not tell its models (HTTP status 502)", "compile --max-cost", status="warn")]


# -- the bundle ---------------------------------------------------------------------------------------


@PLANTS.take("no bundle", "IC3101")
def no_bundle(house: House) -> list[Sign]:
    shutil.rmtree(house.bundle)
    return [
        Sign("bundle", "there is no bundle", "Run `ironcurtain compile`", "IC3101"),
        Sign("engine", "the bundle cannot be read", "", "", "skip"),
    ]


@PLANTS.take("a bundle that was edited", "IC3101")
def a_bundle_that_was_edited(house: House) -> list[Sign]:
    (house.bundle / "ironcurtain" / "rules" / "data.json").write_text("{}")
    return [Sign("bundle", "content is not that of the revision", "ironcurtain compile --locked", "IC3101")]


@PLANTS.take("a bundle of a newer version", "IC1004")
def a_bundle_of_a_newer_version(house: House) -> list[Sign]:
    manifest = house.bundle / ".manifest"
    manifest.write_text(manifest.read_text().replace("ironcurtain/bundle/v1", "ironcurtain/bundle/v99"))
    return [Sign("bundle", "bundle/v99", "Install the newest IronCurtain", "IC1004")]


@PLANTS.take("an unsigned bundle", "IC3103")
def a_bundle_that_nobody_signed(house: House) -> list[Sign]:
    house.signed(by="own")
    return [Sign("bundle", "unsigned", "ironcurtain compile --sign", "IC3103")]


@PLANTS.take("a bundle of a stranger's", "IC3103")
def a_bundle_that_a_stranger_signed(house: House) -> list[Sign]:
    house.options += ["--bundle", str(house.signed(by="stranger"))]
    return [Sign("bundle", "", "Take the signed archive from whoever publishes it", "IC3103")]


@PLANTS.take("a bundle that is too old", "IC3103")
def a_bundle_that_is_too_old(house: House) -> list[Sign]:
    house.options += ["--bundle", str(house.signed(by="own")), "--min-serial", "99"]
    return [Sign("bundle", "99", "Take the signed archive", "IC3103")]


@PLANTS.take("another bundle than was expected", "IC3101")
def another_bundle_than_was_expected(house: House) -> list[Sign]:
    house.options += ["--expect-revision", "sha256:" + "0" * 64]
    return [Sign("bundle", "revision", "ironcurtain compile --locked", "IC3101")]


@PLANTS.take("many things at once")
def a_bundle_that_is_older_than_its_constitution(house: House) -> list[Sign]:
    with (house.project / "constitution.md").open("a") as file:
        file.write("\n- Notes may be burned.\n")
    archive = house.bundle.with_name("bundle.signed.tar.gz")
    archive.write_bytes(sign(shipped(), new_key(house.home / "own.pem", "ES256")).archive())
    return [
        Sign("bundle", "the constitution was changed", "Run `ironcurtain compile`", status="warn"),
        Sign("bundle", "another revision", "ironcurtain compile --locked --sign", status="warn"),
    ]


@PLANTS.take("a bundle that others can write", "IC1002")
def a_bundle_that_others_can_write(house: House) -> list[Sign]:
    house.bundle.chmod(0o777)
    return [Sign("bundle", "others can write the bundle", "chmod go-w", "IC1002")]


@PLANTS.take("a machine of another kind", "IC3102")
def directories_that_lie_otherwise_here(house: House) -> list[Sign]:
    (house.project / "work" / "inside").mkdir(parents=True)
    (house.home / "notes").symlink_to(house.project / "work" / "inside")
    house.options += ["--sandbox", str(house.project / "work")]
    return [Sign("engine", "was verified with", "compile the policy for this layout", "IC3102")]


@PLANTS.take("servers that fail", "IC1006")
def a_sandbox_that_can_never_be_safe(house: House) -> list[Sign]:
    house.options += ["--sandbox", "/"]
    return [Sign("engine", "the sandbox /", "directory of its own", "IC1006")]


@PLANTS.take("a bundle with a name that is too long", "IC3403")
def what_the_operating_system_refuses(house: House) -> list[Sign]:
    house.options += ["--bundle", "b" * 300]
    return [Sign("bundle", "the operating system refuses: File name too long", "permission", "IC3403")]


# -- servers and their sandbox --------------------------------------------------------------------------


@PLANTS.take("a bundle that was edited", "IC1002")
def no_servers_file(house: House) -> list[Sign]:
    house.file.unlink()
    return [Sign("servers", "does not exist", "Check the path", "IC1002")]


@PLANTS.take("many things at once", "IC1002")
def a_servers_file_that_others_can_write(house: House) -> list[Sign]:
    house.file.chmod(0o666)
    return [Sign("servers", "others can write the servers' file", "chmod go-w", "IC1002")]


@PLANTS.take("an unsigned bundle", "IC1005")
def a_key_that_is_nearly_ours(house: House) -> list[Sign]:
    house.server(sandbx=False)
    return [Sign("servers", '"sandbx"', 'Write "sandbox"', "IC1005")]


@PLANTS.take("servers that fail", "IC3201")
def a_server_whose_command_is_not_there(house: House) -> list[Sign]:
    house.server("absent", command="no-such-program", sandbox=False)
    return [Sign("servers/absent", "was not found", "Start it by hand in", "IC3201")]


@PLANTS.take("a server that fetches itself", "IC3203")
def a_server_that_would_fetch_itself(house: House) -> list[Sign]:
    house.server(command=str(house.program("npx", "exit 1")), args=["-y", "notes"])
    return [Sign("servers/notes", "is not fetched yet", "ironcurtain servers fetch notes", "IC3203")]


@PLANTS.take("servers that nobody permitted", "IC3204")
def a_server_that_nobody_permitted(house: House) -> list[Sign]:
    house.patch.delenv("IRONCURTAIN_PERMIT_SERVERS")
    house.server(command="notes-server", sandbox=False)
    return [Sign("servers/notes", "is not permitted", "ironcurtain servers permit notes", "IC3204")]


@PLANTS.take("servers that fail", "IC3201")
def a_server_that_dies(house: House) -> list[Sign]:
    house.server("mortal", "dies", sandbox=False)
    return [
        Sign("servers/mortal", "the server failed", "Start it by hand in", "IC3201"),
        Sign("sandbox", "server mortal runs uncontained", 'Take "sandbox": false out', status="warn"),
    ]


@PLANTS.take("servers that fail")
def a_server_that_drifted(house: House) -> list[Sign]:
    house.server("notes", "renamed added", sandbox=False)
    return [
        Sign("drift", "notes/read_note changed", "Read `ironcurtain drift`"),
        Sign("drift", "notes/burn_note is not in the policy", "servers add notes", status="warn"),
    ]


@PLANTS.take("a machine of another kind", "IC3202")
def a_machine_without_the_sandboxs_programs(house: House) -> list[Sign]:
    house.server()
    house.path_without("bwrap", "socat", "rg")
    lacking = {"bubblewrap": "bubblewrap (bwrap)", "socat": "socat", "ripgrep": "ripgrep (rg)"}
    return [
        *(
            Sign("sandbox", f"{what} is not installed", f"apt-get install {package}", "IC3202")
            for package, what in lacking.items()
        ),
        Sign("servers/notes", "not started, because it cannot be contained", "", status="skip"),
    ]


@PLANTS.take("a Node.js that is too old", "IC3202")
def a_node_that_is_too_old(house: House) -> list[Sign]:
    house.server()
    house.path_without("node")
    house.program("programs/node", "echo v12.22.1")
    return [Sign("sandbox", "is v12.22.1", "Install Node.js 20", "IC3202")]
