// Package verdict judges one message: it is the one place that says what
// becomes of it, for the daemon, for a rehearsal in memory and for the corpus alike. It is
// pure but for the rules, which are pure themselves.
//
// The order is fixed, and the first that applies decides:
//
//	the message                                              ends as
//	cannot be decoded                                        DEAD(MALFORMED) or FAILED(CODEC_ERROR)
//	has no DTTM where the identity includes its day          DEAD(MALFORMED)
//	has an identity that another message holds               SKIPPED  duplicate-of:<id>
//	matches an ignore rule                                   SKIPPED  ignored:<rule>
//	is of a kind that nothing handles                        FAILED(UNSUPPORTED)
//	lacks its payload                                        DEAD(MALFORMED)  payload-missing: …
//	contradicts itself (count, double FLID, bad FLID, SODT)  DEAD(PROTOCOL), all reasons at once
//	is skipped by its rule                                   SKIPPED  with the rule's reason
//	is rejected by its rule                                  DEAD(PROTOCOL)  with the rule's reason
//	belongs to another operation day than its flight         DEAD(PROTOCOL)
//	meets a rule that fails or oversteps                     FAILED(RULE_ERROR)
//	otherwise                                                SUCCEEDED, also when nothing changes
//
// Invariants: effects come only with SUCCEEDED; a reason is safe to store and
// print whatever the message held; an identity is bound whatever the outcome, unless another
// message holds it or the message could not be decoded.
package verdict
