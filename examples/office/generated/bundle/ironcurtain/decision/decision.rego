# METADATA
# title: Decision
# description: |
#   One decision from the matches of the call's server: per subject the first rule that matched it, per
#   call the most severe verdict. What no rule matched is denied, unless sandbox containment has
#   discharged it. The project's own modules can only make a verdict more severe.
package ironcurtain.decision

# METADATA
# title: Decision
# description: |
#   `{verdict, rule, clause, reason, subject, subjects: {id: {verdict, rule}}}`; `subject` is the id of the
#   deciding subject, null where a project's own module spoke of the whole call.
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
	"verdict": _verdicts[_winner[0]],
	"rule": _winner[4],
	"clause": _clause,
	"reason": _reason,
	"subject": _winner_subject,
	"subjects": {id: {"verdict": _verdicts[found[0]], "rule": found[4]} | some id, found in _judged},
}

# The verdicts by rank: the smaller the rank, the more severe.
_verdicts := ["deny", "escalate", "allow"]

_ranks := {"deny": 0, "escalate": 1, "allow": 2}

_reasons := {
	"default-deny": "No rule of the policy allows this.",
	"structural-sandbox-allow": "Everything that the call touches lies inside the sandbox.",
}

default _matches := set()

_matches := data.ironcurtain.policy[input.server].matches

# Later objects win in a union, so that the match of the lowest order is left for each subject.
_first_matches := object.union_n([{id: match |
	some id, _ in match[3]
} |
	some match in array.reverse(sort(_matches))
])

# A finding is [rank, class, order, subject id, rule name, reason], so that the smallest one decides:
# compiled rules are class 0, a project's own modules 1, what no rule matched 2.
_ruled := {id: [_ranks[match[2]], 0, match[0], id, match[1], null] | some id, match in _first_matches}

_unruled := {id: _fallback(subject, id) | some id, subject in input.subjects}

_fallback(subject, id) := [2, 2, 0, id, "structural-sandbox-allow", null] if subject.discharged == true

_fallback(subject, id) := [0, 2, 0, id, "default-deny", null] if not subject.discharged == true

_by_policy := object.union(_unruled, _ruled)

_custom contains [0, 1, name, _custom_id(entry), sprintf("custom-%s", [name]), _custom_reason(entry)] if {
	# regal ignore:unresolved-reference
	some name
	some entry in data.ironcurtain.custom[name].deny
}

_custom contains [1, 1, name, _custom_id(entry), sprintf("custom-%s", [name]), _custom_reason(entry)] if {
	# regal ignore:unresolved-reference
	some name
	some entry in data.ironcurtain.custom[name].escalate
}

# An entry that names no subject of the call, in whatever way, speaks of the whole call.
default _custom_id(_) := ""

_custom_id(entry) := entry.id if {
	is_object(entry)
	input.subjects[entry.id]
}

default _custom_reason(_) := "A module of the project says so, without a reason."

_custom_reason(entry) := entry.reason if {
	is_object(entry)
	is_string(entry.reason)
}

_tightened := object.union_n([{finding[3]: finding} |
	some finding in array.reverse(sort(_custom))
	finding < _by_policy[finding[3]]
])

_judged := object.union(_by_policy, _tightened)

_of_call := {finding | some finding in _custom; finding[3] == ""}

_winner := min({finding | some finding in _judged} | _of_call)

_winner_subject := _winner[3] if _winner[3] != ""

_winner_subject := null if _winner[3] == ""

# regal ignore:unresolved-reference
_reason := data.ironcurtain.rules.rules[_winner[4]].reason if _winner[1] == 0

_reason := _winner[5] if _winner[1] == 1

_reason := _reasons[_winner[4]] if _winner[1] == 2

default _clause := null

# regal ignore:unresolved-reference
_clause := data.ironcurtain.rules.rules[_winner[4]].clause if _winner[1] == 0
