# METADATA
# title: "Policy of filesystem"
# description: Rendered from the compiled rules. Change those, not this file.
# schemas:
#   - input: schema.input
package ironcurtain.policy.filesystem

import data.ironcurtain.matching

# METADATA
# title: allow-read-documents
# description: "Files in Documents may be read."
# custom: {"clause": "C4"}
matches contains {"order": 1, "rule": "allow-read-documents", "verdict": "allow", "subjects": ids} if {
	input.tool in {"read_text_file", "list_directory"}
	"~/Documents" in input.patterns["read-path"]
	ids := input.within["read-path"]["~/Documents"]
}

# METADATA
# title: move-in-downloads
# description: "Because of move-in-downloads."
# custom: {"clause": "C4"}
matches contains {"order": 2, "rule": "move-in-downloads", "verdict": "allow", "subjects": ids} if {
	input.tool == "move_file"
	"~/Downloads" in input.patterns["read-path"]
	matching.none_or_every_covered({"write-path"}, {"~/Downloads", "/srv/in"})
	ids := input.within["read-path"]["~/Downloads"]
}

matches contains {"order": 2, "rule": "move-in-downloads", "verdict": "allow", "subjects": ids} if {
	input.tool == "move_file"
	"~/Downloads" in input.patterns["delete-path"]
	matching.none_or_every_covered({"write-path"}, {"~/Downloads", "/srv/in"})
	ids := input.within["delete-path"]["~/Downloads"]
}

matches contains {"order": 2, "rule": "move-in-downloads", "verdict": "allow", "subjects": ids} if {
	input.tool == "move_file"
	"~/Downloads" in input.patterns["write-path"]
	matching.every_covered({"read-path", "delete-path"}, {"~/Downloads"})
	ids := input.within["write-path"]["~/Downloads"]
}

matches contains {"order": 2, "rule": "move-in-downloads", "verdict": "allow", "subjects": ids} if {
	input.tool == "move_file"
	"/srv/in" in input.patterns["write-path"]
	matching.every_covered({"read-path", "delete-path"}, {"~/Downloads"})
	ids := input.within["write-path"]["/srv/in"]
}

# METADATA
# title: deny-delete
# description: "Because of deny-delete."
# custom: {"clause": "C4"}
matches contains {"order": 3, "rule": "deny-delete", "verdict": "deny", "subjects": ids} if {
	ids := input.roles["delete-path"]
}

matches contains {"order": 3, "rule": "deny-delete", "verdict": "deny", "subjects": ids} if {
	ids := input.sandboxed.roles["delete-path"]
}
