# METADATA
# title: Declared facts
# description: |
#   Tests that only declared facts have: what a set contains, and the minutes of the week. A bundle holds
#   this package where its policy declares facts.
package ironcurtain.facts

# METADATA
# description: |
#   The value satisfies the test `{op, value, type, operand?}`; null is a missing value.
# scope: document
holds(value, test) if {
	test.op == "contains"
	is_array(value)
	is_string(test.value)
	test.value in value
}

holds(value, test) if {
	test.op == "not_contains"
	is_array(value)
	is_string(test.value)
	not test.value in value
}

holds(value, test) if {
	test.op == "in_week"
	is_number(value)
	some interval in test.value
	interval[0] <= value
	value < interval[1]
}

# METADATA
# description: |
#   Like `holds`, for rules that ask or deny: true where the fact is missing or not of its `type`, and
#   where `operand` says that it is compared with a fact, and that is no string.
# scope: document
holds_or_unknown(value, test) if holds(value, test)

holds_or_unknown(value, test) if type_name(value) != test.type

holds_or_unknown(_, test) if {
	test.operand == "fact"
	not is_string(test.value)
}
