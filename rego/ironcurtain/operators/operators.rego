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

# METADATA
# description: |
#   A part of an ISO date or date-time as a number: days (`date`), seconds of the day (`time`), or seconds
#   (`instant`) since 1970. Null is what is absent, false what is no such text or lacks the part.
# scope: document
moment(null, _) := null

moment(value, part) := number if {
	fields := _fields(value)
	number := _part(fields, part)
} else := false if value != null

# METADATA
# description: |
#   As `moment`, of what a value is compared with, plus a number of seconds or days; false also where one of
#   two instants says how far from UTC it is, and the other does not.
# scope: document
other_moment(null, _, _, _) := null

other_moment(other, value, part, later) := number + later if {
	number := moment(other, part)
	is_number(number)
	_are_alike(other, value, part)
} else := false if other != null

# METADATA
# description: "A number of seconds lies in one of the half-open windows; or it is missing and may be."
# scope: document
during(number, windows, _) if {
	is_number(number)
	some window in windows
	number >= window[0]
	number < window[1]
}

during(null, _, test) if test.or_absent == true

# METADATA
# description: "The parts of a date or date-time, as texts; undefined for what is none."
# scope: document
_fields(value) := fields if {
	is_string(value)
	found := regex.find_all_string_submatch_n(_moment, value, 1)
	fields := found[0]
	to_number(fields[3]) <= _days_in_month(to_number(fields[1]), to_number(fields[2]))
}

_moment := concat("", [
	`^((?:19|2[01])[0-9]{2})-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])`,
	`(?:T([01][0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9])(?:\.[0-9]{1,9})?)?`,
	`(?:(Z)|([+-])(0[0-9]|1[0-4]):([0-5][0-9]))?)?$`,
])

_days_in_month(year, month) := 29 if {
	month == 2
	_is_leap(year)
} else := [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]

_is_leap(year) if {
	year % 4 == 0
	year % 100 != 0
}

_is_leap(year) if year % 400 == 0

# METADATA
# description: "One part of a date-time as a number; a date has no time, and as an instant is its midnight."
# scope: document
_part(fields, "date") := _days(fields)

_part(fields, "time") := _seconds(fields) if fields[4] != ""

_part(fields, "instant") := ((_days(fields) * 86400) + _seconds(fields)) - _ahead(fields)

# METADATA
# description: "Days since 1970-01-01, counted in years that begin in March."
_days(fields) := ((((year * 365) + floor(year / 4)) - floor(year / 100)) + floor(year / 400)) + rest if {
	month := to_number(fields[2])
	early := {true: 1, false: 0}[month < 3]
	year := to_number(fields[1]) - early
	since_march := (month + (12 * early)) - 3
	rest := (floor(((153 * since_march) + 2) / 5) + to_number(fields[3])) - 719469
}

_seconds(fields) := ((_number(fields[4]) * 3600) + (_number(fields[5]) * 60)) + _number(fields[6])

_ahead(fields) := {"+": 1, "-": -1, "": 0}[fields[8]] * ((_number(fields[9]) * 3600) + (_number(fields[10]) * 60))

_number("") := 0

_number(text) := to_number(text) if text != ""

_are_alike(_, _, part) if part != "instant"

_are_alike(_, value, _) if not is_string(value)

_are_alike(other, value, _) if _is_zoned(_fields(other)) == _is_zoned(_fields(value))

_is_zoned(fields) := concat("", [fields[7], fields[8]]) != ""
