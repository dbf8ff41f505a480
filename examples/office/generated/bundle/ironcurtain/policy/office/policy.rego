# METADATA
# title: "Policy of office"
# description: Rendered from the compiled rules. Change those, not this file.
# schemas:
#   - input: schema.input
package ironcurtain.policy.office

import data.ironcurtain.matching

# METADATA
# title: office-read-mail
# description: "Mail may be listed and read."
# custom: {"clause": "C3"}
matches contains {"order": 1, "rule": "office-read-mail", "verdict": "allow", "subjects": ids} if {
	input.tool in {"mail_list_inbox", "mail_list_sent", "mail_read"}
	ids := matching.undischarged
}

# METADATA
# title: office-send-to-colleagues
# description: "Mail to colleagues may be sent."
# custom: {"clause": "C4"}
matches contains {"order": 2, "rule": "office-send-to-colleagues", "verdict": "allow", "subjects": ids} if {
	input.tool == "mail_send"
	"@colleagues" in input.patterns.recipient
	ids := input.within.recipient["@colleagues"]
}

# METADATA
# title: office-ask-before-known
# description: "A person decides about mail to known people outside the company."
# custom: {"clause": "C5"}
matches contains {"order": 3, "rule": "office-ask-before-known", "verdict": "escalate", "subjects": ids} if {
	input.tool == "mail_send"
	"@known" in input.patterns.recipient
	ids := input.within.recipient["@known"]
}

# METADATA
# title: office-no-mail-to-others
# description: "Mail goes to colleagues and known people only."
# custom: {"clause": "C6"}
matches contains {"order": 4, "rule": "office-no-mail-to-others", "verdict": "deny", "subjects": ids} if {
	input.tool == "mail_send"
	ids := matching.undischarged
}

# METADATA
# title: office-look-at-calendar
# description: "The calendar may be looked at."
# custom: {"clause": "C7"}
matches contains {"order": 5, "rule": "office-look-at-calendar", "verdict": "allow", "subjects": ids} if {
	input.tool == "calendar_list_events"
	ids := matching.undischarged
}

# METADATA
# title: office-invite-colleagues
# description: "Colleagues may be invited."
# custom: {"clause": "C8"}
matches contains {"order": 6, "rule": "office-invite-colleagues", "verdict": "allow", "subjects": ids} if {
	input.tool == "calendar_create_event"
	"@colleagues" in input.patterns.recipient
	ids := input.within.recipient["@colleagues"]
}

# METADATA
# title: office-create-event
# description: "Events without guests may be created."
# custom: {"clause": "C8"}
matches contains {"order": 7, "rule": "office-create-event", "verdict": "allow", "subjects": ids} if {
	input.tool == "calendar_create_event"
	ids := input.roles.none
}

# METADATA
# title: office-ask-before-guests
# description: "A person decides who is invited from outside."
# custom: {"clause": "C9"}
matches contains {"order": 8, "rule": "office-ask-before-guests", "verdict": "escalate", "subjects": ids} if {
	input.tool == "calendar_create_event"
	ids := input.roles.recipient
}

# METADATA
# title: office-ask-before-cancelling
# description: "A person decides whether an event is cancelled."
# custom: {"clause": "C10"}
matches contains {
	"order": 9,
	"rule": "office-ask-before-cancelling",
	"verdict": "escalate",
	"subjects": ids,
} if {
	input.tool == "calendar_cancel_event"
	ids := matching.undischarged
}

# METADATA
# title: office-read-drive
# description: "The Team and Public folders may be read."
# custom: {"clause": "C11"}
matches contains {"order": 10, "rule": "office-read-drive", "verdict": "allow", "subjects": ids} if {
	input.tool in {"drive_list", "drive_read"}
	"Team" in input.patterns["remote-path"]
	ids := input.within["remote-path"].Team
}

matches contains {"order": 10, "rule": "office-read-drive", "verdict": "allow", "subjects": ids} if {
	input.tool in {"drive_list", "drive_read"}
	"Team/**" in input.patterns["remote-path"]
	ids := input.within["remote-path"]["Team/**"]
}

matches contains {"order": 10, "rule": "office-read-drive", "verdict": "allow", "subjects": ids} if {
	input.tool in {"drive_list", "drive_read"}
	"Public" in input.patterns["remote-path"]
	ids := input.within["remote-path"].Public
}

matches contains {"order": 10, "rule": "office-read-drive", "verdict": "allow", "subjects": ids} if {
	input.tool in {"drive_list", "drive_read"}
	"Public/**" in input.patterns["remote-path"]
	ids := input.within["remote-path"]["Public/**"]
}

# METADATA
# title: office-write-team
# description: "The Team folder may be written."
# custom: {"clause": "C12"}
matches contains {"order": 11, "rule": "office-write-team", "verdict": "allow", "subjects": ids} if {
	input.tool == "drive_write"
	"Team/**" in input.patterns["remote-path"]
	ids := input.within["remote-path"]["Team/**"]
}

# METADATA
# title: office-share-for-viewing
# description: "Files of the Team folder may be shared with colleagues for viewing."
# custom: {"clause": "C13"}
matches contains {"order": 12, "rule": "office-share-for-viewing", "verdict": "allow", "subjects": ids} if {
	input.tool == "drive_share"
	"Team/**" in input.patterns["remote-path"]
	matching.every_covered({"recipient"}, {"@colleagues"})
	input.args.permission == "view"
	ids := input.within["remote-path"]["Team/**"]
}

matches contains {"order": 12, "rule": "office-share-for-viewing", "verdict": "allow", "subjects": ids} if {
	input.tool == "drive_share"
	"@colleagues" in input.patterns.recipient
	matching.every_covered({"remote-path"}, {"Team/**"})
	input.args.permission == "view"
	ids := input.within.recipient["@colleagues"]
}

# METADATA
# title: office-ask-before-sharing
# description: "A person decides about other sharing of the Team folder."
# custom: {"clause": "C14"}
matches contains {
	"order": 13,
	"rule": "office-ask-before-sharing",
	"verdict": "escalate",
	"subjects": ids,
} if {
	input.tool == "drive_share"
	matching.some_covered({"remote-path"}, {"Team/**"})
	ids := input.roles.recipient
}

matches contains {
	"order": 13,
	"rule": "office-ask-before-sharing",
	"verdict": "escalate",
	"subjects": ids,
} if {
	input.tool == "drive_share"
	"Team/**" in input.patterns["remote-path"]
	ids := input.within["remote-path"]["Team/**"]
}

# METADATA
# title: office-import-trusted
# description: "Pages of trusted sites may be kept in the Team folder."
# custom: {"clause": "C15"}
matches contains {"order": 14, "rule": "office-import-trusted", "verdict": "allow", "subjects": ids} if {
	input.tool == "drive_import"
	"@trusted-sites" in input.patterns["fetch-url"]
	matching.every_covered({"remote-path"}, {"Team/**"})
	ids := input.within["fetch-url"]["@trusted-sites"]
}

matches contains {"order": 14, "rule": "office-import-trusted", "verdict": "allow", "subjects": ids} if {
	input.tool == "drive_import"
	"Team/**" in input.patterns["remote-path"]
	matching.every_covered({"fetch-url"}, {"@trusted-sites"})
	ids := input.within["remote-path"]["Team/**"]
}

# METADATA
# title: office-no-deleting
# description: "Files in the drive are never deleted."
# custom: {"clause": "C16"}
matches contains {"order": 15, "rule": "office-no-deleting", "verdict": "deny", "subjects": ids} if {
	input.tool == "drive_delete"
	ids := matching.undischarged
}
