package ironcurtain.matching_test

import data.ironcurtain.matching

_input := {
	"subjects": {
		"0000": {"role": "read-path", "discharged": false},
		"0001": {"role": "read-path", "discharged": false},
		"0002": {"role": "read-path", "discharged": true},
	},
	"roles": {"read-path": {"0000": true, "0001": true}},
	"within": {"read-path": {"/a": {"0000": true}, "/b": {"0001": true}}},
	"sandboxed": {"roles": {"read-path": {"0002": true}}, "within": {"read-path": {"/c": {"0002": true}}}},
}

test_allow_subjects_by_discharge if {
	matching.undischarged == {"0000": true, "0001": true} with input as _input
	matching.subjects == {"0000": true, "0001": true, "0002": true} with input as _input
}

test_allow_guards_over_any_of_the_patterns if {
	matching.every_covered({"read-path"}, {"/a", "/b"}) with input as _input
	not matching.every_covered({"read-path"}, {"/a"}) with input as _input
	not matching.every_covered_anywhere({"read-path"}, {"/a", "/b"}) with input as _input
	matching.every_covered_anywhere({"read-path"}, {"/a", "/b", "/c"}) with input as _input
	matching.some_covered({"read-path"}, {"/b"}) with input as _input
	not matching.some_covered({"read-path"}, {"/c"}) with input as _input
	matching.some_covered_anywhere({"read-path"}, {"/c"}) with input as _input
}

test_deny_guards_over_no_subject if {
	not matching.every_covered({"recipient"}, {"@x"}) with input as _input
	matching.none_or_every_covered({"recipient"}, {"@x"}) with input as _input
	not matching.some_subject({"recipient"}) with input as _input
}

test_deny_comparisons_across_types if {
	across := {[null, 50], [true, 50], ["1", 50], [[], 50], [{}, 50]}
	operators := {"lt", "le", "gt", "ge", "equals", "not_equals"}
	holding := {[value, op] |
		some [value, bound] in across
		some op in operators
		matching.satisfies(value, {"op": op, "value": bound})
	}
	holding == set()
}

test_deny_elements_of_what_is_no_array if {
	test := {"op": "not_equals", "value": "x"}
	not matching.every_element({"a": "y"}, [], test)
	not matching.every_element([], [], test)
	not matching.some_element("y", [], test)
	matching.every_element(["y", "z"], [], test)
	not matching.every_element(["y", "x"], [], test)
	matching.some_element(["y", "x"], [], test)
}

_fact := {"op": "not_equals", "value": "u1", "facts": {"tested"}, "type": "string"}

_owner := {"op": "not_equals", "value": "u1", "facts": {"operand"}}

_nobody := {"op": "not_equals", "value": null, "facts": {"operand"}}

test_deny_facts_that_are_not_known if {
	every fact in [null, 5, true, ["u1"], {"u1": 1}] {
		matching.satisfies(fact, _fact)
	}
	matching.satisfies("u2", _fact)
	not matching.satisfies("u1", _fact)
	matching.satisfies(null, {"op": "present", "value": true, "facts": {"tested"}})
}

test_deny_values_that_are_compared_with_an_unknown_fact if {
	every value in [null, "u1", 5, []] {
		matching.satisfies(value, _nobody)
	}
	every value in ["u2", 5] {
		matching.satisfies(value, _owner)
	}
	not matching.satisfies("u1", _owner)
	not matching.satisfies(null, _owner)
}

test_deny_elements_that_are_not_known if {
	every elements in [null, "u1", ["u2", null], [5]] {
		matching.every_element(elements, [], _fact)
	}
	every elements in [[], ["u1"], ["u1", null]] {
		not matching.every_element(elements, [], _fact)
	}
	matching.some_element(["u1", null], [], _fact)
	not matching.some_element([], [], _fact)
	matching.some_element([], [], _nobody)
	matching.every_element([], [], _nobody)
}

test_allow_missing_values_only_where_the_test_says_so if {
	matching.satisfies(null, {"op": "equals", "value": 1, "or_absent": true})
	not matching.satisfies(null, {"op": "not_equals", "value": 1})
	matching.satisfies(null, {"op": "present", "value": false})
	not matching.satisfies(0, {"op": "present", "value": false})
	matching.lookup({"a": [1]}, ["a", "b"]) == null
	matching.lookup("text", ["a"]) == null
	matching.lookup("text", []) == "text"
}
