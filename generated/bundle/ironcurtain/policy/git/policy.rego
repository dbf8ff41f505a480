# METADATA
# title: "Policy of git"
# description: Rendered from the compiled rules. Change those, not this file.
# schemas:
#   - input: schema.input
package ironcurtain.policy.git

import data.ironcurtain.matching

# METADATA
# title: git-deny-change-documents
# description: "Documents is read only."
# custom: {"clause": "C9"}
matches contains {"order": 8, "rule": "git-deny-change-documents", "verdict": "deny", "subjects": ids} if {
	"~/Documents" in input.patterns["write-path"]
	ids := input.within["write-path"]["~/Documents"]
}

matches contains {"order": 8, "rule": "git-deny-change-documents", "verdict": "deny", "subjects": ids} if {
	"~/Documents" in input.patterns["delete-path"]
	ids := input.within["delete-path"]["~/Documents"]
}

# METADATA
# title: git-ask-delete-in-downloads
# description: "Git tools may use a repository in Downloads only with approval, also to delete."
# custom: {"clause": "C23"}
matches contains {
	"order": 9,
	"rule": "git-ask-delete-in-downloads",
	"verdict": "escalate",
	"subjects": ids,
} if {
	"~/Downloads" in input.patterns["delete-path"]
	ids := input.within["delete-path"]["~/Downloads"]
}

# METADATA
# title: git-deny-delete-elsewhere
# description: "Nothing is deleted, or moved away, outside the sandbox and Downloads."
# custom: {"clause": "C10"}
matches contains {"order": 10, "rule": "git-deny-delete-elsewhere", "verdict": "deny", "subjects": ids} if {
	ids := input.roles["delete-path"]
}

# METADATA
# title: git-allow-session-note
# description: "These tools touch no repository but the one that git_set_working_dir was allowed to use."
# custom: {"clause": "C15"}
matches contains {"order": 11, "rule": "git-allow-session-note", "verdict": "allow", "subjects": ids} if {
	input.tool in {"git_clear_working_dir", "git_wrapup_instructions"}
	ids := matching.undischarged
}

# METADATA
# title: git-ask-force-push
# description: "A forced push, also within the sandbox."
# custom: {"clause": "C16"}
matches contains {"order": 12, "rule": "git-ask-force-push", "verdict": "escalate", "subjects": ids} if {
	input.tool == "git_push"
	input.args.force == true
	ids := matching.subjects
}

# METADATA
# title: git-ask-force-push-with-lease
# description: "A forced push with a lease, also within the sandbox."
# custom: {"clause": "C16"}
matches contains {
	"order": 13,
	"rule": "git-ask-force-push-with-lease",
	"verdict": "escalate",
	"subjects": ids,
} if {
	input.tool == "git_push"
	input.args.forceWithLease == true
	ids := matching.subjects
}

# METADATA
# title: git-ask-delete-remote-branch
# description: "A push that deletes a branch, also within the sandbox."
# custom: {"clause": "C16"}
matches contains {
	"order": 14,
	"rule": "git-ask-delete-remote-branch",
	"verdict": "escalate",
	"subjects": ids,
} if {
	input.tool == "git_push"
	input.args.delete == true
	ids := matching.subjects
}

# METADATA
# title: git-ask-contact-remote
# description: "Everything that contacts a remote, also one that lies within the sandbox."
# custom: {"clause": "C17"}
matches contains {"order": 15, "rule": "git-ask-contact-remote", "verdict": "escalate", "subjects": ids} if {
	input.tool in {"git_push", "git_pull", "git_fetch", "git_clone"}
	ids := matching.subjects
}

# METADATA
# title: git-ask-change-remotes
# description: "Changes of the remotes of a repository, also within the sandbox."
# custom: {"clause": "C18"}
matches contains {"order": 16, "rule": "git-ask-change-remotes", "verdict": "escalate", "subjects": ids} if {
	input.tool == "git_remote"
	input.args.mode in {"add", "set-url", "rename", "remove"}
	ids := matching.subjects
}

# METADATA
# title: git-ask-discard-by-checkout
# description: "Any checkout but that of a new branch may throw uncommitted work away."
# custom: {"clause": "C19"}
matches contains {
	"order": 17,
	"rule": "git-ask-discard-by-checkout",
	"verdict": "escalate",
	"subjects": ids,
} if {
	input.tool == "git_checkout"
	ids := input.roles["write-history"]
}

# METADATA
# title: git-ask-clean
# description: "Cleaning deletes files that nothing brings back, also within the sandbox; a dry run does not."
# custom: {"clause": "C19"}
matches contains {"order": 18, "rule": "git-ask-clean", "verdict": "escalate", "subjects": ids} if {
	input.tool == "git_clean"
	input.args.dryRun == false
	ids := matching.subjects
}

# METADATA
# title: git-ask-rewrite-history
# description: "The sandbox never excuses the rewriting of history."
# custom: {"clause": "C20"}
matches contains {"order": 19, "rule": "git-ask-rewrite-history", "verdict": "escalate", "subjects": ids} if {
	ids := input.roles["write-history"]
}

# METADATA
# title: git-ask-delete-history
# description: "The sandbox never excuses the deletion of branches, tags and stashes."
# custom: {"clause": "C21"}
matches contains {"order": 20, "rule": "git-ask-delete-history", "verdict": "escalate", "subjects": ids} if {
	ids := input.roles["delete-history"]
}

# METADATA
# title: git-ask-change-worktrees
# description: "Changes of the work trees of a repository, also within the sandbox."
# custom: {"clause": "C22"}
matches contains {
	"order": 21,
	"rule": "git-ask-change-worktrees",
	"verdict": "escalate",
	"subjects": ids,
} if {
	input.tool == "git_worktree"
	input.args.mode in {"add", "move", "remove", "prune"}
	ids := matching.subjects
}

# METADATA
# title: git-ask-outside-sandbox
# description: "Git tools work in the sandbox; elsewhere a person decides."
# custom: {"clause": "C23"}
matches contains {"order": 22, "rule": "git-ask-outside-sandbox", "verdict": "escalate", "subjects": ids} if {
	ids := input.roles["read-path"]
}

matches contains {"order": 22, "rule": "git-ask-outside-sandbox", "verdict": "escalate", "subjects": ids} if {
	ids := input.roles["write-path"]
}
