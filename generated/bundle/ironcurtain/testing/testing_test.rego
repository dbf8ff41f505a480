package ironcurtain.testing_test

import data.ironcurtain.testing

_call := {"server": "fs", "tool": "read"}

_named := {"path": ["/srv", "~/Documents"], "url": ["*.example.com/a"], "recipient": ["*@example.com"]}

test_allow_the_whole_input_of_canonical_values if {
	resources := [
		{"role": "read-path", "value": "/home/user/Documents/x"},
		{"role": "read-path", "value": "/srv", "discharged": true},
		{"role": "recipient", "value": "alice@example.com"},
	]
	built := testing.policy_input(_call, resources) with data.ironcurtain.patterns.named as _named
		with data.ironcurtain.lists as {"friends": {"type": "recipient", "values": ["alice@example.com"]}}
	built == {
		"server": "fs",
		"tool": "read",
		"side_effects": true,
		"args": {},
		"caller": {},
		"subjects": {
			"0000": {"role": "read-path", "at": "/0", "value": "/home/user/Documents/x", "discharged": false},
			"0001": {"role": "read-path", "at": "/1", "value": "/srv", "discharged": true},
			"0002": {"role": "recipient", "at": "/2", "value": "alice@example.com", "discharged": false},
		},
		"roles": {"read-path": {"0000": true}, "recipient": {"0002": true}},
		"patterns": {"read-path": ["~/Documents"], "recipient": ["*@example.com", "@friends"]},
		"within": {
			"read-path": {"~/Documents": {"0000": true}},
			"recipient": {"*@example.com": {"0002": true}, "@friends": {"0002": true}},
		},
		"sandboxed": {
			"roles": {"read-path": {"0001": true}},
			"patterns": {"read-path": ["/srv"]},
			"within": {"read-path": {"/srv": {"0001": true}}},
		},
	}
}

test_allow_a_call_without_resources if {
	testing.policy_input(_call, []).subjects == {"call": {
		"role": "none",
		"at": "",
		"value": "call",
		"discharged": false,
	}}
}

test_deny_what_is_not_canonical if {
	values := {
		["read-path", "x"],
		["read-path", "/a/../b"],
		["read-path", "/a/"],
		["read-path", "~/x"],
		["fetch-url", "https://GitHub.com/"],
		["fetch-url", "https://127.0.0.1/"],
		["fetch-url", "https://localhost/"],
		["fetch-url", "https://github.com:443/"],
		["recipient", "Alice <alice@example.com>"],
		["repository", "a/.."],
		["resource-uri", "x"],
		["project", "a/../b"],
		["project", "a//b"],
		["unknown-role", "x"],
	}
	roles := [
		{"name": "project", "case": "exact", "separator": "/"},
		{"name": "resource-uri", "case": "exact"},
	]
	refused := {value |
		some value in values
		not testing.policy_input(_call, [{"role": value[0], "value": value[1]}]) with data.ironcurtain.annotations.roles as roles
	}
	refused == values
}
