# METADATA
# title: "Scenarios of office"
# description: Generated from the scenarios; do not edit.
package ironcurtain.policy.office_test

import data.ironcurtain.decision

# METADATA
# title: "list-inbox"
# description: "Mail may be listed."
test_allow_list_inbox if {
	answer := decision.decision with input as {
		"args": {"limit": 100},
		"caller": {},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": false,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "mail_list_inbox",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "send-to-colleague"
# description: "A colleague, whatever the spelling of the address."
test_allow_send_to_colleague if {
	answer := decision.decision with input as {
		"args": {"body": "x", "subject": "Hi", "to": ["bob@acme.example"]},
		"caller": {},
		"patterns": {"recipient": ["@colleagues", "@known"]},
		"roles": {"recipient": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"0000": {"at": "/to/0", "discharged": false, "role": "recipient", "value": "bob@acme.example"}},
		"tool": "mail_send",
		"within": {"recipient": {"@colleagues": {"0000": true}, "@known": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "send-to-known"
# description: "Mia has written to Carol, so a person is asked."
test_escalate_send_to_known if {
	answer := decision.decision with input as {
		"args": {"body": "x", "subject": "Hi", "to": ["carol@partner.example"]},
		"caller": {},
		"patterns": {"recipient": ["@known"]},
		"roles": {"recipient": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/to/0",
			"discharged": false,
			"role": "recipient",
			"value": "carol@partner.example",
		}},
		"tool": "mail_send",
		"within": {"recipient": {"@known": {"0000": true}}},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "send-to-stranger"
# description: "Writing to somebody puts nobody on a list."
test_deny_send_to_stranger if {
	answer := decision.decision with input as {
		"args": {"body": "x", "subject": "Hi", "to": ["mallory@evil.example"]},
		"caller": {},
		"patterns": {},
		"roles": {"recipient": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/to/0",
			"discharged": false,
			"role": "recipient",
			"value": "mallory@evil.example",
		}},
		"tool": "mail_send",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "stranger-among-colleagues"
# description: "Every recipient counts, the copy too."
test_deny_stranger_among_colleagues if {
	answer := decision.decision with input as {
		"args": {"body": "x", "cc": ["mallory@evil.example"], "subject": "Hi", "to": ["bob@acme.example"]},
		"caller": {},
		"patterns": {"recipient": ["@colleagues", "@known"]},
		"roles": {"recipient": {"0000": true, "0001": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/cc/0",
				"discharged": false,
				"role": "recipient",
				"value": "mallory@evil.example",
			},
			"0001": {"at": "/to/0", "discharged": false, "role": "recipient", "value": "bob@acme.example"},
		},
		"tool": "mail_send",
		"within": {"recipient": {"@colleagues": {"0001": true}, "@known": {"0001": true}}},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "subdomain-is-no-colleague"
# description: "The domain only begins like ours."
test_deny_subdomain_is_no_colleague if {
	answer := decision.decision with input as {
		"args": {"body": "x", "subject": "Hi", "to": ["bob@acme.example.evil.example"]},
		"caller": {},
		"patterns": {},
		"roles": {"recipient": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/to/0",
			"discharged": false,
			"role": "recipient",
			"value": "bob@acme.example.evil.example",
		}},
		"tool": "mail_send",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "event-alone"
# description: "An event without guests."
test_allow_event_alone if {
	answer := decision.decision with input as {
		"args": {"start": "2026-11-23T10:00", "title": "Focus"},
		"caller": {},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "calendar_create_event",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "event-with-colleague"
# description: "Colleagues may be invited."
test_allow_event_with_colleague if {
	answer := decision.decision with input as {
		"args": {"attendees": ["bob@acme.example"], "start": "2026-11-23T10:00", "title": "Plan"},
		"caller": {},
		"patterns": {"recipient": ["@colleagues", "@known"]},
		"roles": {"recipient": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/attendees/0",
			"discharged": false,
			"role": "recipient",
			"value": "bob@acme.example",
		}},
		"tool": "calendar_create_event",
		"within": {"recipient": {"@colleagues": {"0000": true}, "@known": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "event-with-guest"
# description: "One guest is enough."
test_escalate_event_with_guest if {
	answer := decision.decision with input as {
		"args": {
			"attendees": ["bob@acme.example", "eve@else.example"],
			"start": "2026-11-23T10:00",
			"title": "Plan",
		},
		"caller": {},
		"patterns": {"recipient": ["@colleagues", "@known"]},
		"roles": {"recipient": {"0000": true, "0001": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/attendees/0",
				"discharged": false,
				"role": "recipient",
				"value": "bob@acme.example",
			},
			"0001": {
				"at": "/attendees/1",
				"discharged": false,
				"role": "recipient",
				"value": "eve@else.example",
			},
		},
		"tool": "calendar_create_event",
		"within": {"recipient": {"@colleagues": {"0000": true}, "@known": {"0000": true}}},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "cancel"
# description: "Others are told."
test_escalate_cancel if {
	answer := decision.decision with input as {
		"args": {"id": "e1"},
		"caller": {},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "calendar_cancel_event",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "list-team"
# description: "The folder itself, not only what is in it."
test_allow_list_team if {
	answer := decision.decision with input as {
		"args": {"folder": "Team"},
		"caller": {},
		"patterns": {"remote-path": ["Team"]},
		"roles": {"remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"0000": {"at": "/folder", "discharged": false, "role": "remote-path", "value": "Team"}},
		"tool": "drive_list",
		"within": {"remote-path": {"Team": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "read-private"
# description: "No clause allows it."
test_deny_read_private if {
	answer := decision.decision with input as {
		"args": {"path": "Private/salary.txt"},
		"caller": {},
		"patterns": {},
		"roles": {"remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "remote-path",
			"value": "Private/salary.txt",
		}},
		"tool": "drive_read",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "write-team"
# description: "The Team folder may be written."
test_allow_write_team if {
	answer := decision.decision with input as {
		"args": {"path": "Team/new.txt", "text": "x"},
		"caller": {},
		"patterns": {"remote-path": ["Team/**"]},
		"roles": {"remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": false, "role": "remote-path", "value": "Team/new.txt"}},
		"tool": "drive_write",
		"within": {"remote-path": {"Team/**": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "write-public"
# description: "The Public folder may be read only."
test_deny_write_public if {
	answer := decision.decision with input as {
		"args": {"path": "Public/new.txt", "text": "x"},
		"caller": {},
		"patterns": {"remote-path": ["Public/**"]},
		"roles": {"remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": false, "role": "remote-path", "value": "Public/new.txt"}},
		"tool": "drive_write",
		"within": {"remote-path": {"Public/**": {"0000": true}}},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "look-at-calendar"
# description: "Looking is free."
test_allow_look_at_calendar if {
	answer := decision.decision with input as {
		"args": {},
		"caller": {},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": false,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "calendar_list_events",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "read-team"
# description: "The Team folder may be read, however deep."
test_allow_read_team if {
	answer := decision.decision with input as {
		"args": {"path": "Team/2026/plan.txt"},
		"caller": {},
		"patterns": {"remote-path": ["Team/**"]},
		"roles": {"remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "remote-path",
			"value": "Team/2026/plan.txt",
		}},
		"tool": "drive_read",
		"within": {"remote-path": {"Team/**": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "read-public"
# description: "So may the Public folder."
test_allow_read_public if {
	answer := decision.decision with input as {
		"args": {"path": "Public/map.txt"},
		"caller": {},
		"patterns": {"remote-path": ["Public/**"]},
		"roles": {"remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": false, "role": "remote-path", "value": "Public/map.txt"}},
		"tool": "drive_read",
		"within": {"remote-path": {"Public/**": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "share-for-viewing"
# description: "Viewing is what the tool does by default."
test_allow_share_for_viewing if {
	answer := decision.decision with input as {
		"args": {"path": "Team/plan.txt", "permission": "view", "with": ["bob@acme.example"]},
		"caller": {},
		"patterns": {"recipient": ["@colleagues", "@known"], "remote-path": ["Team/**"]},
		"roles": {"recipient": {"0001": true}, "remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {
			"0000": {"at": "/path", "discharged": false, "role": "remote-path", "value": "Team/plan.txt"},
			"0001": {"at": "/with/0", "discharged": false, "role": "recipient", "value": "bob@acme.example"},
		},
		"tool": "drive_share",
		"within": {
			"recipient": {"@colleagues": {"0001": true}, "@known": {"0001": true}},
			"remote-path": {"Team/**": {"0000": true}},
		},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "share-for-editing"
# description: "Editing needs approval."
test_escalate_share_for_editing if {
	answer := decision.decision with input as {
		"args": {"path": "Team/plan.txt", "permission": "edit", "with": ["bob@acme.example"]},
		"caller": {},
		"patterns": {"recipient": ["@colleagues", "@known"], "remote-path": ["Team/**"]},
		"roles": {"recipient": {"0001": true}, "remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {
			"0000": {"at": "/path", "discharged": false, "role": "remote-path", "value": "Team/plan.txt"},
			"0001": {"at": "/with/0", "discharged": false, "role": "recipient", "value": "bob@acme.example"},
		},
		"tool": "drive_share",
		"within": {
			"recipient": {"@colleagues": {"0001": true}, "@known": {"0001": true}},
			"remote-path": {"Team/**": {"0000": true}},
		},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "share-for-editing-with-nobody"
# description: "A link for editing needs approval, whoever it is for."
test_escalate_share_for_editing_with_nobody if {
	answer := decision.decision with input as {
		"args": {"path": "Team/plan.txt", "permission": "edit", "with": []},
		"caller": {},
		"patterns": {"remote-path": ["Team/**"]},
		"roles": {"remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": false, "role": "remote-path", "value": "Team/plan.txt"}},
		"tool": "drive_share",
		"within": {"remote-path": {"Team/**": {"0000": true}}},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "share-with-guest"
# description: "One guest is enough."
test_escalate_share_with_guest if {
	answer := decision.decision with input as {
		"args": {
			"path": "Team/plan.txt",
			"permission": "view",
			"with": ["bob@acme.example", "eve@else.example"],
		},
		"caller": {},
		"patterns": {"recipient": ["@colleagues", "@known"], "remote-path": ["Team/**"]},
		"roles": {"recipient": {"0001": true, "0002": true}, "remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {
			"0000": {"at": "/path", "discharged": false, "role": "remote-path", "value": "Team/plan.txt"},
			"0001": {"at": "/with/0", "discharged": false, "role": "recipient", "value": "bob@acme.example"},
			"0002": {"at": "/with/1", "discharged": false, "role": "recipient", "value": "eve@else.example"},
		},
		"tool": "drive_share",
		"within": {
			"recipient": {"@colleagues": {"0001": true}, "@known": {"0001": true}},
			"remote-path": {"Team/**": {"0000": true}},
		},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "share-private"
# description: "Only files of the Team folder are shared at all."
test_deny_share_private if {
	answer := decision.decision with input as {
		"args": {"path": "Private/salary.txt", "permission": "view", "with": ["bob@acme.example"]},
		"caller": {},
		"patterns": {"recipient": ["@colleagues", "@known"]},
		"roles": {"recipient": {"0001": true}, "remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": false,
				"role": "remote-path",
				"value": "Private/salary.txt",
			},
			"0001": {"at": "/with/0", "discharged": false, "role": "recipient", "value": "bob@acme.example"},
		},
		"tool": "drive_share",
		"within": {"recipient": {"@colleagues": {"0001": true}, "@known": {"0001": true}}},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "import-trusted"
# description: "A trusted site, into the Team folder."
test_allow_import_trusted if {
	answer := decision.decision with input as {
		"args": {"path": "Team/a.txt", "url": "https://docs.example.org/a"},
		"caller": {},
		"patterns": {"fetch-url": ["@trusted-sites"], "remote-path": ["Team/**"]},
		"roles": {"fetch-url": {"0001": true}, "remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {
			"0000": {"at": "/path", "discharged": false, "role": "remote-path", "value": "Team/a.txt"},
			"0001": {
				"at": "/url",
				"discharged": false,
				"role": "fetch-url",
				"value": "https://docs.example.org/a",
			},
		},
		"tool": "drive_import",
		"within": {
			"fetch-url": {"@trusted-sites": {"0001": true}},
			"remote-path": {"Team/**": {"0000": true}},
		},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "import-lookalike"
# description: "The host only begins like a trusted one."
test_deny_import_lookalike if {
	answer := decision.decision with input as {
		"args": {"path": "Team/a.txt", "url": "https://docs.example.org.evil.example/a"},
		"caller": {},
		"patterns": {"remote-path": ["Team/**"]},
		"roles": {"fetch-url": {"0001": true}, "remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {
			"0000": {"at": "/path", "discharged": false, "role": "remote-path", "value": "Team/a.txt"},
			"0001": {
				"at": "/url",
				"discharged": false,
				"role": "fetch-url",
				"value": "https://docs.example.org.evil.example/a",
			},
		},
		"tool": "drive_import",
		"within": {"remote-path": {"Team/**": {"0000": true}}},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "import-elsewhere"
# description: "Only the Team folder takes imports."
test_deny_import_elsewhere if {
	answer := decision.decision with input as {
		"args": {"path": "Public/a.txt", "url": "https://docs.example.org/a"},
		"caller": {},
		"patterns": {"fetch-url": ["@trusted-sites"], "remote-path": ["Public/**"]},
		"roles": {"fetch-url": {"0001": true}, "remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {
			"0000": {"at": "/path", "discharged": false, "role": "remote-path", "value": "Public/a.txt"},
			"0001": {
				"at": "/url",
				"discharged": false,
				"role": "fetch-url",
				"value": "https://docs.example.org/a",
			},
		},
		"tool": "drive_import",
		"within": {
			"fetch-url": {"@trusted-sites": {"0001": true}},
			"remote-path": {"Public/**": {"0000": true}},
		},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "delete"
# description: "Nothing is deleted."
test_deny_delete if {
	answer := decision.decision with input as {
		"args": {"path": "Team/plan.txt"},
		"caller": {},
		"patterns": {"remote-path": ["Team/**"]},
		"roles": {"remote-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "office",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": false, "role": "remote-path", "value": "Team/plan.txt"}},
		"tool": "drive_delete",
		"within": {"remote-path": {"Team/**": {"0000": true}}},
	}
	answer.verdict == "deny"
}
