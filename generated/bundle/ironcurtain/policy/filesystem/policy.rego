# METADATA
# title: "Policy of filesystem"
# description: Rendered from the compiled rules. Change those, not this file.
# schemas:
#   - input: schema.input
package ironcurtain.policy.filesystem

import data.ironcurtain.matching

# METADATA
# title: filesystem-allow-list-folders
# description: "The file tools may say which folders they reach."
# custom: {"clause": "C6"}
matches contains {
	"order": 1,
	"rule": "filesystem-allow-list-folders",
	"verdict": "allow",
	"subjects": ids,
} if {
	input.tool == "list_allowed_directories"
	ids := matching.undischarged
}

# METADATA
# title: filesystem-deny-change-documents
# description: "Documents is read only."
# custom: {"clause": "C9"}
matches contains {
	"order": 2,
	"rule": "filesystem-deny-change-documents",
	"verdict": "deny",
	"subjects": ids,
} if {
	"~/Documents" in input.patterns["write-path"]
	ids := input.within["write-path"]["~/Documents"]
}

matches contains {
	"order": 2,
	"rule": "filesystem-deny-change-documents",
	"verdict": "deny",
	"subjects": ids,
} if {
	"~/Documents" in input.patterns["delete-path"]
	ids := input.within["delete-path"]["~/Documents"]
}

# METADATA
# title: filesystem-allow-downloads
# description: "Downloads is open to the file tools."
# custom: {"clause": "C7"}
matches contains {"order": 3, "rule": "filesystem-allow-downloads", "verdict": "allow", "subjects": ids} if {
	"~/Downloads" in input.patterns["read-path"]
	ids := input.within["read-path"]["~/Downloads"]
}

matches contains {"order": 3, "rule": "filesystem-allow-downloads", "verdict": "allow", "subjects": ids} if {
	"~/Downloads" in input.patterns["write-path"]
	ids := input.within["write-path"]["~/Downloads"]
}

matches contains {"order": 3, "rule": "filesystem-allow-downloads", "verdict": "allow", "subjects": ids} if {
	"~/Downloads" in input.patterns["delete-path"]
	ids := input.within["delete-path"]["~/Downloads"]
}

# METADATA
# title: filesystem-allow-read-documents
# description: "Documents may be read by the file tools."
# custom: {"clause": "C8"}
matches contains {
	"order": 4,
	"rule": "filesystem-allow-read-documents",
	"verdict": "allow",
	"subjects": ids,
} if {
	"~/Documents" in input.patterns["read-path"]
	ids := input.within["read-path"]["~/Documents"]
}

# METADATA
# title: filesystem-deny-delete-elsewhere
# description: "Nothing is deleted, or moved away, outside the sandbox and Downloads."
# custom: {"clause": "C10"}
matches contains {
	"order": 5,
	"rule": "filesystem-deny-delete-elsewhere",
	"verdict": "deny",
	"subjects": ids,
} if {
	ids := input.roles["delete-path"]
}

# METADATA
# title: filesystem-ask-write-elsewhere
# description: "Writing anywhere else is a person's decision."
# custom: {"clause": "C11"}
matches contains {
	"order": 6,
	"rule": "filesystem-ask-write-elsewhere",
	"verdict": "escalate",
	"subjects": ids,
} if {
	ids := input.roles["write-path"]
}

# METADATA
# title: filesystem-ask-read-elsewhere
# description: "Reading anywhere else is a person's decision."
# custom: {"clause": "C12"}
matches contains {
	"order": 7,
	"rule": "filesystem-ask-read-elsewhere",
	"verdict": "escalate",
	"subjects": ids,
} if {
	ids := input.roles["read-path"]
}
