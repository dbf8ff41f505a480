# METADATA
# title: Batch evaluation
# description: |
#   Decides many policy inputs in one query. It is no part of a bundle: `with` inside a comprehension of a
#   query string evaluates wrongly, so the verifier loads this module beside the bundle.
package ironcurtain_verify

# METADATA
# title: Results
# description: The decision for each policy input of the data document `ironcurtain_inputs`, by id.
# entrypoint: true
results[id] := decision if {
	# regal ignore:unresolved-reference
	some id, policy_input in data.ironcurtain_inputs

	# The inputs are this rule's own, as a test's are: that is what the module is for.
	# regal ignore:with-outside-test-context
	decision := data.ironcurtain.decision.decision with input as policy_input
}
