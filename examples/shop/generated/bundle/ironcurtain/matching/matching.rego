# METADATA
# title: Matching
# description: |
#   What the rendered rules ask about a call: its subjects, guards over them, and tests of arguments and
#   caller facts. A comparison with a value of another JSON type is false, and so is every comparison
#   with something that is missing; null counts as missing. Rules that ask or deny name the facts that a
#   test needs: where one of them is not known, the test holds.
package ironcurtain.matching

# METADATA
# description: The subjects that sandbox containment has not discharged, as an object from id to true.
undischarged[id] := true if {
	some id, subject in input.subjects
	subject.discharged == false
}

# METADATA
# description: All subjects, discharged ones too, as an object from id to true.
subjects[id] := true if some id, _ in input.subjects

# METADATA
# description: An undischarged subject of one of the roles exists.
some_subject(roles) if count(_named(roles)) > 0

# METADATA
# description: A subject of one of the roles exists, discharged or not.
some_subject_anywhere(roles) if count(_named_anywhere(roles)) > 0

# METADATA
# description: |
#   Undischarged subjects of the roles exist, and each of them is covered by one of the patterns.
every_covered(roles, patterns) if {
	ids := _named(roles)
	count(ids) > 0
	count(ids - _covered(roles, patterns)) == 0
}

# METADATA
# description: Every undischarged subject of the roles is covered by one of the patterns; there may be none.
none_or_every_covered(roles, patterns) if count(_named(roles) - _covered(roles, patterns)) == 0

# METADATA
# description: An undischarged subject of one of the roles is covered by one of the patterns.
some_covered(roles, patterns) if count(_covered(roles, patterns)) > 0

# METADATA
# description: Like `every_covered`, over discharged subjects too.
every_covered_anywhere(roles, patterns) if {
	ids := _named_anywhere(roles)
	count(ids) > 0
	count(ids - _covered_anywhere(roles, patterns)) == 0
}

# METADATA
# description: Like `none_or_every_covered`, over discharged subjects too.
none_or_every_covered_anywhere(roles, patterns) if {
	count(_named_anywhere(roles) - _covered_anywhere(roles, patterns)) == 0
}

# METADATA
# description: Like `some_covered`, over discharged subjects too.
some_covered_anywhere(roles, patterns) if count(_covered_anywhere(roles, patterns)) > 0

# METADATA
# description: |
#   The value at a path of object keys, or null where there is none: below the arguments, the caller
#   facts, or one element of an array.
# scope: document
lookup(root, path) := object.get(root, path, null) if is_object(root)

lookup(root, path) := null if {
	not is_object(root)
	count(path) > 0
}

lookup(root, []) := root if not is_object(root)

# METADATA
# description: |
#   The value satisfies the test `{op, value, or_absent?, measure?, facts?, type?}`; null is a missing
#   value. `facts` names the sides of the test that are facts, `"tested"` and `"operand"`; it holds where one
#   of them is missing, or the tested one is not of the type (`type`, or else the operand's).
# scope: document
satisfies(value, test) if {
	value != null
	_compare(_measured(value, object.get(test, "measure", "value")), test.op, test.value)
}

satisfies(null, test) if test.or_absent == true

satisfies(null, {"op": "present", "value": false})

satisfies(value, test) if {
	test.facts
	_is_unknown(value, test)
}

# METADATA
# description: |
#   Each element of an array, at `path` below it, satisfies the test; an empty array does not, and a
#   missing one is tested as one missing value.
# scope: document
every_element(elements, path, test) if {
	is_array(elements)
	count(elements) > 0
	every element in elements {
		satisfies(lookup(element, path), test)
	}
}

every_element(null, _, test) if satisfies(null, test)

every_element(elements, _, test) if {
	test.facts
	_are_unknown(elements, test)
}

# METADATA
# description: Like `every_element`, for at least one element.
# scope: document
some_element(elements, path, test) if {
	is_array(elements)
	some element in elements
	satisfies(lookup(element, path), test)
}

some_element(null, _, test) if satisfies(null, test)

some_element(elements, _, test) if {
	test.facts
	_are_unknown(elements, test)
}

# METADATA
# description: "The ids of the undischarged subjects of the roles."
_named(roles) := {id | some role in roles; some id, _ in input.roles[role]}

# METADATA
# description: "The ids of the subjects of the roles, discharged ones too."
_named_anywhere(roles) := _named(roles) | {id | some role in roles; some id, _ in input.sandboxed.roles[role]}

# METADATA
# description: "The ids of the undischarged subjects of the roles that one of the patterns covers."
_covered(roles, patterns) := {id |
	some role in roles
	some pattern in patterns
	some id, _ in input.within[role][pattern]
}

# METADATA
# description: "Like `_covered`, discharged ones too."
_covered_anywhere(roles, patterns) := _covered(roles, patterns) | {id |
	some role in roles
	some pattern in patterns
	some id, _ in input.sandboxed.within[role][pattern]
}

# METADATA
# description: "A test of one value needs a fact that is missing or of another type."
# scope: document
_is_unknown(null, test) if "tested" in test.facts

_is_unknown(_, test) if _is_operand_unknown(test)

_is_unknown(value, test) if {
	test.op != "present"
	value != null
	test.value != null
	type_name(value) != object.get(test, "type", type_name(test.value))
}

# METADATA
# description: "A test of an array needs a fact that is missing or of another type."
# scope: document
_are_unknown(_, test) if _is_operand_unknown(test)

_are_unknown(elements, test) if {
	"tested" in test.facts
	elements != null
	not is_array(elements)
}

# METADATA
# description: "A test needs its operand, a fact, and it is missing."
_is_operand_unknown(test) if {
	"operand" in test.facts
	test.value == null
}

# METADATA
# description: "What of a value is compared: itself, its number of elements, or its length."
# scope: document
_measured(value, "value") := value

_measured(value, "count") := count(value) if is_array(value)

_measured(value, "length") := count(value) if is_string(value)

# METADATA
# description: "Both values are of one JSON type."
_same_type(left, right) if type_name(left) == type_name(right)

# METADATA
# description: "The value stands in this relation to the operand; values of different types stand in none."
# scope: document
_compare(value, "present", true) if value != null

_compare(value, "equals", operand) if value == operand

_compare(value, "not_equals", operand) if {
	_same_type(value, operand)
	value != operand
}

_compare(value, "in", operand) if value in operand

_compare(value, "not_in", operand) if {
	_same_type(value, operand[0])
	not value in operand
}

_compare(value, "lt", operand) if {
	is_number(value)
	value < operand
}

_compare(value, "le", operand) if {
	is_number(value)
	value <= operand
}

_compare(value, "gt", operand) if {
	is_number(value)
	value > operand
}

_compare(value, "ge", operand) if {
	is_number(value)
	value >= operand
}

_compare(value, "matches", operand) if {
	is_string(value)
	regex.match(operand, value)
}
