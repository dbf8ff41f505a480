# METADATA
# title: "Policy of shop"
# description: Rendered from the compiled rules. Change those, not this file.
# schemas:
#   - input: schema.input
package ironcurtain.policy.shop

import data.ironcurtain.facts
import data.ironcurtain.matching

# METADATA
# title: shop-look-up
# description: "Orders, customers and products may be looked up."
# custom: {"clause": "C3"}
matches contains {"order": 1, "rule": "shop-look-up", "verdict": "allow", "subjects": ids} if {
	input.tool in {"get_order_details", "get_user_details", "get_product_details"}
	ids := matching.undischarged
}

# METADATA
# title: shop-read-notes
# description: "Notes about a customer may be read."
# custom: {"clause": "C4"}
matches contains {"order": 2, "rule": "shop-read-notes", "verdict": "allow", "subjects": ids} if {
	input.tool == "read_notes"
	ids := matching.undischarged
}

# METADATA
# title: shop-deny-other-orders
# description: "It is not an order of the customer whom the agent acts for."
# custom: {"clause": "C5"}
matches contains {"order": 3, "rule": "shop-deny-other-orders", "verdict": "deny", "subjects": ids} if {
	input.tool in {"cancel_order", "return_items", "exchange_items", "refund"}
	matching.satisfies(matching.lookup(input.facts, ["order/user_id"]), {"op": "not_equals", "value": matching.lookup(input.caller, ["sub"]), "facts": {"tested", "operand"}})
	ids := matching.undischarged
}

# METADATA
# title: shop-deny-unless-pending
# description: "The order is not pending."
# custom: {"clause": "C6"}
matches contains {"order": 4, "rule": "shop-deny-unless-pending", "verdict": "deny", "subjects": ids} if {
	input.tool == "cancel_order"
	matching.satisfies(matching.lookup(input.facts, ["order/status"]), {"op": "not_equals", "value": "pending", "facts": {"tested"}, "type": "string"})
	ids := matching.undischarged
}

# METADATA
# title: shop-ask-about-old-orders
# description: "The order was placed more than 24 hours ago, so a person decides."
# custom: {"clause": "C8"}
matches contains {
	"order": 5,
	"rule": "shop-ask-about-old-orders",
	"verdict": "escalate",
	"subjects": ids,
} if {
	input.tool == "cancel_order"
	matching.satisfies(matching.lookup(input.facts, ["order/placed"]), {"op": "gt", "value": 86400, "facts": {"tested"}, "type": "number"})
	ids := matching.undischarged
}

# METADATA
# title: shop-cancel
# description: "A pending order of the customer may be cancelled within 24 hours."
# custom: {"clause": "C7"}
matches contains {"order": 6, "rule": "shop-cancel", "verdict": "allow", "subjects": ids} if {
	input.tool == "cancel_order"
	input.facts["order/status"] == "pending"
	matching.satisfies(matching.lookup(input.facts, ["order/user_id"]), {"op": "equals", "value": matching.lookup(input.caller, ["sub"])})
	ids := matching.undischarged
}

# METADATA
# title: shop-deny-unless-delivered
# description: "The order was not delivered."
# custom: {"clause": "C9"}
matches contains {"order": 7, "rule": "shop-deny-unless-delivered", "verdict": "deny", "subjects": ids} if {
	input.tool in {"return_items", "exchange_items", "refund"}
	matching.satisfies(matching.lookup(input.facts, ["order/status"]), {"op": "not_equals", "value": "delivered", "facts": {"tested"}, "type": "string"})
	ids := matching.undischarged
}

# METADATA
# title: shop-deny-foreign-method
# description: "The method of payment is not the customer's."
# custom: {"clause": "C15"}
matches contains {"order": 8, "rule": "shop-deny-foreign-method", "verdict": "deny", "subjects": ids} if {
	input.tool in {"return_items", "exchange_items", "refund"}
	facts.holds_or_unknown(matching.lookup(input.facts, ["customer/methods"]), {
		"op": "not_contains",
		"value": matching.lookup(input.args, ["payment_method_id"]),
		"type": "array",
	})
	ids := matching.undischarged
}

# METADATA
# title: shop-return
# description: "Items of a delivered order are taken back and paid as they were paid for."
# custom: {"clause": "C10"}
matches contains {"order": 9, "rule": "shop-return", "verdict": "allow", "subjects": ids} if {
	input.tool == "return_items"
	input.facts["order/status"] == "delivered"
	matching.satisfies(matching.lookup(input.facts, ["order/user_id"]), {"op": "equals", "value": matching.lookup(input.caller, ["sub"])})
	facts.holds(matching.lookup(input.facts, ["customer/methods"]), {
		"op": "contains",
		"value": matching.lookup(input.args, ["payment_method_id"]),
		"type": "array",
	})
	matching.satisfies(matching.lookup(input.facts, ["order/method"]), {"op": "equals", "value": matching.lookup(input.args, ["payment_method_id"])})
	ids := matching.undischarged
}

# METADATA
# title: shop-ask-about-other-method
# description: "It is paid to another method than the order was paid with, so a person decides."
# custom: {"clause": "C11"}
matches contains {
	"order": 10,
	"rule": "shop-ask-about-other-method",
	"verdict": "escalate",
	"subjects": ids,
} if {
	input.tool == "return_items"
	ids := matching.undischarged
}

# METADATA
# title: shop-deny-out-of-stock
# description: "Something that is wanted instead is not in stock."
# custom: {"clause": "C21"}
matches contains {"order": 11, "rule": "shop-deny-out-of-stock", "verdict": "deny", "subjects": ids} if {
	input.tool == "exchange_items"
	matching.satisfies(matching.lookup(input.facts, ["option/in_stock"]), {"op": "equals", "value": false, "facts": {"tested"}, "type": "boolean"})
	ids := matching.undischarged
}

# METADATA
# title: shop-deny-same-option
# description: "Something would be exchanged for the same thing."
# custom: {"clause": "C21"}
matches contains {"order": 12, "rule": "shop-deny-same-option", "verdict": "deny", "subjects": ids} if {
	input.tool == "exchange_items"
	matching.satisfies(matching.lookup(input.facts, ["option/other"]), {"op": "equals", "value": false, "facts": {"tested"}, "type": "boolean"})
	ids := matching.undischarged
}

# METADATA
# title: shop-exchange
# description: "Items of a delivered order may be exchanged while the warehouse works."
# custom: {"clause": "C12"}
matches contains {"order": 13, "rule": "shop-exchange", "verdict": "allow", "subjects": ids} if {
	input.tool == "exchange_items"
	input.facts["order/status"] == "delivered"
	matching.satisfies(matching.lookup(input.facts, ["order/user_id"]), {"op": "equals", "value": matching.lookup(input.caller, ["sub"])})
	facts.holds(matching.lookup(input.facts, ["customer/methods"]), {
		"op": "contains",
		"value": matching.lookup(input.args, ["payment_method_id"]),
		"type": "array",
	})
	input.facts["option/in_stock"] == true
	input.facts["option/other"] == true
	facts.holds(matching.lookup(input.facts, ["now"]), {
		"op": "in_week",
		"value": [[540, 1020], [1980, 2460], [3420, 3900], [4860, 5340], [6300, 6780]],
		"type": "number",
	})
	ids := matching.undischarged
}

# METADATA
# title: shop-ask-to-exchange
# description: "The warehouse does not work now, so a person decides."
# custom: {"clause": "C13"}
matches contains {"order": 14, "rule": "shop-ask-to-exchange", "verdict": "escalate", "subjects": ids} if {
	input.tool == "exchange_items"
	ids := matching.undischarged
}

# METADATA
# title: shop-ask-above-budget
# description: "More than 100 euros would be refunded today, so a person decides."
# custom: {"clause": "C17"}
matches contains {"order": 15, "rule": "shop-ask-above-budget", "verdict": "escalate", "subjects": ids} if {
	input.tool == "refund"
	matching.satisfies(matching.lookup(input.facts, ["refunded"]), {"op": "gt", "value": 100, "facts": {"tested"}, "type": "number"})
	ids := matching.undischarged
}

# METADATA
# title: shop-refund
# description: "Money may be refunded to the customer."
# custom: {"clause": "C16"}
matches contains {"order": 16, "rule": "shop-refund", "verdict": "allow", "subjects": ids} if {
	input.tool == "refund"
	input.facts["order/status"] == "delivered"
	matching.satisfies(matching.lookup(input.facts, ["order/user_id"]), {"op": "equals", "value": matching.lookup(input.caller, ["sub"])})
	facts.holds(matching.lookup(input.facts, ["customer/methods"]), {
		"op": "contains",
		"value": matching.lookup(input.args, ["payment_method_id"]),
		"type": "array",
	})
	is_number(input.facts.refunded)
	input.facts.refunded <= 100
	ids := matching.undischarged
}

# METADATA
# title: shop-deny-other-recipients
# description: "It is not the customer whom the agent acts for."
# custom: {"clause": "C20"}
matches contains {"order": 17, "rule": "shop-deny-other-recipients", "verdict": "deny", "subjects": ids} if {
	input.tool == "send_mail"
	matching.satisfies(matching.lookup(input.args, ["user_id"]), {"op": "not_equals", "value": matching.lookup(input.caller, ["sub"]), "facts": {"operand"}})
	ids := matching.undischarged
}

# METADATA
# title: shop-ask-after-notes
# description: "Notes were read in this session, so a person decides what is sent."
# custom: {"clause": "C19"}
matches contains {"order": 18, "rule": "shop-ask-after-notes", "verdict": "escalate", "subjects": ids} if {
	input.tool == "send_mail"
	matching.satisfies(matching.lookup(input.args, ["user_id"]), {"op": "equals", "value": matching.lookup(input.caller, ["sub"]), "facts": {"operand"}})
	matching.satisfies(matching.lookup(input.facts, ["private"]), {"op": "equals", "value": true, "facts": {"tested"}, "type": "boolean"})
	ids := matching.undischarged
}

# METADATA
# title: shop-mail
# description: "Mail may be sent to the customer."
# custom: {"clause": "C18"}
matches contains {"order": 19, "rule": "shop-mail", "verdict": "allow", "subjects": ids} if {
	input.tool == "send_mail"
	matching.satisfies(matching.lookup(input.args, ["user_id"]), {"op": "equals", "value": matching.lookup(input.caller, ["sub"])})
	ids := matching.undischarged
}
