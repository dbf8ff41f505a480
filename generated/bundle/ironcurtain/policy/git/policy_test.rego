# METADATA
# title: "Scenarios of git"
# description: Generated from the scenarios; do not edit.
package ironcurtain.policy.git_test

import data.ironcurtain.decision

# METADATA
# title: "git-status"
# description: "It only looks."
test_allow_git_status if {
	answer := decision.decision with input as {
		"args": {"includeUntracked": true, "path": "/home/user/sandbox/repo"},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_status",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-log"
# description: "It only looks."
test_allow_git_log if {
	answer := decision.decision with input as {
		"args": {
			"maxCount": 5,
			"oneline": false,
			"patch": true,
			"path": "/home/user/sandbox/repo",
			"showSignature": false,
			"stat": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_log",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-diff"
# description: "It only looks."
test_allow_git_diff if {
	answer := decision.decision with input as {
		"args": {
			"autoExclude": true,
			"contextLines": 3,
			"includeUntracked": false,
			"nameOnly": false,
			"path": "/home/user/sandbox/repo",
			"staged": true,
			"stat": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_diff",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-add"
# description: "Staging is free in the sandbox."
test_allow_git_add if {
	answer := decision.decision with input as {
		"args": {
			"all": false,
			"force": false,
			"path": "/home/user/sandbox/repo",
			"paths": ["/home/user/sandbox/repo/src/a.py"],
			"update": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true, "0002": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/paths/0",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo/src/a.py",
			},
		},
		"tool": "git_add",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-commit"
# description: "Committing is free in the sandbox."
test_allow_git_commit if {
	answer := decision.decision with input as {
		"args": {
			"allowEmpty": false,
			"amend": false,
			"message": "Add a",
			"noVerify": false,
			"path": "/home/user/sandbox/repo",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_commit",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-push"
# description: "It contacts another computer."
test_escalate_git_push if {
	answer := decision.decision with input as {
		"args": {
			"branch": "main",
			"confirmed": false,
			"delete": false,
			"dryRun": false,
			"force": false,
			"forceWithLease": false,
			"path": "/home/user/sandbox/repo",
			"remote": "origin",
			"setUpstream": false,
			"tags": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {"git-remote-url": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/remote",
				"discharged": false,
				"role": "git-remote-url",
				"value": "git@github.com:u/r.git",
			},
		},
		"tool": "git_push",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-pull"
# description: "It contacts another computer."
test_escalate_git_pull if {
	answer := decision.decision with input as {
		"args": {
			"fastForwardOnly": false,
			"path": "/home/user/sandbox/repo",
			"rebase": false,
			"remote": "origin",
		},
		"caller": {},
		"patterns": {},
		"roles": {"git-remote-url": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/remote",
				"discharged": false,
				"role": "git-remote-url",
				"value": "git@github.com:u/r.git",
			},
		},
		"tool": "git_pull",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-reset"
# description: "It rewrites history."
test_escalate_git_reset if {
	answer := decision.decision with input as {
		"args": {"confirmed": false, "mode": "hard", "path": "/home/user/sandbox/repo", "target": "HEAD~1"},
		"caller": {},
		"patterns": {},
		"roles": {"write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_reset",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-merge"
# description: "It rewrites history."
test_escalate_git_merge if {
	answer := decision.decision with input as {
		"args": {
			"abort": false,
			"branch": "feature",
			"noFastForward": false,
			"path": "/home/user/sandbox/repo",
			"squash": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {"write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_merge",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-branch-delete"
# description: "It deletes a branch."
test_escalate_git_branch_delete if {
	answer := decision.decision with input as {
		"args": {
			"all": false,
			"branchName": "feature",
			"force": false,
			"mode": "delete",
			"path": "/home/user/sandbox/repo",
			"remote": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {"delete-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "delete-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_branch",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-status-default-path"
# description: "Without a path it is the working directory, which is the sandbox."
test_allow_git_status_default_path if {
	answer := decision.decision with input as {
		"args": {"includeUntracked": true, "path": "/home/user/sandbox"},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": true, "role": "read-path", "value": "/home/user/sandbox"}},
		"tool": "git_status",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-show-file"
# description: "It only looks."
test_allow_git_show_file if {
	answer := decision.decision with input as {
		"args": {"filePath": "src/a.py", "object": "HEAD", "path": "/home/user/sandbox/repo", "stat": false},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_show",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-blame"
# description: "It only looks."
test_allow_git_blame if {
	answer := decision.decision with input as {
		"args": {
			"filePath": "/home/user/sandbox/repo/src/a.py",
			"ignoreWhitespace": false,
			"path": "/home/user/sandbox/repo",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true, "0001": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/filePath",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo/src/a.py",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_blame",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-blame-outside"
# description: "The file lies outside the sandbox."
test_escalate_git_blame_outside if {
	answer := decision.decision with input as {
		"args": {
			"filePath": "/home/user/Documents/a.py",
			"ignoreWhitespace": false,
			"path": "/home/user/sandbox/repo",
		},
		"caller": {},
		"patterns": {"read-path": ["~/Documents"]},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0001": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/filePath",
				"discharged": false,
				"role": "read-path",
				"value": "/home/user/Documents/a.py",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_blame",
		"within": {"read-path": {"~/Documents": {"0000": true}}},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-reflog"
# description: "It only looks."
test_allow_git_reflog if {
	answer := decision.decision with input as {
		"args": {"maxCount": 25, "path": "/home/user/sandbox/repo", "ref": "HEAD"},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_reflog",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-branch-list"
# description: "It only looks."
test_allow_git_branch_list if {
	answer := decision.decision with input as {
		"args": {
			"all": true,
			"force": false,
			"mode": "list",
			"path": "/home/user/sandbox/repo",
			"remote": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_branch",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-branch-default"
# description: "The default of mode is list."
test_allow_git_branch_default if {
	answer := decision.decision with input as {
		"args": {
			"all": false,
			"force": false,
			"mode": "list",
			"path": "/home/user/sandbox/repo",
			"remote": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_branch",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-tag-list"
# description: "The default of mode is list."
test_allow_git_tag_list if {
	answer := decision.decision with input as {
		"args": {"annotated": false, "force": false, "mode": "list", "path": "/home/user/sandbox/repo"},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_tag",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-tag-verify"
# description: "It only looks."
test_allow_git_tag_verify if {
	answer := decision.decision with input as {
		"args": {
			"annotated": false,
			"force": false,
			"mode": "verify",
			"path": "/home/user/sandbox/repo",
			"tagName": "v1.0",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_tag",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-stash-list"
# description: "It only looks."
test_allow_git_stash_list if {
	answer := decision.decision with input as {
		"args": {
			"includeUntracked": false,
			"keepIndex": false,
			"mode": "list",
			"path": "/home/user/sandbox/repo",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_stash",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-remote-list"
# description: "It reads the configuration and contacts nobody."
test_allow_git_remote_list if {
	answer := decision.decision with input as {
		"args": {"mode": "list", "path": "/home/user/sandbox/repo", "push": false},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_remote",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-remote-get-url"
# description: "It reads the configuration and contacts nobody."
test_allow_git_remote_get_url if {
	answer := decision.decision with input as {
		"args": {"mode": "get-url", "name": "origin", "path": "/home/user/sandbox/local", "push": false},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/local",
		}},
		"tool": "git_remote",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-worktree-list"
# description: "The default of mode is list, which ignores the other path."
test_allow_git_worktree_list if {
	answer := decision.decision with input as {
		"args": {
			"detach": false,
			"dryRun": false,
			"force": false,
			"mode": "list",
			"path": "/home/user/sandbox/repo",
			"verbose": false,
			"worktreePath": "/home/user/sandbox/wt",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {
				"delete-path": {"0003": true},
				"read-path": {"0000": true, "0001": true},
				"write-path": {"0002": true},
			},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/worktreePath",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/wt",
			},
			"0002": {
				"at": "/worktreePath",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/wt",
			},
			"0003": {
				"at": "/worktreePath",
				"discharged": true,
				"role": "delete-path",
				"value": "/home/user/sandbox/wt",
			},
		},
		"tool": "git_worktree",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-changelog"
# description: "It only looks."
test_allow_git_changelog if {
	answer := decision.decision with input as {
		"args": {
			"maxCommits": 200,
			"maxTags": 100,
			"path": "/home/user/sandbox/repo",
			"reviewTypes": ["security"],
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_changelog_analyze",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-clean-dry-run"
# description: "A dry run only looks."
test_allow_git_clean_dry_run if {
	answer := decision.decision with input as {
		"args": {
			"directories": true,
			"dryRun": true,
			"force": false,
			"ignored": false,
			"path": "/home/user/sandbox/repo",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_clean",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-diff-branches"
# description: "It only looks."
test_allow_git_diff_branches if {
	answer := decision.decision with input as {
		"args": {
			"autoExclude": true,
			"contextLines": 3,
			"includeUntracked": false,
			"nameOnly": false,
			"path": "/home/user/sandbox/repo",
			"source": "main",
			"staged": false,
			"stat": false,
			"target": "feature",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_diff",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-diff-paths-outside"
# description: "Git compares files outside the work tree too."
test_escalate_git_diff_paths_outside if {
	answer := decision.decision with input as {
		"args": {
			"autoExclude": true,
			"contextLines": 3,
			"includeUntracked": false,
			"nameOnly": false,
			"path": "/home/user/sandbox/repo",
			"paths": ["/dev/null", "/etc/passwd"],
			"staged": false,
			"stat": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {"read-path": {"0001": true, "0002": true}},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {"at": "/paths/0", "discharged": false, "role": "read-path", "value": "/dev/null"},
			"0002": {"at": "/paths/1", "discharged": false, "role": "read-path", "value": "/etc/passwd"},
		},
		"tool": "git_diff",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-add-everything"
# description: "Staging is free in the sandbox."
test_allow_git_add_everything if {
	answer := decision.decision with input as {
		"args": {
			"all": true,
			"force": false,
			"path": "/home/user/sandbox/repo",
			"paths": [],
			"update": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_add",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-add-outside"
# description: "The file lies outside the sandbox."
test_escalate_git_add_outside if {
	answer := decision.decision with input as {
		"args": {
			"all": false,
			"force": false,
			"path": "/home/user/sandbox/repo",
			"paths": ["/etc/passwd"],
			"update": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {"read-path": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {"at": "/paths/0", "discharged": false, "role": "read-path", "value": "/etc/passwd"},
		},
		"tool": "git_add",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-commit-and-stage"
# description: "Staging and committing are free in the sandbox."
test_allow_git_commit_and_stage if {
	answer := decision.decision with input as {
		"args": {
			"allowEmpty": false,
			"amend": false,
			"filesToStage": ["/home/user/sandbox/repo/src/a.py"],
			"message": "Add a",
			"noVerify": false,
			"path": "/home/user/sandbox/repo",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true, "0001": true}, "write-path": {"0002": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/filesToStage/0",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo/src/a.py",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_commit",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-init"
# description: "A new repository in the sandbox."
test_allow_git_init if {
	answer := decision.decision with input as {
		"args": {"bare": false, "path": "/home/user/sandbox/new"},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"write-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "write-path",
			"value": "/home/user/sandbox/new",
		}},
		"tool": "git_init",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-branch-create"
# description: "A new branch loses nothing."
test_allow_git_branch_create if {
	answer := decision.decision with input as {
		"args": {
			"all": false,
			"branchName": "feature",
			"force": false,
			"mode": "create",
			"path": "/home/user/sandbox/repo",
			"remote": false,
			"startPoint": "HEAD~1",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_branch",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-checkout-new-branch"
# description: "A new branch loses nothing."
test_allow_git_checkout_new_branch if {
	answer := decision.decision with input as {
		"args": {
			"createBranch": true,
			"force": false,
			"path": "/home/user/sandbox/repo",
			"target": "feature",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_checkout",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-tag-create"
# description: "A new tag loses nothing."
test_allow_git_tag_create if {
	answer := decision.decision with input as {
		"args": {
			"annotated": false,
			"force": false,
			"message": "First",
			"mode": "create",
			"path": "/home/user/sandbox/repo",
			"tagName": "v1.0",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_tag",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-stash-push"
# description: "The default of mode is push, which puts changes aside."
test_allow_git_stash_push if {
	answer := decision.decision with input as {
		"args": {
			"includeUntracked": false,
			"keepIndex": false,
			"mode": "push",
			"path": "/home/user/sandbox/repo",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_stash",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-stash-pop"
# description: "The changes come back."
test_allow_git_stash_pop if {
	answer := decision.decision with input as {
		"args": {
			"includeUntracked": false,
			"keepIndex": false,
			"mode": "pop",
			"path": "/home/user/sandbox/repo",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_stash",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-set-working-dir"
# description: "It shows the state of a repository in the sandbox."
test_allow_git_set_working_dir if {
	answer := decision.decision with input as {
		"args": {"initializeIfNotPresent": false, "path": "/home/user/sandbox/repo", "validateGitRepo": true},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/repo",
		}},
		"tool": "git_set_working_dir",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "git-clear-working-dir"
# description: "Later calls name their repository all the same."
test_allow_git_clear_working_dir if {
	answer := decision.decision with input as {
		"args": {"confirm": "Y"},
		"caller": {},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "git_clear_working_dir",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "git-wrapup"
# description: "A checklist."
test_allow_git_wrapup if {
	answer := decision.decision with input as {
		"args": {"acknowledgement": "yes"},
		"caller": {},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "git",
		"side_effects": false,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "git_wrapup_instructions",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "git-push-force"
# description: "It overwrites what others pushed."
test_escalate_git_push_force if {
	answer := decision.decision with input as {
		"args": {
			"branch": "main",
			"confirmed": true,
			"delete": false,
			"dryRun": false,
			"force": true,
			"forceWithLease": false,
			"path": "/home/user/sandbox/repo",
			"remote": "origin",
			"setUpstream": false,
			"tags": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {"git-remote-url": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/remote",
				"discharged": false,
				"role": "git-remote-url",
				"value": "git@github.com:u/r.git",
			},
		},
		"tool": "git_push",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-push-force-with-lease"
# description: "It overwrites what others pushed."
test_escalate_git_push_force_with_lease if {
	answer := decision.decision with input as {
		"args": {
			"branch": "main",
			"confirmed": false,
			"delete": false,
			"dryRun": false,
			"force": false,
			"forceWithLease": true,
			"path": "/home/user/sandbox/repo",
			"remote": "origin",
			"setUpstream": false,
			"tags": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {"git-remote-url": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/remote",
				"discharged": false,
				"role": "git-remote-url",
				"value": "git@github.com:u/r.git",
			},
		},
		"tool": "git_push",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-push-delete"
# description: "It deletes a branch on another computer."
test_escalate_git_push_delete if {
	answer := decision.decision with input as {
		"args": {
			"confirmed": false,
			"delete": true,
			"dryRun": false,
			"force": false,
			"forceWithLease": false,
			"path": "/home/user/sandbox/repo",
			"remote": "origin",
			"remoteBranch": "feature",
			"setUpstream": false,
			"tags": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {"git-remote-url": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/remote",
				"discharged": false,
				"role": "git-remote-url",
				"value": "git@github.com:u/r.git",
			},
		},
		"tool": "git_push",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-fetch"
# description: "It contacts another computer."
test_escalate_git_fetch if {
	answer := decision.decision with input as {
		"args": {"path": "/home/user/sandbox/repo", "prune": false, "remote": "origin", "tags": false},
		"caller": {},
		"patterns": {},
		"roles": {"git-remote-url": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/remote",
				"discharged": false,
				"role": "git-remote-url",
				"value": "git@github.com:u/r.git",
			},
		},
		"tool": "git_fetch",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-fetch-prune"
# description: "It contacts another computer."
test_escalate_git_fetch_prune if {
	answer := decision.decision with input as {
		"args": {"path": "/home/user/sandbox/repo", "prune": true, "remote": "origin", "tags": false},
		"caller": {},
		"patterns": {},
		"roles": {"delete-history": {"0002": true}, "git-remote-url": {"0003": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "delete-history",
				"value": "/home/user/sandbox/repo",
			},
			"0003": {
				"at": "/remote",
				"discharged": false,
				"role": "git-remote-url",
				"value": "git@github.com:u/r.git",
			},
		},
		"tool": "git_fetch",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-pull-rebase"
# description: "It contacts another computer."
test_escalate_git_pull_rebase if {
	answer := decision.decision with input as {
		"args": {
			"fastForwardOnly": false,
			"path": "/home/user/sandbox/repo",
			"rebase": true,
			"remote": "origin",
		},
		"caller": {},
		"patterns": {},
		"roles": {"git-remote-url": {"0003": true}, "write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
			"0003": {
				"at": "/remote",
				"discharged": false,
				"role": "git-remote-url",
				"value": "git@github.com:u/r.git",
			},
		},
		"tool": "git_pull",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-clone-known-host"
# description: "It contacts another computer."
test_escalate_git_clone_known_host if {
	answer := decision.decision with input as {
		"args": {
			"bare": false,
			"mirror": false,
			"path": "/home/user/sandbox/r",
			"url": "https://github.com/u/r.git",
		},
		"caller": {},
		"patterns": {},
		"roles": {"git-remote-url": {"0001": true}},
		"sandboxed": {"patterns": {}, "roles": {"write-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/r",
			},
			"0001": {
				"at": "/url",
				"discharged": false,
				"role": "git-remote-url",
				"value": "https://github.com/u/r.git",
			},
		},
		"tool": "git_clone",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-clone-over-ssh"
# description: "It contacts another computer."
test_escalate_git_clone_over_ssh if {
	answer := decision.decision with input as {
		"args": {
			"bare": false,
			"mirror": false,
			"path": "/home/user/sandbox/r",
			"url": "git@github.com:u/r.git",
		},
		"caller": {},
		"patterns": {},
		"roles": {"git-remote-url": {"0001": true}},
		"sandboxed": {"patterns": {}, "roles": {"write-path": {"0000": true}}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/r",
			},
			"0001": {
				"at": "/url",
				"discharged": false,
				"role": "git-remote-url",
				"value": "git@github.com:u/r.git",
			},
		},
		"tool": "git_clone",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-clone-into-documents"
# description: "Documents is read only."
test_deny_git_clone_into_documents if {
	answer := decision.decision with input as {
		"args": {
			"bare": false,
			"mirror": false,
			"path": "/home/user/Documents/r",
			"url": "https://github.com/u/r.git",
		},
		"caller": {},
		"patterns": {"write-path": ["~/Documents"]},
		"roles": {"git-remote-url": {"0001": true}, "write-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": false,
				"role": "write-path",
				"value": "/home/user/Documents/r",
			},
			"0001": {
				"at": "/url",
				"discharged": false,
				"role": "git-remote-url",
				"value": "https://github.com/u/r.git",
			},
		},
		"tool": "git_clone",
		"within": {"write-path": {"~/Documents": {"0000": true}}},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "git-clone-within-sandbox"
# description: "A clone needs approval wherever it comes from."
test_escalate_git_clone_within_sandbox if {
	answer := decision.decision with input as {
		"args": {
			"bare": false,
			"mirror": false,
			"path": "/home/user/sandbox/copy",
			"url": "/home/user/sandbox/repo",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0001": true}, "write-path": {"0000": true, "0002": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/copy",
			},
			"0001": {
				"at": "/url",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/url",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_clone",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-remote-add"
# description: "It changes where pushes can go."
test_escalate_git_remote_add if {
	answer := decision.decision with input as {
		"args": {
			"mode": "add",
			"name": "fork",
			"path": "/home/user/sandbox/repo",
			"push": false,
			"url": "https://github.com/v/r.git",
		},
		"caller": {},
		"patterns": {},
		"roles": {"git-remote-url": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/url",
				"discharged": false,
				"role": "git-remote-url",
				"value": "https://github.com/v/r.git",
			},
		},
		"tool": "git_remote",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-remote-remove"
# description: "It changes the remotes."
test_escalate_git_remote_remove if {
	answer := decision.decision with input as {
		"args": {"mode": "remove", "name": "origin", "path": "/home/user/sandbox/repo", "push": false},
		"caller": {},
		"patterns": {},
		"roles": {"delete-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "delete-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_remote",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-remote-rename"
# description: "It changes the remotes."
test_escalate_git_remote_rename if {
	answer := decision.decision with input as {
		"args": {
			"mode": "rename",
			"name": "origin",
			"newName": "old",
			"path": "/home/user/sandbox/repo",
			"push": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_remote",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-reset-paths"
# description: "Every reset needs approval."
test_escalate_git_reset_paths if {
	answer := decision.decision with input as {
		"args": {
			"confirmed": false,
			"mode": "mixed",
			"path": "/home/user/sandbox/repo",
			"paths": ["/home/user/sandbox/repo/src/a.py"],
			"target": "HEAD",
		},
		"caller": {},
		"patterns": {},
		"roles": {"write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true, "0003": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
			"0003": {
				"at": "/paths/0",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo/src/a.py",
			},
		},
		"tool": "git_reset",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-rebase"
# description: "It rewrites history."
test_escalate_git_rebase if {
	answer := decision.decision with input as {
		"args": {
			"interactive": false,
			"mode": "start",
			"path": "/home/user/sandbox/repo",
			"preserve": false,
			"upstream": "main",
		},
		"caller": {},
		"patterns": {},
		"roles": {"write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_rebase",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-rebase-abort"
# description: "It throws work away."
test_escalate_git_rebase_abort if {
	answer := decision.decision with input as {
		"args": {"interactive": false, "mode": "abort", "path": "/home/user/sandbox/repo", "preserve": false},
		"caller": {},
		"patterns": {},
		"roles": {"write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_rebase",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-cherry-pick"
# description: "It rewrites history."
test_escalate_git_cherry_pick if {
	answer := decision.decision with input as {
		"args": {
			"abort": false,
			"commits": ["abc1234"],
			"continueOperation": false,
			"noCommit": false,
			"path": "/home/user/sandbox/repo",
			"signoff": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {"write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_cherry_pick",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-commit-amend"
# description: "It replaces the last commit."
test_escalate_git_commit_amend if {
	answer := decision.decision with input as {
		"args": {
			"allowEmpty": false,
			"amend": true,
			"message": "Add a",
			"noVerify": false,
			"path": "/home/user/sandbox/repo",
		},
		"caller": {},
		"patterns": {},
		"roles": {"write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_commit",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-branch-rename"
# description: "It renames a branch."
test_escalate_git_branch_rename if {
	answer := decision.decision with input as {
		"args": {
			"all": false,
			"branchName": "a",
			"force": false,
			"mode": "rename",
			"newBranchName": "b",
			"path": "/home/user/sandbox/repo",
			"remote": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {"write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_branch",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-branch-create-force"
# description: "It moves an existing branch."
test_escalate_git_branch_create_force if {
	answer := decision.decision with input as {
		"args": {
			"all": false,
			"branchName": "main",
			"force": true,
			"mode": "create",
			"path": "/home/user/sandbox/repo",
			"remote": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {"delete-history": {"0003": true}, "write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
			"0003": {
				"at": "/path",
				"discharged": false,
				"role": "delete-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_branch",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-tag-force"
# description: "It moves an existing tag."
test_escalate_git_tag_force if {
	answer := decision.decision with input as {
		"args": {
			"annotated": false,
			"force": true,
			"mode": "create",
			"path": "/home/user/sandbox/repo",
			"tagName": "v1.0",
		},
		"caller": {},
		"patterns": {},
		"roles": {"delete-history": {"0003": true}, "write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
			"0003": {
				"at": "/path",
				"discharged": false,
				"role": "delete-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_tag",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-tag-delete"
# description: "It deletes a tag."
test_escalate_git_tag_delete if {
	answer := decision.decision with input as {
		"args": {
			"annotated": false,
			"force": false,
			"mode": "delete",
			"path": "/home/user/sandbox/repo",
			"tagName": "v1.0",
		},
		"caller": {},
		"patterns": {},
		"roles": {"delete-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "delete-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_tag",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-stash-drop"
# description: "It loses what was put aside."
test_escalate_git_stash_drop if {
	answer := decision.decision with input as {
		"args": {
			"includeUntracked": false,
			"keepIndex": false,
			"mode": "drop",
			"path": "/home/user/sandbox/repo",
			"stashRef": "stash@{0}",
		},
		"caller": {},
		"patterns": {},
		"roles": {"delete-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "delete-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_stash",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-stash-clear"
# description: "It loses what was put aside."
test_escalate_git_stash_clear if {
	answer := decision.decision with input as {
		"args": {
			"includeUntracked": false,
			"keepIndex": false,
			"mode": "clear",
			"path": "/home/user/sandbox/repo",
		},
		"caller": {},
		"patterns": {},
		"roles": {"delete-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "delete-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_stash",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-checkout-branch"
# description: "Git restores a file if there is one of that name."
test_escalate_git_checkout_branch if {
	answer := decision.decision with input as {
		"args": {"createBranch": false, "force": false, "path": "/home/user/sandbox/repo", "target": "main"},
		"caller": {},
		"patterns": {},
		"roles": {"write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_checkout",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-checkout-everything"
# description: "It restores every file."
test_escalate_git_checkout_everything if {
	answer := decision.decision with input as {
		"args": {"createBranch": false, "force": false, "path": "/home/user/sandbox/repo", "target": "."},
		"caller": {},
		"patterns": {},
		"roles": {"write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_checkout",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-checkout-force"
# description: "It throws uncommitted work away."
test_escalate_git_checkout_force if {
	answer := decision.decision with input as {
		"args": {"createBranch": false, "force": true, "path": "/home/user/sandbox/repo", "target": "main"},
		"caller": {},
		"patterns": {},
		"roles": {"write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_checkout",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-checkout-paths"
# description: "It throws uncommitted work away."
test_escalate_git_checkout_paths if {
	answer := decision.decision with input as {
		"args": {
			"createBranch": false,
			"force": false,
			"path": "/home/user/sandbox/repo",
			"paths": ["/home/user/sandbox/repo/src/a.py"],
			"target": "HEAD",
		},
		"caller": {},
		"patterns": {},
		"roles": {"write-history": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true, "0003": true}, "write-path": {"0001": true, "0004": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/path",
				"discharged": false,
				"role": "write-history",
				"value": "/home/user/sandbox/repo",
			},
			"0003": {
				"at": "/paths/0",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo/src/a.py",
			},
			"0004": {
				"at": "/paths/0",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo/src/a.py",
			},
		},
		"tool": "git_checkout",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-clean-force"
# description: "Nothing brings untracked files back."
test_escalate_git_clean_force if {
	answer := decision.decision with input as {
		"args": {
			"directories": false,
			"dryRun": false,
			"force": true,
			"ignored": false,
			"path": "/home/user/sandbox/repo",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {"delete-path": {"0001": true}, "read-path": {"0000": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "delete-path",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_clean",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-clean-outside"
# description: "It deletes outside the sandbox."
test_deny_git_clean_outside if {
	answer := decision.decision with input as {
		"args": {
			"directories": false,
			"dryRun": false,
			"force": true,
			"ignored": false,
			"path": "/home/user/project",
		},
		"caller": {},
		"patterns": {},
		"roles": {"delete-path": {"0001": true}, "read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {"at": "/path", "discharged": false, "role": "read-path", "value": "/home/user/project"},
			"0001": {
				"at": "/path",
				"discharged": false,
				"role": "delete-path",
				"value": "/home/user/project",
			},
		},
		"tool": "git_clean",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "git-worktree-add"
# description: "A further work tree."
test_escalate_git_worktree_add if {
	answer := decision.decision with input as {
		"args": {
			"branch": "feature",
			"detach": false,
			"dryRun": false,
			"force": false,
			"mode": "add",
			"path": "/home/user/sandbox/repo",
			"verbose": false,
			"worktreePath": "/home/user/sandbox/wt",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true, "0002": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/worktreePath",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/wt",
			},
		},
		"tool": "git_worktree",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-worktree-remove"
# description: "It removes a work tree."
test_escalate_git_worktree_remove if {
	answer := decision.decision with input as {
		"args": {
			"detach": false,
			"dryRun": false,
			"force": false,
			"mode": "remove",
			"path": "/home/user/sandbox/repo",
			"verbose": false,
			"worktreePath": "/home/user/sandbox/wt",
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {
				"delete-path": {"0002": true},
				"read-path": {"0000": true},
				"write-path": {"0001": true},
			},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/worktreePath",
				"discharged": true,
				"role": "delete-path",
				"value": "/home/user/sandbox/wt",
			},
		},
		"tool": "git_worktree",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-worktree-remove-outside"
# description: "It deletes outside the sandbox."
test_deny_git_worktree_remove_outside if {
	answer := decision.decision with input as {
		"args": {
			"detach": false,
			"dryRun": false,
			"force": false,
			"mode": "remove",
			"path": "/home/user/sandbox/repo",
			"verbose": false,
			"worktreePath": "/home/user/wt",
		},
		"caller": {},
		"patterns": {},
		"roles": {"delete-path": {"0002": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
			"0002": {
				"at": "/worktreePath",
				"discharged": false,
				"role": "delete-path",
				"value": "/home/user/wt",
			},
		},
		"tool": "git_worktree",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "git-worktree-prune"
# description: "It changes the work trees."
test_escalate_git_worktree_prune if {
	answer := decision.decision with input as {
		"args": {
			"detach": false,
			"dryRun": false,
			"force": false,
			"mode": "prune",
			"path": "/home/user/sandbox/repo",
			"verbose": false,
		},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
			"within": {},
		},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/repo",
			},
			"0001": {
				"at": "/path",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/repo",
			},
		},
		"tool": "git_worktree",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-status-outside"
# description: "The repository lies outside the sandbox."
test_escalate_git_status_outside if {
	answer := decision.decision with input as {
		"args": {"includeUntracked": true, "path": "/home/user/project"},
		"caller": {},
		"patterns": {},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": false, "role": "read-path", "value": "/home/user/project"}},
		"tool": "git_status",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-commit-outside"
# description: "The repository lies outside the sandbox."
test_escalate_git_commit_outside if {
	answer := decision.decision with input as {
		"args": {
			"allowEmpty": false,
			"amend": false,
			"message": "x",
			"noVerify": false,
			"path": "/home/user/project",
		},
		"caller": {},
		"patterns": {},
		"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {"at": "/path", "discharged": false, "role": "read-path", "value": "/home/user/project"},
			"0001": {"at": "/path", "discharged": false, "role": "write-path", "value": "/home/user/project"},
		},
		"tool": "git_commit",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-status-documents"
# description: "Documents may be read by the file tools; a repository there needs approval."
test_escalate_git_status_documents if {
	answer := decision.decision with input as {
		"args": {"includeUntracked": true, "path": "/home/user/Documents/notes"},
		"caller": {},
		"patterns": {"read-path": ["~/Documents"]},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "read-path",
			"value": "/home/user/Documents/notes",
		}},
		"tool": "git_status",
		"within": {"read-path": {"~/Documents": {"0000": true}}},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-commit-documents"
# description: "Documents is read only."
test_deny_git_commit_documents if {
	answer := decision.decision with input as {
		"args": {
			"allowEmpty": false,
			"amend": false,
			"message": "x",
			"noVerify": false,
			"path": "/home/user/Documents/notes",
		},
		"caller": {},
		"patterns": {"read-path": ["~/Documents"], "write-path": ["~/Documents"]},
		"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": false,
				"role": "read-path",
				"value": "/home/user/Documents/notes",
			},
			"0001": {
				"at": "/path",
				"discharged": false,
				"role": "write-path",
				"value": "/home/user/Documents/notes",
			},
		},
		"tool": "git_commit",
		"within": {
			"read-path": {"~/Documents": {"0000": true}},
			"write-path": {"~/Documents": {"0001": true}},
		},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "git-init-outside"
# description: "A repository outside the sandbox."
test_escalate_git_init_outside if {
	answer := decision.decision with input as {
		"args": {"bare": false, "path": "/home/user/project2"},
		"caller": {},
		"patterns": {},
		"roles": {"write-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "write-path",
			"value": "/home/user/project2",
		}},
		"tool": "git_init",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-clean-downloads"
# description: "Git tools need approval in Downloads too."
test_escalate_git_clean_downloads if {
	answer := decision.decision with input as {
		"args": {
			"directories": false,
			"dryRun": false,
			"force": true,
			"ignored": false,
			"path": "/home/user/Downloads/r",
		},
		"caller": {},
		"patterns": {"delete-path": ["~/Downloads"], "read-path": ["~/Downloads"]},
		"roles": {"delete-path": {"0001": true}, "read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": false,
				"role": "read-path",
				"value": "/home/user/Downloads/r",
			},
			"0001": {
				"at": "/path",
				"discharged": false,
				"role": "delete-path",
				"value": "/home/user/Downloads/r",
			},
		},
		"tool": "git_clean",
		"within": {
			"delete-path": {"~/Downloads": {"0001": true}},
			"read-path": {"~/Downloads": {"0000": true}},
		},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "git-set-working-dir-outside"
# description: "It shows the state of a repository outside the sandbox."
test_escalate_git_set_working_dir_outside if {
	answer := decision.decision with input as {
		"args": {"initializeIfNotPresent": false, "path": "/home/user/project", "validateGitRepo": true},
		"caller": {},
		"patterns": {},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "git",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": false, "role": "read-path", "value": "/home/user/project"}},
		"tool": "git_set_working_dir",
		"within": {},
	}
	answer.verdict == "escalate"
}
