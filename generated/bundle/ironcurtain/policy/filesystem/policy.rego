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
matches contains [1, "filesystem-allow-list-folders", "allow", ids] if {
	input.tool == "list_allowed_directories"
	ids := matching.undischarged
}

# METADATA
# title: filesystem-deny-change-documents
# description: "Documents is read only."
# custom: {"clause": "C9"}
matches contains [2, "filesystem-deny-change-documents", "deny", ids] if {
	"~/Documents" in input.patterns["write-path"]
	ids := input.within["write-path"]["~/Documents"]
}

matches contains [2, "filesystem-deny-change-documents", "deny", ids] if {
	"~/Documents" in input.patterns["delete-path"]
	ids := input.within["delete-path"]["~/Documents"]
}

# METADATA
# title: filesystem-allow-downloads
# description: "Downloads is open to the file tools."
# custom: {"clause": "C7"}
matches contains [3, "filesystem-allow-downloads", "allow", ids] if {
	"~/Downloads" in input.patterns["read-path"]
	ids := input.within["read-path"]["~/Downloads"]
}

matches contains [3, "filesystem-allow-downloads", "allow", ids] if {
	"~/Downloads" in input.patterns["write-path"]
	ids := input.within["write-path"]["~/Downloads"]
}

matches contains [3, "filesystem-allow-downloads", "allow", ids] if {
	"~/Downloads" in input.patterns["delete-path"]
	ids := input.within["delete-path"]["~/Downloads"]
}

# METADATA
# title: filesystem-allow-read-documents
# description: "Documents may be read by the file tools."
# custom: {"clause": "C8"}
matches contains [4, "filesystem-allow-read-documents", "allow", ids] if {
	"~/Documents" in input.patterns["read-path"]
	ids := input.within["read-path"]["~/Documents"]
}

# METADATA
# title: filesystem-deny-delete-elsewhere
# description: "Nothing is deleted, or moved away, outside the sandbox and Downloads."
# custom: {"clause": "C10"}
matches contains [5, "filesystem-deny-delete-elsewhere", "deny", ids] if {
	ids := input.roles["delete-path"]
}

# METADATA
# title: filesystem-ask-write-elsewhere
# description: "Writing anywhere else is a person's decision."
# custom: {"clause": "C11"}
matches contains [6, "filesystem-ask-write-elsewhere", "escalate", ids] if {
	ids := input.roles["write-path"]
}

# METADATA
# title: filesystem-ask-read-elsewhere
# description: "Reading anywhere else is a person's decision."
# custom: {"clause": "C12"}
matches contains [7, "filesystem-ask-read-elsewhere", "escalate", ids] if {
	ids := input.roles["read-path"]
}
