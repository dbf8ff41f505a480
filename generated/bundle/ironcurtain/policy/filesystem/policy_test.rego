# METADATA
# title: "Scenarios of filesystem"
# description: Generated from the scenarios; do not edit.
package ironcurtain.policy.filesystem_test

import data.ironcurtain.decision

# METADATA
# title: "read-in-sandbox"
# description: "The sandbox is the agent's own."
test_allow_read_in_sandbox if {
	answer := decision.decision with input as {
		"args": {"path": "/home/user/sandbox/notes.txt"},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/notes.txt",
		}},
		"tool": "read_text_file",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "write-in-sandbox"
# description: "The sandbox is the agent's own."
test_allow_write_in_sandbox if {
	answer := decision.decision with input as {
		"args": {"content": "hello", "path": "/home/user/sandbox/notes.txt"},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"write-path": {"0000": true}}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "write-path",
			"value": "/home/user/sandbox/notes.txt",
		}},
		"tool": "write_file",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "read-outside"
# description: "A person decides what is read elsewhere."
test_escalate_read_outside if {
	answer := decision.decision with input as {
		"args": {"path": "/etc/hosts"},
		"caller": {},
		"patterns": {},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": false, "role": "read-path", "value": "/etc/hosts"}},
		"tool": "read_text_file",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "write-outside"
# description: "A person decides what is written elsewhere."
test_escalate_write_outside if {
	answer := decision.decision with input as {
		"args": {"content": "x", "path": "/home/user/.bashrc"},
		"caller": {},
		"patterns": {},
		"roles": {"write-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": false, "role": "write-path", "value": "/home/user/.bashrc"}},
		"tool": "write_file",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "delete-outside"
# description: "A move deletes its source."
test_deny_delete_outside if {
	answer := decision.decision with input as {
		"args": {"destination": "/home/user/sandbox/thesis.odt", "source": "/home/user/thesis.odt"},
		"caller": {},
		"patterns": {},
		"roles": {"delete-path": {"0002": true}, "read-path": {"0001": true}},
		"sandboxed": {"patterns": {}, "roles": {"write-path": {"0000": true}}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/destination",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/thesis.odt",
			},
			"0001": {
				"at": "/source",
				"discharged": false,
				"role": "read-path",
				"value": "/home/user/thesis.odt",
			},
			"0002": {
				"at": "/source",
				"discharged": false,
				"role": "delete-path",
				"value": "/home/user/thesis.odt",
			},
		},
		"tool": "move_file",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "traversal-out-of-sandbox"
# description: "What counts is where the path leads."
test_escalate_traversal_out_of_sandbox if {
	answer := decision.decision with input as {
		"args": {"path": "/etc/passwd"},
		"caller": {},
		"patterns": {},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": false, "role": "read-path", "value": "/etc/passwd"}},
		"tool": "read_text_file",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "move-within-sandbox"
# description: "Both ends lie in the sandbox."
test_allow_move_within_sandbox if {
	answer := decision.decision with input as {
		"args": {"destination": "/home/user/sandbox/b.txt", "source": "/home/user/sandbox/a.txt"},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {
			"patterns": {},
			"roles": {
				"delete-path": {"0002": true},
				"read-path": {"0001": true},
				"write-path": {"0000": true},
			},
			"within": {},
		},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/destination",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/b.txt",
			},
			"0001": {
				"at": "/source",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/a.txt",
			},
			"0002": {
				"at": "/source",
				"discharged": true,
				"role": "delete-path",
				"value": "/home/user/sandbox/a.txt",
			},
		},
		"tool": "move_file",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "move-out-of-sandbox"
# description: "The destination is a write elsewhere."
test_escalate_move_out_of_sandbox if {
	answer := decision.decision with input as {
		"args": {"destination": "/home/user/a.txt", "source": "/home/user/sandbox/a.txt"},
		"caller": {},
		"patterns": {},
		"roles": {"write-path": {"0000": true}},
		"sandboxed": {
			"patterns": {},
			"roles": {"delete-path": {"0002": true}, "read-path": {"0001": true}},
			"within": {},
		},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/destination",
				"discharged": false,
				"role": "write-path",
				"value": "/home/user/a.txt",
			},
			"0001": {
				"at": "/source",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/a.txt",
			},
			"0002": {
				"at": "/source",
				"discharged": true,
				"role": "delete-path",
				"value": "/home/user/sandbox/a.txt",
			},
		},
		"tool": "move_file",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "move-downloads-to-sandbox"
# description: "Downloads may be read and deleted."
test_allow_move_downloads_to_sandbox if {
	answer := decision.decision with input as {
		"args": {"destination": "/home/user/sandbox/paper.pdf", "source": "/home/user/Downloads/paper.pdf"},
		"caller": {},
		"patterns": {"delete-path": ["~/Downloads"], "read-path": ["~/Downloads"]},
		"roles": {"delete-path": {"0002": true}, "read-path": {"0001": true}},
		"sandboxed": {"patterns": {}, "roles": {"write-path": {"0000": true}}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/destination",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/paper.pdf",
			},
			"0001": {
				"at": "/source",
				"discharged": false,
				"role": "read-path",
				"value": "/home/user/Downloads/paper.pdf",
			},
			"0002": {
				"at": "/source",
				"discharged": false,
				"role": "delete-path",
				"value": "/home/user/Downloads/paper.pdf",
			},
		},
		"tool": "move_file",
		"within": {
			"delete-path": {"~/Downloads": {"0002": true}},
			"read-path": {"~/Downloads": {"0001": true}},
		},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "list-allowed-folders"
# description: "It touches nothing."
test_allow_list_allowed_folders if {
	answer := decision.decision with input as {
		"args": {},
		"caller": {},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": false,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "list_allowed_directories",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "relative-path-in-sandbox"
# description: "Relative paths start in the sandbox."
test_allow_relative_path_in_sandbox if {
	answer := decision.decision with input as {
		"args": {"content": "x", "path": "/home/user/sandbox/drafts/a.txt"},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"write-path": {"0000": true}}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "write-path",
			"value": "/home/user/sandbox/drafts/a.txt",
		}},
		"tool": "write_file",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "relative-path-out-of-sandbox"
# description: "It leaves the sandbox."
test_escalate_relative_path_out_of_sandbox if {
	answer := decision.decision with input as {
		"args": {"content": "x", "path": "/home/user/a.txt"},
		"caller": {},
		"patterns": {},
		"roles": {"write-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": false, "role": "write-path", "value": "/home/user/a.txt"}},
		"tool": "write_file",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "symlink-out-of-sandbox"
# description: "The link leads to /etc."
test_escalate_symlink_out_of_sandbox if {
	answer := decision.decision with input as {
		"args": {"path": "/etc/passwd"},
		"caller": {},
		"patterns": {},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": false, "role": "read-path", "value": "/etc/passwd"}},
		"tool": "read_text_file",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "sibling-of-sandbox"
# description: "It only begins with the same letters."
test_escalate_sibling_of_sandbox if {
	answer := decision.decision with input as {
		"args": {"path": "/home/user/sandbox-old/a.txt"},
		"caller": {},
		"patterns": {},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "read-path",
			"value": "/home/user/sandbox-old/a.txt",
		}},
		"tool": "read_text_file",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "write-file-with-two-names"
# description: "Its other name may lie outside the sandbox."
test_escalate_write_file_with_two_names if {
	answer := decision.decision with input as {
		"args": {"content": "x", "path": "/home/user/sandbox/two-names"},
		"caller": {},
		"patterns": {},
		"roles": {"write-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "write-path",
			"value": "/home/user/sandbox/two-names",
		}},
		"tool": "write_file",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "read-file-with-two-names"
# description: "Reading it changes nothing elsewhere."
test_allow_read_file_with_two_names if {
	answer := decision.decision with input as {
		"args": {"path": "/home/user/sandbox/two-names"},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "read-path",
			"value": "/home/user/sandbox/two-names",
		}},
		"tool": "read_text_file",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "beside-protected"
# description: "It is another folder."
test_escalate_beside_protected if {
	answer := decision.decision with input as {
		"args": {"path": "/home/user/.ironcurtain2/a"},
		"caller": {},
		"patterns": {},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "read-path",
			"value": "/home/user/.ironcurtain2/a",
		}},
		"tool": "read_text_file",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "tree-in-sandbox"
# description: "The whole tree is the agent's own."
test_allow_tree_in_sandbox if {
	answer := decision.decision with input as {
		"args": {"excludePatterns": [], "path": "/home/user/sandbox"},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": true, "role": "read-path", "value": "/home/user/sandbox"}},
		"tool": "directory_tree",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "search-in-sandbox"
# description: "The whole tree is the agent's own."
test_allow_search_in_sandbox if {
	answer := decision.decision with input as {
		"args": {"excludePatterns": [], "path": "/home/user/sandbox", "pattern": "**/*.md"},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": true, "role": "read-path", "value": "/home/user/sandbox"}},
		"tool": "search_files",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}

# METADATA
# title: "read-downloads"
# description: "Downloads may be read."
test_allow_read_downloads if {
	answer := decision.decision with input as {
		"args": {"path": "/home/user/Downloads/paper.txt"},
		"caller": {},
		"patterns": {"read-path": ["~/Downloads"]},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "read-path",
			"value": "/home/user/Downloads/paper.txt",
		}},
		"tool": "read_text_file",
		"within": {"read-path": {"~/Downloads": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "read-media-downloads"
# description: "Downloads may be read."
test_allow_read_media_downloads if {
	answer := decision.decision with input as {
		"args": {"path": "/home/user/Downloads/photo.png"},
		"caller": {},
		"patterns": {"read-path": ["~/Downloads"]},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "read-path",
			"value": "/home/user/Downloads/photo.png",
		}},
		"tool": "read_media_file",
		"within": {"read-path": {"~/Downloads": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "list-downloads"
# description: "Downloads may be read."
test_allow_list_downloads if {
	answer := decision.decision with input as {
		"args": {"path": "/home/user/Downloads", "sortBy": "size"},
		"caller": {},
		"patterns": {"read-path": ["~/Downloads"]},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "read-path",
			"value": "/home/user/Downloads",
		}},
		"tool": "list_directory_with_sizes",
		"within": {"read-path": {"~/Downloads": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "write-downloads"
# description: "Downloads may be written."
test_allow_write_downloads if {
	answer := decision.decision with input as {
		"args": {"content": "a,b", "path": "/home/user/Downloads/out.csv"},
		"caller": {},
		"patterns": {"write-path": ["~/Downloads"]},
		"roles": {"write-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "write-path",
			"value": "/home/user/Downloads/out.csv",
		}},
		"tool": "write_file",
		"within": {"write-path": {"~/Downloads": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "create-folder-in-downloads"
# description: "Downloads may be written."
test_allow_create_folder_in_downloads if {
	answer := decision.decision with input as {
		"args": {"path": "/home/user/Downloads/new/folder"},
		"caller": {},
		"patterns": {"write-path": ["~/Downloads"]},
		"roles": {"write-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "write-path",
			"value": "/home/user/Downloads/new/folder",
		}},
		"tool": "create_directory",
		"within": {"write-path": {"~/Downloads": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "rename-in-downloads"
# description: "Downloads may be written and deleted."
test_allow_rename_in_downloads if {
	answer := decision.decision with input as {
		"args": {"destination": "/home/user/Downloads/b", "source": "/home/user/Downloads/a"},
		"caller": {},
		"patterns": {
			"delete-path": ["~/Downloads"],
			"read-path": ["~/Downloads"],
			"write-path": ["~/Downloads"],
		},
		"roles": {"delete-path": {"0002": true}, "read-path": {"0001": true}, "write-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/destination",
				"discharged": false,
				"role": "write-path",
				"value": "/home/user/Downloads/b",
			},
			"0001": {
				"at": "/source",
				"discharged": false,
				"role": "read-path",
				"value": "/home/user/Downloads/a",
			},
			"0002": {
				"at": "/source",
				"discharged": false,
				"role": "delete-path",
				"value": "/home/user/Downloads/a",
			},
		},
		"tool": "move_file",
		"within": {
			"delete-path": {"~/Downloads": {"0002": true}},
			"read-path": {"~/Downloads": {"0001": true}},
			"write-path": {"~/Downloads": {"0000": true}},
		},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "link-from-downloads-to-documents"
# description: "The link leads to Documents."
test_deny_link_from_downloads_to_documents if {
	answer := decision.decision with input as {
		"args": {"content": "x", "path": "/home/user/Documents/a.txt"},
		"caller": {},
		"patterns": {"write-path": ["~/Documents"]},
		"roles": {"write-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "write-path",
			"value": "/home/user/Documents/a.txt",
		}},
		"tool": "write_file",
		"within": {"write-path": {"~/Documents": {"0000": true}}},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "read-documents"
# description: "Documents may be read."
test_allow_read_documents if {
	answer := decision.decision with input as {
		"args": {"path": "/home/user/Documents/letter.txt"},
		"caller": {},
		"patterns": {"read-path": ["~/Documents"]},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "read-path",
			"value": "/home/user/Documents/letter.txt",
		}},
		"tool": "read_text_file",
		"within": {"read-path": {"~/Documents": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "info-documents"
# description: "Looking at a file is reading."
test_allow_info_documents if {
	answer := decision.decision with input as {
		"args": {"path": "/home/user/Documents/letter.txt"},
		"caller": {},
		"patterns": {"read-path": ["~/Documents"]},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "read-path",
			"value": "/home/user/Documents/letter.txt",
		}},
		"tool": "get_file_info",
		"within": {"read-path": {"~/Documents": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "search-documents"
# description: "Searching is reading."
test_allow_search_documents if {
	answer := decision.decision with input as {
		"args": {"excludePatterns": [], "path": "/home/user/Documents", "pattern": "*.txt"},
		"caller": {},
		"patterns": {"read-path": ["~/Documents"]},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "read-path",
			"value": "/home/user/Documents",
		}},
		"tool": "search_files",
		"within": {"read-path": {"~/Documents": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "write-documents"
# description: "Documents is read only."
test_deny_write_documents if {
	answer := decision.decision with input as {
		"args": {"content": "x", "path": "/home/user/Documents/letter.txt"},
		"caller": {},
		"patterns": {"write-path": ["~/Documents"]},
		"roles": {"write-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "write-path",
			"value": "/home/user/Documents/letter.txt",
		}},
		"tool": "write_file",
		"within": {"write-path": {"~/Documents": {"0000": true}}},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "create-folder-in-documents"
# description: "Documents is read only."
test_deny_create_folder_in_documents if {
	answer := decision.decision with input as {
		"args": {"path": "/home/user/Documents/new"},
		"caller": {},
		"patterns": {"write-path": ["~/Documents"]},
		"roles": {"write-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "write-path",
			"value": "/home/user/Documents/new",
		}},
		"tool": "create_directory",
		"within": {"write-path": {"~/Documents": {"0000": true}}},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "move-out-of-documents"
# description: "A move deletes its source."
test_deny_move_out_of_documents if {
	answer := decision.decision with input as {
		"args": {"destination": "/home/user/sandbox/letter.txt", "source": "/home/user/Documents/letter.txt"},
		"caller": {},
		"patterns": {"delete-path": ["~/Documents"], "read-path": ["~/Documents"]},
		"roles": {"delete-path": {"0002": true}, "read-path": {"0001": true}},
		"sandboxed": {"patterns": {}, "roles": {"write-path": {"0000": true}}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/destination",
				"discharged": true,
				"role": "write-path",
				"value": "/home/user/sandbox/letter.txt",
			},
			"0001": {
				"at": "/source",
				"discharged": false,
				"role": "read-path",
				"value": "/home/user/Documents/letter.txt",
			},
			"0002": {
				"at": "/source",
				"discharged": false,
				"role": "delete-path",
				"value": "/home/user/Documents/letter.txt",
			},
		},
		"tool": "move_file",
		"within": {
			"delete-path": {"~/Documents": {"0002": true}},
			"read-path": {"~/Documents": {"0001": true}},
		},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "move-downloads-to-documents"
# description: "The destination is a write in Documents."
test_deny_move_downloads_to_documents if {
	answer := decision.decision with input as {
		"args": {"destination": "/home/user/Documents/a.txt", "source": "/home/user/Downloads/a.txt"},
		"caller": {},
		"patterns": {
			"delete-path": ["~/Downloads"],
			"read-path": ["~/Downloads"],
			"write-path": ["~/Documents"],
		},
		"roles": {"delete-path": {"0002": true}, "read-path": {"0001": true}, "write-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/destination",
				"discharged": false,
				"role": "write-path",
				"value": "/home/user/Documents/a.txt",
			},
			"0001": {
				"at": "/source",
				"discharged": false,
				"role": "read-path",
				"value": "/home/user/Downloads/a.txt",
			},
			"0002": {
				"at": "/source",
				"discharged": false,
				"role": "delete-path",
				"value": "/home/user/Downloads/a.txt",
			},
		},
		"tool": "move_file",
		"within": {
			"delete-path": {"~/Downloads": {"0002": true}},
			"read-path": {"~/Downloads": {"0001": true}},
			"write-path": {"~/Documents": {"0000": true}},
		},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "beside-documents"
# description: "It only begins with the same letters."
test_escalate_beside_documents if {
	answer := decision.decision with input as {
		"args": {"path": "/home/user/Documents2/a.txt"},
		"caller": {},
		"patterns": {},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "read-path",
			"value": "/home/user/Documents2/a.txt",
		}},
		"tool": "read_text_file",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "edit-in-documents-dry-run"
# description: "A dry run only reads."
test_allow_edit_in_documents_dry_run if {
	answer := decision.decision with input as {
		"args": {
			"dryRun": true,
			"edits": [{"newText": "b", "oldText": "a"}],
			"path": "/home/user/Documents/letter.txt",
		},
		"caller": {},
		"patterns": {"read-path": ["~/Documents"]},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": false,
			"role": "read-path",
			"value": "/home/user/Documents/letter.txt",
		}},
		"tool": "edit_file",
		"within": {"read-path": {"~/Documents": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "edit-in-documents"
# description: "An edit writes."
test_deny_edit_in_documents if {
	answer := decision.decision with input as {
		"args": {
			"dryRun": false,
			"edits": [{"newText": "b", "oldText": "a"}],
			"path": "/home/user/Documents/letter.txt",
		},
		"caller": {},
		"patterns": {"read-path": ["~/Documents"], "write-path": ["~/Documents"]},
		"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": false,
				"role": "read-path",
				"value": "/home/user/Documents/letter.txt",
			},
			"0001": {
				"at": "/path",
				"discharged": false,
				"role": "write-path",
				"value": "/home/user/Documents/letter.txt",
			},
		},
		"tool": "edit_file",
		"within": {
			"read-path": {"~/Documents": {"0000": true}},
			"write-path": {"~/Documents": {"0001": true}},
		},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "edit-elsewhere-dry-run"
# description: "A dry run reads."
test_escalate_edit_elsewhere_dry_run if {
	answer := decision.decision with input as {
		"args": {"dryRun": true, "edits": [], "path": "/etc/hosts"},
		"caller": {},
		"patterns": {},
		"roles": {"read-path": {"0000": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {"at": "/path", "discharged": false, "role": "read-path", "value": "/etc/hosts"}},
		"tool": "edit_file",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "edit-in-downloads"
# description: "Without dryRun it reads and writes, both of which Downloads allows."
test_allow_edit_in_downloads if {
	answer := decision.decision with input as {
		"args": {
			"dryRun": false,
			"edits": [{"newText": "b", "oldText": "a"}],
			"path": "/home/user/Downloads/a.txt",
		},
		"caller": {},
		"patterns": {"read-path": ["~/Downloads"], "write-path": ["~/Downloads"]},
		"roles": {"read-path": {"0000": true}, "write-path": {"0001": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/path",
				"discharged": false,
				"role": "read-path",
				"value": "/home/user/Downloads/a.txt",
			},
			"0001": {
				"at": "/path",
				"discharged": false,
				"role": "write-path",
				"value": "/home/user/Downloads/a.txt",
			},
		},
		"tool": "edit_file",
		"within": {
			"read-path": {"~/Downloads": {"0000": true}},
			"write-path": {"~/Downloads": {"0001": true}},
		},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "read-several-allowed"
# description: "Each of them may be read."
test_allow_read_several_allowed if {
	answer := decision.decision with input as {
		"args": {"paths": ["/home/user/Downloads/a", "/home/user/Documents/b", "/home/user/sandbox/c"]},
		"caller": {},
		"patterns": {"read-path": ["~/Documents", "~/Downloads"]},
		"roles": {"read-path": {"0000": true, "0001": true}},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0002": true}}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/paths/0",
				"discharged": false,
				"role": "read-path",
				"value": "/home/user/Downloads/a",
			},
			"0001": {
				"at": "/paths/1",
				"discharged": false,
				"role": "read-path",
				"value": "/home/user/Documents/b",
			},
			"0002": {
				"at": "/paths/2",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/c",
			},
		},
		"tool": "read_multiple_files",
		"within": {"read-path": {"~/Documents": {"0001": true}, "~/Downloads": {"0000": true}}},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "read-several-one-elsewhere"
# description: "One allowed file excuses no other."
test_escalate_read_several_one_elsewhere if {
	answer := decision.decision with input as {
		"args": {"paths": ["/home/user/sandbox/a", "/etc/hosts"]},
		"caller": {},
		"patterns": {},
		"roles": {"read-path": {"0001": true}},
		"sandboxed": {"patterns": {}, "roles": {"read-path": {"0000": true}}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {
			"0000": {
				"at": "/paths/0",
				"discharged": true,
				"role": "read-path",
				"value": "/home/user/sandbox/a",
			},
			"0001": {"at": "/paths/1", "discharged": false, "role": "read-path", "value": "/etc/hosts"},
		},
		"tool": "read_multiple_files",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "path-in-content"
# description: "Content is not a path."
test_allow_path_in_content if {
	answer := decision.decision with input as {
		"args": {"content": "/etc/passwd", "path": "/home/user/sandbox/a"},
		"caller": {},
		"patterns": {},
		"roles": {},
		"sandboxed": {"patterns": {}, "roles": {"write-path": {"0000": true}}, "within": {}},
		"server": "filesystem",
		"side_effects": true,
		"subjects": {"0000": {
			"at": "/path",
			"discharged": true,
			"role": "write-path",
			"value": "/home/user/sandbox/a",
		}},
		"tool": "write_file",
		"within": {},
	}
	answer.verdict == "allow"
	answer.rule == "structural-sandbox-allow"
}
