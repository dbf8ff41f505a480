# Which values a pattern covers, for the inputs of hand-written tests.
package ironcurtain.testing

# METADATA
# description: "A pattern, or a member of the list that it names, covers a value of the role."
# scope: document
_covers(role, pattern, value) if _covers_one(_kind(role), pattern, _compared(role, value))

_covers(role, pattern, value) if {
	startswith(pattern, "@")

	# regal ignore:unresolved-reference
	some member in data.ironcurtain.lists[substring(pattern, 1, -1)].values
	_covers_one(_kind(role), member, _compared(role, value))
}

# METADATA
# description: "What a pattern is compared with: remotes without `.git`, and folded where the host ignores case."
# scope: document
_compared(role, value) := value if _kind(role) != "url"

_compared("fetch-url", value) := _host_folded(value)

_compared("git-remote-url", value) := trim_suffix(_host_folded(trim_suffix(value, "/")), ".git")

# METADATA
# description: "A URL as patterns compare it."
# scope: document
_host_folded(value) := lower(value) if _folds(value)

_host_folded(value) := value if not _folds(value)

# METADATA
# description: "The host of a URL ignores case in paths."
_folds(value) if {
	# regal ignore:unresolved-reference
	split(value, "/")[2] in data.ironcurtain.patterns.case_insensitive_hosts
}

# METADATA
# description: "One pattern of a kind covers a value."
# scope: document
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

# METADATA
# description: "The directory that a path pattern names."
# scope: document
_directory("~") := home

_directory(pattern) := concat("", [home, substring(pattern, 1, -1)]) if startswith(pattern, "~/")

_directory(pattern) := pattern if startswith(pattern, "/")

# METADATA
# description: "The path is the directory or lies below it."
# scope: document
_is_below(directory, path) if path == directory

_is_below(directory, path) if startswith(path, concat("", [trim_suffix(directory, "/"), "/"]))

# METADATA
# description: "One host pattern covers a host."
# scope: document
_covers_host("*", _)

_covers_host(pattern, host) if pattern == host

_covers_host(pattern, host) if {
	startswith(pattern, "*.")
	_is_subdomain(substring(pattern, 2, -1), host)
}

# METADATA
# description: "The host is the domain or lies below it."
# scope: document
_is_subdomain(domain, host) if host == domain

_is_subdomain(domain, host) if endswith(host, concat("", [".", domain]))

# METADATA
# description: "An array starts with the members of another."
_begins(start, whole) if array.slice(whole, 0, count(start)) == start
