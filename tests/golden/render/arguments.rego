# METADATA
# title: "Policy of pay"
# description: Rendered from the compiled rules. Change those, not this file.
# schemas:
#   - input: schema.input
package ironcurtain.policy.pay

import data.ironcurtain.matching

# METADATA
# title: "small"
# description: "Because of small."
# custom: {"clause": "C4"}
matches contains {"order": 1, "rule": "small", "verdict": "allow", "subjects": ids} if {
	input.tool == "pay"
	is_number(input.args.amount)
	input.args.amount <= 50
	is_string(input.args.mode)
	not input.args.mode in {"raw", "hard"}
	matching.lookup(input.args, ["default"]) == null
	is_string(input.args.note)
	regex.match(`\A(?s:a|b)\z`, input.args.note)
	is_number(input.caller.age)
	input.caller.age >= 18
	ids := matching.undischarged
}

# METADATA
# title: "elements"
# description: "Because of elements."
# custom: {"clause": "C4"}
matches contains {"order": 2, "rule": "elements", "verdict": "allow", "subjects": ids} if {
	input.tool == "pay"
	matching.every_element(matching.lookup(input.args, ["lines"]), ["kind"], {"op": "in", "value": ["a", "b"]})
	matching.some_element(matching.lookup(input.args, ["tags"]), [], {"op": "equals", "value": "ok"})
	matching.satisfies(matching.lookup(input.args, ["note"]), {"op": "le", "value": 80, "or_absent": true, "measure": "length"})
	matching.satisfies(matching.lookup(input.args, ["payer"]), {"op": "equals", "value": matching.lookup(input.caller, ["sub"])})
	ids := matching.undischarged
}
