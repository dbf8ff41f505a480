# METADATA
# title: "Scenarios of shop"
# description: Generated from the scenarios; do not edit.
package ironcurtain.policy.shop_test

import data.ironcurtain.decision

# METADATA
# title: "look-up-order"
# description: "Orders may be looked up."
test_allow_look_up_order if {
	answer := decision.decision with input as {
		"args": {"order_id": "W1"},
		"caller": {"sub": "ada"},
		"facts": {},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": false,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "get_order_details",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "read-notes"
# description: "Notes may be read; what follows from it is another clause."
test_allow_read_notes if {
	answer := decision.decision with input as {
		"args": {"user_id": "ada"},
		"caller": {"sub": "ada"},
		"facts": {},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": false,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "read_notes",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "cancel-own-pending"
# description: "Pending, the customer's own, and placed this morning."
test_allow_cancel_own_pending if {
	answer := decision.decision with input as {
		"args": {"order_id": "W1"},
		"caller": {"sub": "ada"},
		"facts": {"now": 660, "order/placed": 5400, "order/status": "pending", "order/user_id": "ada"},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "cancel_order",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "cancel-after-a-day"
# description: "One second more than a day."
test_escalate_cancel_after_a_day if {
	answer := decision.decision with input as {
		"args": {"order_id": "W1"},
		"caller": {"sub": "ada"},
		"facts": {"now": 2010, "order/placed": 86401, "order/status": "pending", "order/user_id": "ada"},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "cancel_order",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "cancel-at-the-end-of-the-day"
# description: "A day is not more than a day."
test_allow_cancel_at_the_end_of_the_day if {
	answer := decision.decision with input as {
		"args": {"order_id": "W1"},
		"caller": {"sub": "ada"},
		"facts": {"now": 2010, "order/placed": 86400, "order/status": "pending", "order/user_id": "ada"},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "cancel_order",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "cancel-delivered"
# description: "What was delivered is returned, not cancelled."
test_deny_cancel_delivered if {
	answer := decision.decision with input as {
		"args": {"order_id": "W2"},
		"caller": {"sub": "ada"},
		"facts": {"now": 660, "order/placed": 950400, "order/status": "delivered", "order/user_id": "ada"},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "cancel_order",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "cancel-of-somebody-else"
# description: "It is another customer's order."
test_deny_cancel_of_somebody_else if {
	answer := decision.decision with input as {
		"args": {"order_id": "W4"},
		"caller": {"sub": "ada"},
		"facts": {"now": 660, "order/placed": 50100, "order/status": "pending", "order/user_id": "blaise"},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "cancel_order",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "cancel-for-nobody"
# description: "It is not known whom the agent acts for, so it may be anybody's order."
test_deny_cancel_for_nobody if {
	answer := decision.decision with input as {
		"args": {"order_id": "W1"},
		"caller": {},
		"facts": {"now": 660, "order/placed": 5400, "order/status": "pending", "order/user_id": "ada"},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "cancel_order",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "return-as-paid"
# description: "To the card that the order was paid with."
test_allow_return_as_paid if {
	answer := decision.decision with input as {
		"args": {"item_ids": ["lamp-black"], "order_id": "W2", "payment_method_id": "card-ada"},
		"caller": {"sub": "ada"},
		"facts": {
			"customer/methods": ["card-ada", "gift-ada"],
			"order/method": "card-ada",
			"order/status": "delivered",
			"order/user_id": "ada",
		},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "return_items",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "return-to-gift-card"
# description: "Another method of the customer."
test_escalate_return_to_gift_card if {
	answer := decision.decision with input as {
		"args": {"item_ids": ["lamp-black"], "order_id": "W2", "payment_method_id": "gift-ada"},
		"caller": {"sub": "ada"},
		"facts": {
			"customer/methods": ["card-ada", "gift-ada"],
			"order/method": "card-ada",
			"order/status": "delivered",
			"order/user_id": "ada",
		},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "return_items",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "return-to-somebody-else"
# description: "No method of the customer."
test_deny_return_to_somebody_else if {
	answer := decision.decision with input as {
		"args": {"item_ids": ["lamp-black"], "order_id": "W2", "payment_method_id": "card-blaise"},
		"caller": {"sub": "ada"},
		"facts": {
			"customer/methods": ["card-ada", "gift-ada"],
			"order/method": "card-ada",
			"order/status": "delivered",
			"order/user_id": "ada",
		},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "return_items",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "exchange-at-nine"
# description: "Nine o'clock in Berlin, on a Monday in winter."
test_allow_exchange_at_nine if {
	answer := decision.decision with input as {
		"args": {
			"item_ids": ["lamp-black"],
			"new_item_ids": ["lamp-white"],
			"order_id": "W2",
			"payment_method_id": "card-ada",
		},
		"caller": {"sub": "ada"},
		"facts": {
			"customer/methods": ["card-ada", "gift-ada"],
			"now": 540,
			"option/in_stock": true,
			"option/other": true,
			"order/status": "delivered",
			"order/user_id": "ada",
		},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "exchange_items",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "exchange-at-five"
# description: "The last minute before five belongs to the day, five o'clock does not."
test_escalate_exchange_at_five if {
	answer := decision.decision with input as {
		"args": {
			"item_ids": ["lamp-black"],
			"new_item_ids": ["lamp-white"],
			"order_id": "W2",
			"payment_method_id": "card-ada",
		},
		"caller": {"sub": "ada"},
		"facts": {
			"customer/methods": ["card-ada", "gift-ada"],
			"now": 1020,
			"option/in_stock": true,
			"option/other": true,
			"order/status": "delivered",
			"order/user_id": "ada",
		},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "exchange_items",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "exchange-in-summer"
# description: "In summer nine o'clock in Berlin is seven in UTC."
test_allow_exchange_in_summer if {
	answer := decision.decision with input as {
		"args": {
			"item_ids": ["lamp-black"],
			"new_item_ids": ["lamp-white"],
			"order_id": "W2",
			"payment_method_id": "card-ada",
		},
		"caller": {"sub": "ada"},
		"facts": {
			"customer/methods": ["card-ada", "gift-ada"],
			"now": 540,
			"option/in_stock": true,
			"option/other": true,
			"order/status": "delivered",
			"order/user_id": "ada",
		},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "exchange_items",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "exchange-on-sunday"
# description: "The warehouse is closed."
test_escalate_exchange_on_sunday if {
	answer := decision.decision with input as {
		"args": {
			"item_ids": ["lamp-black"],
			"new_item_ids": ["lamp-white"],
			"order_id": "W2",
			"payment_method_id": "card-ada",
		},
		"caller": {"sub": "ada"},
		"facts": {
			"customer/methods": ["card-ada", "gift-ada"],
			"now": 9360,
			"option/in_stock": true,
			"option/other": true,
			"order/status": "delivered",
			"order/user_id": "ada",
		},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "exchange_items",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "exchange-for-what-is-gone"
# description: "The brass lamp is out of stock."
test_deny_exchange_for_what_is_gone if {
	answer := decision.decision with input as {
		"args": {
			"item_ids": ["lamp-black"],
			"new_item_ids": ["lamp-brass"],
			"order_id": "W2",
			"payment_method_id": "card-ada",
		},
		"caller": {"sub": "ada"},
		"facts": {
			"customer/methods": ["card-ada", "gift-ada"],
			"now": 540,
			"option/in_stock": false,
			"option/other": true,
			"order/status": "delivered",
			"order/user_id": "ada",
		},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "exchange_items",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "exchange-for-the-same"
# description: "It is no other option."
test_deny_exchange_for_the_same if {
	answer := decision.decision with input as {
		"args": {
			"item_ids": ["lamp-black"],
			"new_item_ids": ["lamp-black"],
			"order_id": "W2",
			"payment_method_id": "card-ada",
		},
		"caller": {"sub": "ada"},
		"facts": {
			"customer/methods": ["card-ada", "gift-ada"],
			"now": 540,
			"option/in_stock": true,
			"option/other": false,
			"order/status": "delivered",
			"order/user_id": "ada",
		},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "exchange_items",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "refund-within-budget"
# description: "Sixty before and forty now are the budget."
test_allow_refund_within_budget if {
	answer := decision.decision with input as {
		"args": {"amount": 40, "order_id": "W2", "payment_method_id": "card-ada"},
		"caller": {"sub": "ada"},
		"facts": {
			"customer/methods": ["card-ada"],
			"order/status": "delivered",
			"order/user_id": "ada",
			"refunded": 100,
		},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "refund",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "refund-above-budget"
# description: "One cent too much."
test_escalate_refund_above_budget if {
	answer := decision.decision with input as {
		"args": {"amount": 40.01, "order_id": "W2", "payment_method_id": "card-ada"},
		"caller": {"sub": "ada"},
		"facts": {
			"customer/methods": ["card-ada"],
			"order/status": "delivered",
			"order/user_id": "ada",
			"refunded": 100.01,
		},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "refund",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "refund-of-pending"
# description: "What is pending can be cancelled."
test_deny_refund_of_pending if {
	answer := decision.decision with input as {
		"args": {"amount": 1, "order_id": "W1", "payment_method_id": "card-ada"},
		"caller": {"sub": "ada"},
		"facts": {
			"customer/methods": ["card-ada"],
			"order/status": "pending",
			"order/user_id": "ada",
			"refunded": 1,
		},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "refund",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "mail"
# description: "To the customer."
test_allow_mail if {
	answer := decision.decision with input as {
		"args": {"body": "It is on its way.", "subject": "Your order", "user_id": "ada"},
		"caller": {"sub": "ada"},
		"facts": {"private": false},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "send_mail",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "mail-after-notes"
# description: "The session has read what colleagues noted."
test_escalate_mail_after_notes if {
	answer := decision.decision with input as {
		"args": {"body": "It is on its way.", "subject": "Your order", "user_id": "ada"},
		"caller": {"sub": "ada"},
		"facts": {"private": true},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "send_mail",
		"within": {},
	}
	answer.verdict == "escalate"
}

# METADATA
# title: "mail-to-somebody-else"
# description: "Only the customer is written to."
test_deny_mail_to_somebody_else if {
	answer := decision.decision with input as {
		"args": {"body": "x", "subject": "Hi", "user_id": "blaise"},
		"caller": {"sub": "ada"},
		"facts": {"private": false},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "send_mail",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "mail-for-nobody-after-notes"
# description: "It is not known who the customer is, so it may be anybody; no person is asked."
test_deny_mail_for_nobody_after_notes if {
	answer := decision.decision with input as {
		"args": {"body": "x", "subject": "Hi", "user_id": "ada"},
		"caller": {},
		"facts": {"private": true},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "send_mail",
		"within": {},
	}
	answer.verdict == "deny"
}

# METADATA
# title: "a-session-with-notes.step-1"
# description: "What was read before the mail decides."
test_allow_a_session_with_notes_step_1 if {
	answer := decision.decision with input as {
		"args": {"body": "It is on its way.", "subject": "Your order", "user_id": "ada"},
		"caller": {"sub": "ada"},
		"facts": {"private": false},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "send_mail",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "a-session-with-notes.step-2"
# description: "What was read before the mail decides."
test_allow_a_session_with_notes_step_2 if {
	answer := decision.decision with input as {
		"args": {"user_id": "ada"},
		"caller": {"sub": "ada"},
		"facts": {},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": false,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "read_notes",
		"within": {},
	}
	answer.verdict == "allow"
}

# METADATA
# title: "a-session-with-notes.step-3"
# description: "What was read before the mail decides."
test_escalate_a_session_with_notes_step_3 if {
	answer := decision.decision with input as {
		"args": {"body": "It is on its way.", "subject": "Your order", "user_id": "ada"},
		"caller": {"sub": "ada"},
		"facts": {"private": true},
		"patterns": {},
		"roles": {"none": {"call": true}},
		"sandboxed": {"patterns": {}, "roles": {}, "within": {}},
		"server": "shop",
		"side_effects": true,
		"subjects": {"call": {"at": "", "discharged": false, "role": "none", "value": "call"}},
		"tool": "send_mail",
		"within": {},
	}
	answer.verdict == "escalate"
}
