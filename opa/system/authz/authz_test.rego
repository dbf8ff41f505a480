# METADATA
# title: Tests of system.authz
# scope: package
package system.authz_test

import data.system.authz

token := "the token of this start"

digest := crypto.sha256(token)

decision := ["v1", "data", "ironcurtain", "decision", "decision"]

allowed(request) := answer if {
	answer := authz.allow with input as request with data.system.engine.token_sha256 as digest
}

test_allow_decision_with_token if {
	allowed({"method": "POST", "path": decision, "identity": token}) == true
}

test_allow_health_without_token if {
	allowed({"method": "GET", "path": ["health"]}) == true
}

test_allow_health_with_token if {
	allowed({"method": "GET", "path": ["health"], "identity": token}) == true
}

test_deny_decision_without_token if {
	allowed({"method": "POST", "path": decision}) == false
}

test_deny_decision_with_another_token if {
	every wrong in ["", " ", "the token of another start", digest, concat("", [token, " "])] {
		allowed({"method": "POST", "path": decision, "identity": wrong}) == false
	}
}

test_deny_when_no_token_was_set if {
	authz.allow == false with input as {"method": "POST", "path": decision, "identity": token}
}

test_deny_other_requests if {
	every request in [
		{"method": "GET", "path": decision},
		{"method": "PUT", "path": decision},
		{"method": "PATCH", "path": decision},
		{"method": "DELETE", "path": decision},
		{"method": "POST", "path": []},
		{"method": "POST", "path": [""]},
		{"method": "POST", "path": ["health"]},
		{"method": "GET", "path": ["health", "live"]},
		{"method": "GET", "path": ["health", ""]},
		{"method": "GET", "path": ["metrics"]},
		{"method": "GET", "path": ["v1", "config"]},
		{"method": "GET", "path": ["v1", "data"]},
		{"method": "GET", "path": ["v1", "policies"]},
		{"method": "PUT", "path": ["v1", "policies", "evil"]},
		{"method": "PUT", "path": ["v1", "data", "ironcurtain"]},
		{"method": "POST", "path": ["v1", "query"]},
		{"method": "POST", "path": ["v1", "compile"]},
		{"method": "POST", "path": ["v0", "data", "ironcurtain", "decision", "decision"]},
		{"method": "POST", "path": ["v1", "data", "ironcurtain", "decision"]},
		{"method": "POST", "path": ["v1", "data", "system", "engine"]},
		{"method": "POST", "path": ["v1", "data", "ironcurtain", "decision", "decision", ""]},
		{"method": "POST", "path": ["v1", "data", "ironcurtain", "decision/decision"]},
		{"method": "POST", "path": ["v1", "batch", "data", "ironcurtain", "decision", "decision"]},
	] {
		allowed(object.union(request, {"identity": token})) == false
	}
}
