# METADATA
# title: Testing
# description: |
#   Builds policy inputs for tests that people write by hand, from values that are canonical already:
#   absolute paths; `https` and `ssh` URLs with a lower-case public host name that is no punycode, and no
#   port, escape, query or fragment; identifiers of visible ASCII characters without `%`. For anything else,
#   above all for what a call is refused for, `policy_input` is undefined, so the test fails. The home
#   directory is `/home/user`.
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
	regex.match(`^/$|^(/[^/\x00-\x1f\x7f-\x{9f}]+){1,128}$`, value)
	not regex.match(`/\.\.?(/|$)`, value)
	regex.match(`[!-~\p{L}\p{M}\p{N}\p{P}\p{S}]$`, value)
	not regex.match(_fillers, value)
	count(hex.encode(value)) <= 2 * 4096
}

_canonical("fetch-url", value) if {
	startswith(value, "https://")
	_public_url(value)
}

_canonical("git-remote-url", value) if {
	regex.match(`^(https|ssh)://`, value)
	_public_url(value)
}

_canonical("recipient", value) if {
	[local, domain] := split(value, "@")
	regex.match("^[a-z0-9#$&'*+/=?^_`{|}~.-]+$", local)
	not regex.match(`^[.-]|\.\.|\.$`, local)
	_domain(domain)
	count(value) <= _longest_identifier
}

_canonical("repository", value) if {
	regex.match(`^[a-z0-9._-]+/[a-z0-9._-]+$`, value)
	_components(value, "/")
	count(value) <= _longest_identifier
}

_canonical("remote-path", value) if {
	_plain(value)
	_components(value, "/")
	not regex.match(`\\|(^|/)\.\.?;`, value)
}

_canonical(role, value) if {
	_plain(value)
	some declared in _declared
	declared.name == role
	_folded(declared.case, value)
	_hierarchical(object.get(declared, "separator", null), value)
	_uri(role, value)
}

# METADATA
# description: "Characters that cannot be seen, though Unicode calls them letters or marks, at the end of a text."
_fillers := concat("", [
	`[\x{034F}\x{115F}\x{1160}\x{17B4}\x{17B5}\x{180B}-\x{180F}\x{3164}\x{FE00}-\x{FE0F}`,
	`\x{FFA0}\x{E0100}-\x{E01EF}]$`,
])

# METADATA
# description: "The most bytes of an identifier."
_longest_identifier := 1024

# METADATA
# description: "The host names of this machine and what surrounds it."
_local := concat("", [
	`(^|\.)(localhost|localdomain|local|internal|lan|home\.arpa|corp|svc|metadata\.goog`,
	`|metadata\.tencentyun\.com|metadata\.packet\.net|metadata\.platformequinix\.com`,
	`|api\.metadata\.cloud\.ibm\.com)$`,
])

# METADATA
# description: "The host is public, and the path without empty and dot segments."
_public_url(value) if {
	regex.match(`^[a-z]+://[^/]+(/[A-Za-z0-9._~-]+){0,64}/?$`, value)
	not regex.match(`/\.\.?(/|$)`, value)
	host := split(value, "/")[2]
	_domain(host)
	not regex.match(_local, host)
	count(value) <= 8192
}

# METADATA
# description: "The name of a host in more than one label, none of them punycode."
_domain(name) if {
	regex.match(`^([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z]{2,63}$`, name)
	not regex.match(`(^|\.)xn--`, name)
	count(name) <= 253
}

# METADATA
# description: "Visible ASCII characters and blanks between them, no more than an identifier may have."
_plain(value) if {
	regex.match(`^[!-~]([ -~]*[!-~])?$`, value)
	not contains(value, "%")
	count(value) <= _longest_identifier
}

# METADATA
# description: "Without a separator anything, else components that are none of `.`, `..` and blank at their ends."
# scope: document
_hierarchical(null, _)

_hierarchical(separator, value) if _components(value, separator)

# METADATA
# description: "The components of a value; between slashes none is empty."
_components(value, separator) if {
	every component in split(value, separator) {
		not component in {".", ".."}
		[separator, component] != ["/", ""]
		component == trim(component, " ")
	}
}

# METADATA
# description: "A URI of a resource, under its role: neither a file nor a web address, as it is written again."
# scope: document
_uri(role, _) if role != "resource-uri"

_uri("resource-uri", value) if {
	regex.match(`^[a-z][a-z0-9+.-]*:((//[A-Za-z0-9._~-]+)?(/[A-Za-z0-9._~!$&'()*+,;=:@-]+){0,64}/?|[^/?#]+)$`, value)
	regex.match(`^[A-Za-z0-9._~!$&'()*+,;=:@/-]+$`, value)
	not regex.match(`^(file|ftp|https?|wss?):|/\.\.?(;|/|$)`, value)
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
