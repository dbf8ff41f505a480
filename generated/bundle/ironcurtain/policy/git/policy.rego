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
matches contains [8, "git-deny-change-documents", "deny", ids] if {
	"~/Documents" in input.patterns["write-path"]
	ids := input.within["write-path"]["~/Documents"]
}

matches contains [8, "git-deny-change-documents", "deny", ids] if {
	"~/Documents" in input.patterns["delete-path"]
	ids := input.within["delete-path"]["~/Documents"]
}

# METADATA
# title: git-ask-delete-in-downloads
# description: "Git tools may use a repository in Downloads only with approval, also to delete."
# custom: {"clause": "C23"}
matches contains [9, "git-ask-delete-in-downloads", "escalate", ids] if {
	"~/Downloads" in input.patterns["delete-path"]
	ids := input.within["delete-path"]["~/Downloads"]
}

# METADATA
# title: git-deny-delete-elsewhere
# description: "Nothing is deleted, or moved away, outside the sandbox and Downloads."
# custom: {"clause": "C10"}
matches contains [10, "git-deny-delete-elsewhere", "deny", ids] if {
	ids := input.roles["delete-path"]
}

# METADATA
# title: git-allow-session-note
# description: "These tools touch no repository but the one that git_set_working_dir was allowed to use."
# custom: {"clause": "C15"}
matches contains [11, "git-allow-session-note", "allow", ids] if {
	input.tool in {"git_clear_working_dir", "git_wrapup_instructions"}
	ids := matching.undischarged
}

# METADATA
# title: git-ask-force-push
# description: "A forced push, also within the sandbox."
# custom: {"clause": "C16"}
matches contains [12, "git-ask-force-push", "escalate", ids] if {
	input.tool == "git_push"
	input.args.force == true
	ids := matching.subjects
}

# METADATA
# title: git-ask-force-push-with-lease
# description: "A forced push with a lease, also within the sandbox."
# custom: {"clause": "C16"}
matches contains [13, "git-ask-force-push-with-lease", "escalate", ids] if {
	input.tool == "git_push"
	input.args.forceWithLease == true
	ids := matching.subjects
}

# METADATA
# title: git-ask-delete-remote-branch
# description: "A push that deletes a branch, also within the sandbox."
# custom: {"clause": "C16"}
matches contains [14, "git-ask-delete-remote-branch", "escalate", ids] if {
	input.tool == "git_push"
	input.args.delete == true
	ids := matching.subjects
}

# METADATA
# title: git-ask-contact-remote
# description: "Everything that contacts a remote, also one that lies within the sandbox."
# custom: {"clause": "C17"}
matches contains [15, "git-ask-contact-remote", "escalate", ids] if {
	input.tool in {"git_push", "git_pull", "git_fetch", "git_clone"}
	ids := matching.subjects
}

# METADATA
# title: git-ask-change-remotes
# description: "Changes of the remotes of a repository, also within the sandbox."
# custom: {"clause": "C18"}
matches contains [16, "git-ask-change-remotes", "escalate", ids] if {
	input.tool == "git_remote"
	input.args.mode in {"add", "set-url", "rename", "remove"}
	ids := matching.subjects
}

# METADATA
# title: git-ask-discard-by-checkout
# description: "Any checkout but that of a new branch may throw uncommitted work away."
# custom: {"clause": "C19"}
matches contains [17, "git-ask-discard-by-checkout", "escalate", ids] if {
	input.tool == "git_checkout"
	ids := input.roles["write-history"]
}

# METADATA
# title: git-ask-clean
# description: "Cleaning deletes files that nothing brings back, also within the sandbox; a dry run does not."
# custom: {"clause": "C19"}
matches contains [18, "git-ask-clean", "escalate", ids] if {
	input.tool == "git_clean"
	input.args.dryRun == false
	ids := matching.subjects
}

# METADATA
# title: git-ask-rewrite-history
# description: "The sandbox never excuses the rewriting of history."
# custom: {"clause": "C20"}
matches contains [19, "git-ask-rewrite-history", "escalate", ids] if {
	ids := input.roles["write-history"]
}

# METADATA
# title: git-ask-delete-history
# description: "The sandbox never excuses the deletion of branches, tags and stashes."
# custom: {"clause": "C21"}
matches contains [20, "git-ask-delete-history", "escalate", ids] if {
	ids := input.roles["delete-history"]
}

# METADATA
# title: git-ask-change-worktrees
# description: "Changes of the work trees of a repository, also within the sandbox."
# custom: {"clause": "C22"}
matches contains [21, "git-ask-change-worktrees", "escalate", ids] if {
	input.tool == "git_worktree"
	input.args.mode in {"add", "move", "remove", "prune"}
	ids := matching.subjects
}

# METADATA
# title: git-ask-outside-sandbox
# description: "Git tools work in the sandbox; elsewhere a person decides."
# custom: {"clause": "C23"}
matches contains [22, "git-ask-outside-sandbox", "escalate", ids] if {
	ids := input.roles["read-path"]
}

matches contains [22, "git-ask-outside-sandbox", "escalate", ids] if {
	ids := input.roles["write-path"]
}
