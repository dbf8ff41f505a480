# METADATA
# title: Decision
# description: |
#   One decision from the matches of the call's server: per subject the first rule that matched it, per
#   call the most severe verdict. What no rule matched is denied, unless sandbox containment has
#   discharged it. The project's own modules can only make a verdict more severe.
#
#   A rendered rule matches as `{order, rule, verdict, subjects: {id: true}}`. What is said of a subject is
#   a finding `{precedence, reason, result: {rule, verdict}}`, and also `subject` where a module of the
#   project says it. `precedence` is only ever compared: the smallest finding decides. OPA compares objects
#   by their keys in alphabetical order, so `order` and `precedence` come first in theirs; a new key must too.
package ironcurtain.decision

# METADATA
# title: Decision
# description: |
#   `{verdict, rule, clause, reason, subject, subjects: {id: {verdict, rule}}}`; `subject` is the id of the
#   deciding subject, null where a project's own module spoke of the whole call.
# scope: document
# entrypoint: true
default decision := {
	"verdict": "deny",
	"rule": "default-deny",
	"clause": null,
	"reason": "The call has no subject that could be allowed.",
	"subject": null,
	"subjects": {},
}

decision := {
	"verdict": _winner.result.verdict,
	"rule": _winner.result.rule,
	"clause": object.get(_explanation, "clause", null),
	"reason": _explanation.reason,
	"subject": _winner_subject,
	"subjects": {id: finding.result | some id, finding in _judged},
}

# METADATA
# description: "The verdicts by severity: the smaller the rank, the more severe."
_ranks := {"deny": 0, "escalate": 1, "allow": 2}

# METADATA
# description: What the rules of the call's server match; nothing where the bundle does not know the server.
# scope: document
default _matches := set()

_matches := data.ironcurtain.policy[input.server].matches

# METADATA
# description: |
#   The name of the first rule that matched each subject, by id. Later objects win in a union, so the match
#   of the lowest order is what remains.
_first_rules := object.union_n([{id: rule | some id, _ in match.subjects} |
	some match in array.reverse(sort(_matches))

	# Bound once for each match: as `match.rule` it would be looked up again for each subject.
	rule := match.rule
])

# METADATA
# description: |
#   The finding of each rule that matched, by name. `precedence` is `[rank, class, order]`; compiled rules
#   are class 0, a project's own modules 1, what no rule matched 2. The rule's own text is its reason.
_rule_findings := {match.rule: finding |
	some match in _matches
	finding := {
		"precedence": [_ranks[match.verdict], 0, match.order],
		"reason": null,
		"result": {"rule": match.rule, "verdict": match.verdict},
	}
}

# METADATA
# description: The finding about a subject that no rule matched.
_default_deny := {
	"precedence": [0, 2],
	"reason": "No rule of the policy allows this.",
	"result": {"rule": "default-deny", "verdict": "deny"},
}

# METADATA
# description: The finding about a subject that no rule matched and that containment has discharged.
_sandbox_allow := {
	"precedence": [2, 2],
	"reason": "Everything that the call touches lies inside the sandbox.",
	"result": {"rule": "structural-sandbox-allow", "verdict": "allow"},
}

# METADATA
# description: "What the compiled policy says of each subject, by id: later objects of the union win."
_by_policy := object.union_n([
	{id: _default_deny | some id, _ in input.subjects},
	{id: _sandbox_allow | some id, subject in input.subjects; subject.discharged == true},
	{id: _rule_findings[rule] | some id, rule in _first_rules},
])

# METADATA
# description: |
#   What the project's own modules say. `precedence` is `[rank, class, module, subject id]`, where null is
#   the whole call.
_custom contains {
	"precedence": [rank, 1, module, subject],
	"reason": _custom_reason(entry),
	"result": {"rule": sprintf("custom-%s", [module]), "verdict": verdict},
	"subject": subject,
} if {
	# regal ignore:unresolved-reference
	some module, contributions in data.ironcurtain.custom
	some verdict in ["deny", "escalate"]
	some entry in contributions[verdict]
	rank := _ranks[verdict]
	subject := _custom_subject(entry)
}

# METADATA
# description: |
#   The subject that an entry names. One that names no subject of the call, in whatever way, speaks of the
#   whole call.
# scope: document
default _custom_subject(_) := null

_custom_subject(entry) := entry.id if {
	is_object(entry)
	input.subjects[entry.id]
}

# METADATA
# description: The reason that an entry gives.
# scope: document
default _custom_reason(_) := "A module of the project says so, without a reason."

_custom_reason(entry) := entry.reason if {
	is_object(entry)
	is_string(entry.reason)
}

# METADATA
# description: The subjects of which a module of the project says something more severe than the policy does.
_tightened := object.union_n([{finding.subject: finding} |
	some finding in array.reverse(sort(_custom))
	finding.precedence < _by_policy[finding.subject].precedence
])

# METADATA
# description: The finding that holds for each subject, by id.
_judged := object.union(_by_policy, _tightened)

# METADATA
# description: |
#   The finding that decides the call. What a module says of a subject without tightening it is no smaller
#   than that subject's own finding, so of `_custom` only what speaks of the whole call counts here.
_winner := min({finding | some finding in _judged} | _custom)

# METADATA
# description: The first subject about which the deciding finding was made.
# scope: document
default _winner_subject := null

_winner_subject := min({id | some id, finding in _judged; finding == _winner})

# METADATA
# description: "The clause and the reason of the decision: for a compiled rule, those that it was compiled with."
# scope: document
_explanation := {"reason": _winner.reason} if _winner.reason != null

# regal ignore:unresolved-reference
_explanation := data.ironcurtain.rules.rules[_winner.result.rule] if _winner.reason == null
