# METADATA
# title: Who may ask the engine what
# description: |
#   The embedded server answers two requests and no other: the one decision, to whoever holds the token of
#   this start, and the health check. Paths are compared whole, never by prefix; anything unknown is refused.
# scope: package
package system.authz

# METADATA
# title: allow
# description: The server's answer to "may this request be served".
# entrypoint: true
default allow := false

allow if {
	input.method == "GET"
	input.path == ["health"]
}

allow if {
	input.method == "POST"
	input.path == ["v1", "data", "ironcurtain", "decision", "decision"]

	# The engine writes the digest, not the token, so that no file holds what opens the door.
	# regal ignore:unresolved-reference
	crypto.sha256(input.identity) == data.system.engine.token_sha256
}
