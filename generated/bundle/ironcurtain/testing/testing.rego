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

_path_roles := {"read-path", "write-path", "delete-path", "write-history", "delete-history"}

_url_roles := {"fetch-url", "git-remote-url"}

_kind(role) := "path" if role in _path_roles

_kind(role) := "url" if role in _url_roles

_kind(role) := role if {
	not role in _path_roles
	not role in _url_roles
	role != "none"
}

_patterns(role) := _named(_kind(role)) | {name |
	# regal ignore:unresolved-reference
	some list, content in data.ironcurtain.lists
	_list_kind(content.type) == _kind(role)
	name := sprintf("@%s", [list])
}

# regal ignore:unresolved-reference
_named(kind) := {pattern | some pattern in data.ironcurtain.patterns.named[kind]}

_list_kind("domain") := "url"

_list_kind(type) := type if type != "domain"

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
	some declared in _declared
	declared.name == role
	regex.match(`^[A-Za-z0-9._/-]+$`, value)
	_folded(declared.case, value)
}

_folded("exact", _)

_folded("fold", value) if lower(value) == value

default _declared := []

# regal ignore:unresolved-reference
_declared := data.ironcurtain.annotations.roles

_covers(role, pattern, value) if _covers_one(_kind(role), pattern, _compared(role, value))

_covers(role, pattern, value) if {
	startswith(pattern, "@")

	# regal ignore:unresolved-reference
	some member in data.ironcurtain.lists[substring(pattern, 1, -1)].values
	_covers_one(_kind(role), member, _compared(role, value))
}

# What a pattern is compared with: URLs without the `.git` of a remote, and folded where the host ignores case.
_compared(role, value) := value if _kind(role) != "url"

_compared("fetch-url", value) := _host_folded(value)

_compared("git-remote-url", value) := trim_suffix(_host_folded(trim_suffix(value, "/")), ".git")

_host_folded(value) := lower(value) if _folds(value)

_host_folded(value) := value if not _folds(value)

# regal ignore:unresolved-reference
_folds(value) if split(value, "/")[2] in data.ironcurtain.patterns.case_insensitive_hosts

_covers_one("path", pattern, value) if _is_below(_directory(pattern), value)

_covers_one("url", pattern, value) if {
	not regex.match(`://|:[0-9]+(/|$)`, pattern)
	parts := split(pattern, "/")
	segments := split(trim_suffix(split(value, "://")[1], "/"), "/")
	_covers_host(parts[0], segments[0])
	_begins(array.slice(parts, 1, count(parts)), array.slice(segments, 1, count(segments)))
}

_covers_one(kind, pattern, value) if {
	not kind in {"path", "url"}
	pattern == value
}

_covers_one("recipient", pattern, value) if {
	startswith(pattern, "*@")
	endswith(value, trim_prefix(pattern, "*"))
}

_covers_one("repository", pattern, value) if {
	endswith(pattern, "/*")
	startswith(value, trim_suffix(pattern, "*"))
}

_covers_one(kind, pattern, value) if {
	not kind in {"path", "url", "recipient", "repository"}
	endswith(pattern, "**")
	startswith(value, trim_suffix(pattern, "**"))
}

_directory("~") := home

_directory(pattern) := concat("", [home, substring(pattern, 1, -1)]) if startswith(pattern, "~/")

_directory(pattern) := pattern if startswith(pattern, "/")

_is_below(directory, directory)

_is_below(directory, path) if startswith(path, concat("", [trim_suffix(directory, "/"), "/"]))

_covers_host("*", _)

_covers_host(host, host)

_covers_host(pattern, host) if {
	startswith(pattern, "*.")
	_is_subdomain(substring(pattern, 2, -1), host)
}

_is_subdomain(domain, domain)

_is_subdomain(domain, host) if endswith(host, concat("", [".", domain]))

_begins(start, whole) if array.slice(whole, 0, count(start)) == start
