package ironcurtain.operators_test

import data.ironcurtain.operators

_card := {"op": "equals", "value": "c", "type": "string"}

test_allow_counted_elements if {
	operators.counted(["c", "d", "c"], [], _card, {"op": "equals", "value": 2})
	operators.counted([], [], _card, {"op": "le", "value": 0})
	operators.counted([{"id": "c"}, {}], ["id"], _card, {"op": "ge", "value": 1})
	not operators.counted(["c", "c"], [], _card, {"op": "le", "value": 1})
}

test_allow_numbers_in_a_relation if {
	operators.number(["a", "b"], {"measure": "count", "times": 100, "plus": 5}) == 205
	operators.number(null, {"times": 2}) == null
	every value in [2.5, "2", true, {}, 1000000001] {
		operators.number(value, {"times": 2}) == false
	}
	operators.related(200, 200, {"op": "le"})
	operators.related(null, 200, {"op": "le", "or_absent": true})
	not operators.related(null, 200, {"op": "le"})
}

test_deny_relations_of_what_is_no_number if {
	pairs := [["5", 1], [5, false], [5, null], [false, 1]]
	every pair in pairs {
		not operators.related(pair[0], pair[1], {"op": "ge"})
		operators.related(pair[0], pair[1], {"op": "ge", "facts": {"operand"}})
	}
	operators.related(null, 1, {"op": "ge", "facts": {"tested"}})
	not operators.related(null, 1, {"op": "ge", "facts": {"operand"}})
}

test_deny_what_cannot_be_counted if {
	every elements in [null, "c", {"c": 1}, ["c", 5]] {
		not operators.counted(elements, [], _card, {"op": "le", "value": 9})
	}
	operators.counted(null, [], object.union(_card, {"or_absent": true}), {"op": "ge", "value": 1})
}
