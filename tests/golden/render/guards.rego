# METADATA
# title: "Policy of my-server"
# description: Rendered from the compiled rules. Change those, not this file.
# schemas:
#   - input: schema.input
package ironcurtain.policy["my-server"]

import data.ironcurtain.matching

# METADATA
# title: ask-mail-from-private
# description: "Because of ask-mail-from-private."
# custom: {"clause": "C4"}
matches contains {"order": 1, "rule": "ask-mail-from-private", "verdict": "escalate", "subjects": ids} if {
	matching.some_covered({"read-path"}, {"~/Private"})
	ids := input.roles.recipient
}

matches contains {"order": 1, "rule": "ask-mail-from-private", "verdict": "escalate", "subjects": ids} if {
	"~/Private" in input.patterns["read-path"]
	matching.some_subject({"recipient"})
	ids := input.within["read-path"]["~/Private"]
}

# METADATA
# title: mail-friends
# description: "Because of mail-friends."
# custom: {"clause": "C4"}
matches contains {"order": 2, "rule": "mail-friends", "verdict": "allow", "subjects": ids} if {
	input.tool == "send"
	"~/Public" in input.patterns["read-path"]
	matching.every_covered({"recipient"}, {"@friends", "carol@example.com"})
	ids := input.within["read-path"]["~/Public"]
}

matches contains {"order": 2, "rule": "mail-friends", "verdict": "allow", "subjects": ids} if {
	input.tool == "send"
	"@friends" in input.patterns.recipient
	matching.every_covered({"read-path"}, {"~/Public"})
	ids := input.within.recipient["@friends"]
}

matches contains {"order": 2, "rule": "mail-friends", "verdict": "allow", "subjects": ids} if {
	input.tool == "send"
	"carol@example.com" in input.patterns.recipient
	matching.every_covered({"read-path"}, {"~/Public"})
	ids := input.within.recipient["carol@example.com"]
}
