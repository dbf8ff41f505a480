# METADATA
# title: Operators
# description: |
#   Tests of arguments that few policies make; only a bundle whose rules call one has this module. What is
#   of another JSON type than a test compares makes it false.
package ironcurtain.operators

import data.ironcurtain.matching

# METADATA
# description: |
#   What of a value a number is compared with: its number of elements (`by.measure`), `by.times` it,
#   `by.plus`. Null is what is absent, false what is no such number: what is multiplied or added to must be a
#   whole number of at most 1,000,000,000.
# scope: document
number(null, _) := null

number(value, by) := result if {
	value != null
	result := _scaled(_size(value, by), by)
} else := false if value != null

# METADATA
# description: |
#   Two numbers stand in the relation `test.op`. A missing value satisfies it where `test.or_absent` is true.
#   `test.facts` names the sides that are facts: it holds where one of them is missing or no number.
# scope: document
related(value, operand, test) if {
	is_number(value)
	is_number(operand)
	matching.satisfies(value, {"op": test.op, "value": operand})
}

related(null, _, test) if test.or_absent == true

related(null, _, test) if "tested" in test.facts

related(_, null, test) if "operand" in test.facts

related(value, operand, test) if {
	test.facts
	value != null
	operand != null
	false in [is_number(value), is_number(operand)]
}

# METADATA
# description: |
#   As many elements of an array as the bound `{op, value}` asks satisfy the test, at `path` below each. An
#   element that lacks the place is not counted; one of another type than `test.type` makes it false. A
#   missing array satisfies it where `test.or_absent` is true.
# scope: document
counted(elements, path, test, bound) if {
	is_array(elements)
	values := [value | some element in elements; value := matching.lookup(element, path); value != null]
	every value in values {
		type_name(value) == test.type
	}
	matching.satisfies(count([value | some value in values; matching.satisfies(value, test)]), bound)
}

counted(null, _, test, _) if test.or_absent == true

# METADATA
# description: "The number of elements where that is asked for, else the value itself."
# scope: document
_size(value, by) := count(value) if {
	by.measure == "count"
	is_array(value)
}

_size(value, by) := value if not by.measure

# METADATA
# description: "The number multiplied and added to; undefined for what is no such number."
# scope: document
_scaled(value, by) := (value * object.get(by, "times", 1)) + object.get(by, "plus", 0) if {
	is_number(value)
	floor(value) == value
	abs(value) <= 1000000000
}
