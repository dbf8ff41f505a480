# METADATA
# title: Testing
# description: |
#   Builds policy inputs for tests that people write by hand, from values that are canonical already:
#   absolute paths, URLs with a lower-case public host name and no port, identifiers. For anything else
#   `policy_input` is undefined, so the test fails. The home directory is `/home/user`.
package ironcurtain.testing

# METADATA
# description: The home directory that `~` in patterns means in tests.
home := "/home/user"

# METADATA
# title: Policy input
# description: |
#   The input of a call `{server, tool, args?, caller?, side_effects?}` with the resources
#   `[{role, value, discharged?}]`; without resources the call has the one subject `call`.
policy_input(call, resources) := object.union(
	{
		"server": call.server,
		"tool": call.tool,
		"side_effects": object.get(call, "side_effects", true),
		"args": object.get(call, "args", {}),
		"caller": object.get(call, "caller", {}),
		"subjects": subjects,
		"sandboxed": _derived(subjects, true),
	},
	_derived(subjects, false),
) if {
	every resource in resources {
		_canonical(resource.role, resource.value)
	}
	subjects := _subjects(resources)
}

# METADATA
# description: "The subjects of a call, by id in the order of its resources."
# scope: document
_subjects(resources) := {sprintf("%04d", [position]): subject |
	some position, resource in resources
	subject := {
		"role": resource.role,
		"at": sprintf("/%d", [position]),
		"value": resource.value,
		"discharged": object.get(resource, "discharged", false),
	}
} if {
	count(resources) > 0
}

_subjects([]) := {"call": {"role": "none", "at": "", "value": "call", "discharged": false}}

# METADATA
# description: "What preparation derives of the subjects that are discharged, or of the others."
_derived(subjects, discharged) := {
	"roles": {role: ids |
		some role in roles
		ids := {id: true | some id, subject in chosen; subject.role == role}
	},
	"patterns": {role: sort([pattern | some pattern, _ in found]) | some role, found in within},
	"within": within,
} if {
	chosen := {id: subject | some id, subject in subjects; subject.discharged == discharged}
	roles := {subject.role | some subject in chosen}
	within := {role: found |
		some role in roles
		found := {pattern: ids |
			some pattern in _patterns(role)
			ids := {id: true |
				some id, subject in chosen
				subject.role == role
				_covers(role, pattern, subject.value)
			}
			count(ids) > 0
		}
		count(found) > 0
	}
}

# METADATA
# description: "The roles whose values are paths."
_path_roles := {"read-path", "write-path", "delete-path", "write-history", "delete-history"}

# METADATA
# description: "The roles whose values are URLs."
_url_roles := {"fetch-url", "git-remote-url"}

# METADATA
# description: "The kind of patterns that a role is covered by; a role of the project is a kind of its own."
# scope: document
_kind(role) := "path" if role in _path_roles

_kind(role) := "url" if role in _url_roles

_kind(role) := role if {
	not role in _path_roles
	not role in _url_roles
	role != "none"
}

# METADATA
# description: "The patterns of a role that the bundle names, lists among them."
_patterns(role) := _named(_kind(role)) | {name |
	# regal ignore:unresolved-reference
	some list, content in data.ironcurtain.lists
	_list_kind(content.type) == _kind(role)
	name := sprintf("@%s", [list])
}

# METADATA
# description: "The patterns of a kind that rules name."
_named(kind) := {pattern |
	# regal ignore:unresolved-reference
	some pattern in data.ironcurtain.patterns.named[kind]
}

# METADATA
# description: "The kind of patterns that a list of a type holds."
# scope: document
_list_kind("domain") := "url"

_list_kind(type) := type if type != "domain"

# METADATA
# description: "The value is in canonical form already."
# scope: document
_canonical(role, value) if {
	_kind(role) == "path"
	regex.match(`^/$|^(/[^/\x00-\x1f\x7f]+)+$`, value)
	not regex.match(`/\.\.?(/|$)`, value)
}

_canonical(role, value) if {
	_kind(role) == "url"
	regex.match(`^(https|ssh)://([a-z0-9-]+\.)+[a-z]{2,}(/[A-Za-z0-9._~-]+)*/?$`, value)
	not regex.match(`/\.\.?(/|$)`, value)
	not regex.match(`^[a-z]+://[^/]*\.(local|localhost|internal|lan|arpa|corp|svc)(/|$)`, value)
}

_canonical("recipient", value) if {
	regex.match(`^[a-z0-9._+-]+@([a-z0-9-]+\.)+[a-z]{2,}$`, value)
}

_canonical("repository", value) if {
	regex.match(`^[a-z0-9._-]+/[a-z0-9._-]+$`, value)
	not regex.match(`(^|/)\.\.?(/|$)`, value)
}

_canonical("remote-path", value) if {
	regex.match(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`, value)
	not regex.match(`(^|/)\.\.?(/|$)`, value)
}

_canonical(role, value) if {
	regex.match(`^[A-Za-z0-9._/-]+$`, value)
	some declared in _declared
	declared.name == role
	_folded(declared.case, value)
}

# METADATA
# description: "The value is written in the case in which its role compares."
# scope: document
_folded("exact", _)

_folded("fold", value) if lower(value) == value

# METADATA
# description: "The roles that the project declares."
# scope: document
default _declared := []

# regal ignore:unresolved-reference
_declared := data.ironcurtain.annotations.roles
