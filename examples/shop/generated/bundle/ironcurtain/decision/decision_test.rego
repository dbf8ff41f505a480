package ironcurtain.decision_test

import data.ironcurtain.decision

_subjects := {
	"0000": {"role": "read-path", "at": "/a", "value": "/x", "discharged": false},
	"0001": {"role": "read-path", "at": "/b", "value": "/s/x", "discharged": true},
	"0002": {"role": "delete-path", "at": "/b", "value": "/y", "discharged": false},
}

_texts := {
	"reads": {"reason": "Reading is allowed.", "clause": "C1"},
	"asks": {"reason": "Ask first.", "clause": "C2"},
	"deletes": {"reason": "Deleting is not allowed.", "clause": "C3"},
}

_decide(matches, custom, subjects) := decided if {
	decided := decision.decision with input as {"server": "fs", "subjects": subjects}
		with data.ironcurtain.policy as {"fs": {"matches": matches}}
		with data.ironcurtain.custom as custom
		with data.ironcurtain.rules.rules as _texts
}

test_deny_by_default_what_no_rule_matches if {
	_decide(set(), {}, _subjects) == {
		"verdict": "deny",
		"rule": "default-deny",
		"clause": null,
		"reason": "No rule of the policy allows this.",
		"subject": "0000",
		"subjects": {
			"0000": {"verdict": "deny", "rule": "default-deny"},
			"0001": {"verdict": "allow", "rule": "structural-sandbox-allow"},
			"0002": {"verdict": "deny", "rule": "default-deny"},
		},
	}
}

test_deny_of_an_unknown_server if {
	decided := decision.decision with input as {"server": "unknown", "subjects": _subjects}
		with data.ironcurtain.policy as {"fs": {"matches": set()}}
	decided.rule == "default-deny"
}

test_deny_of_a_call_without_subjects if {
	_decide(set(), {}, {}) == {
		"verdict": "deny",
		"rule": "default-deny",
		"clause": null,
		"reason": "The call has no subject that could be allowed.",
		"subject": null,
		"subjects": {},
	}
}

test_allow_of_discharged_subjects_alone if {
	only := {"0001": _subjects["0001"]}
	_decide(set(), {}, only) == {
		"verdict": "allow",
		"rule": "structural-sandbox-allow",
		"clause": null,
		"reason": "Everything that the call touches lies inside the sandbox.",
		"subject": "0001",
		"subjects": {"0001": {"verdict": "allow", "rule": "structural-sandbox-allow"}},
	}
}

test_escalate_by_the_most_severe_subject_and_the_first_rule_of_each if {
	matches := {
		{"order": 1, "rule": "reads", "verdict": "allow", "subjects": {"0000": true}},
		{"order": 2, "rule": "asks", "verdict": "escalate", "subjects": {"0000": true, "0002": true}},
		{"order": 3, "rule": "deletes", "verdict": "deny", "subjects": {"0002": true}},
	}
	_decide(matches, {}, _subjects) == {
		"verdict": "escalate",
		"rule": "asks",
		"clause": "C2",
		"reason": "Ask first.",
		"subject": "0002",
		"subjects": {
			"0000": {"verdict": "allow", "rule": "reads"},
			"0001": {"verdict": "allow", "rule": "structural-sandbox-allow"},
			"0002": {"verdict": "escalate", "rule": "asks"},
		},
	}
}

test_deny_by_a_rule_that_sees_discharged_subjects if {
	only := {"0001": _subjects["0001"]}
	_decide({{"order": 3, "rule": "deletes", "verdict": "deny", "subjects": {"0001": true}}}, {}, only) == {
		"verdict": "deny",
		"rule": "deletes",
		"clause": "C3",
		"reason": "Deleting is not allowed.",
		"subject": "0001",
		"subjects": {"0001": {"verdict": "deny", "rule": "deletes"}},
	}
}

_all_allowed := {{"order": 1, "rule": "reads", "verdict": "allow", "subjects": {"0000": true, "0002": true}}}

test_deny_by_a_module_of_the_project_for_one_subject if {
	custom := {"night": {"deny": {{"id": "0002", "reason": "Not at night."}}}}
	_decide(_all_allowed, custom, _subjects) == {
		"verdict": "deny",
		"rule": "custom-night",
		"clause": null,
		"reason": "Not at night.",
		"subject": "0002",
		"subjects": {
			"0000": {"verdict": "allow", "rule": "reads"},
			"0001": {"verdict": "allow", "rule": "structural-sandbox-allow"},
			"0002": {"verdict": "deny", "rule": "custom-night"},
		},
	}
}

test_escalate_by_a_module_that_names_no_subject if {
	entries := {{"id": "call", "reason": "a"}, {"id": 7, "reason": 7}, "text", {"reason": "b"}, ["x"]}
	some entry in entries
	decided := _decide(_all_allowed, {"night": {"escalate": {entry}}}, _subjects)
	decided.verdict == "escalate"
	decided.rule == "custom-night"
	decided.subject == null
	is_string(decided.reason)
	count({entry |
		some entry in entries
		_decide(_all_allowed, {"night": {"escalate": {entry}}}, _subjects).verdict == "escalate"
	}) == 5
}

test_deny_stays_deny_whatever_a_module_of_the_project_says if {
	custom := {"kind": {"escalate": {{"id": "0000", "reason": "Ask."}}, "allow": {"0000"}}}
	_decide({{"order": 3, "rule": "deletes", "verdict": "deny", "subjects": {"0000": true}}}, custom, _subjects) == {
		"verdict": "deny",
		"rule": "deletes",
		"clause": "C3",
		"reason": "Deleting is not allowed.",
		"subject": "0000",
		"subjects": {
			"0000": {"verdict": "deny", "rule": "deletes"},
			"0001": {"verdict": "allow", "rule": "structural-sandbox-allow"},
			"0002": {"verdict": "deny", "rule": "default-deny"},
		},
	}
}
