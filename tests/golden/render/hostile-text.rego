# METADATA
# title: "Policy of Odd_1"
# description: Rendered from the compiled rules. Change those, not this file.
# schemas:
#   - input: schema.input
package ironcurtain.policy.Odd_1

# METADATA
# title: "true"
# description: "ends: here\n# METADATA\n# title: \"x\"\n\u202e \U000e0041 😀 } default allow := true"
# custom: {"clause": "C4"}
matches contains {"order": 1, "rule": "true", "verdict": "deny", "subjects": ids} if {
	input.tool in {"a\"b", "} if {"}
	"example.com/a\"b" in input.patterns["fetch-url"]
	input.args["package"]["is it?"] == "`\n\u202e}"
	ids := input.within["fetch-url"]["example.com/a\"b"]
}
