package verdict

import (
	"errors"
	"strconv"
	"time"

	"msgx/engine/catalogue"
	"msgx/engine/decision"
	"msgx/engine/message"
)

// refused ends the reason of a decision that the flights do not allow: the number of its page in
// rules/DIAGNOSTICS.md. The errors of the rules themselves carry theirs.
const refused = " [MX641]"

// maxReason bounds a reason, in characters.
const maxReason = 1000

// Rules decide what a message does to flights and reference data.
type Rules interface {
	// Decide is pure. Its error says where a script failed.
	Decide(msg *message.Message, view decision.View) (decision.Decision, error)
	// Handler is the script that decides a kind; false means that none does.
	Handler(kind string) (decision.Script, bool)
	Hash() string
}

// Options are the settings that a verdict depends on.
type Options struct {
	decision.Options
	IdentityWithDay bool // the identity includes the airport's date of DTTM
}

// Judge judges messages under one rule set.
type Judge struct {
	catalogue *catalogue.Catalogue
	rules     Rules
	options   Options
}

// New makes a judge.
func New(cat *catalogue.Catalogue, rules Rules, options Options) *Judge {
	return &Judge{catalogue: cat, rules: rules, options: options}
}

// Identity is the business identity of a message, "" when it has none.
func (j *Judge) Identity(msg *message.Message) string {
	if j.options.IdentityWithDay && msg.Meta.SentAt == "" {
		return ""
	}
	return msg.Meta.Identity(j.options.IdentityWithDay)
}

// Claim names what has to be read before the message can be judged. How far
// the identity memory reaches back is for the caller to say.
func (j *Judge) Claim(msg *message.Message) decision.Claim {
	c := decision.Claim{MsgID: msg.ID, Identity: j.Identity(msg)}
	if msg.IgnoredBy != "" || msg.PayloadMissing != "" {
		return c
	}
	c.Flights, c.Masters = decision.Needs(msg)
	if script, ok := j.rules.Handler(msg.Kind); ok {
		c.RefTypes = script.Reads
	}
	return c
}

// Judge says what becomes of a decoded message. Attempts, NextAt, Raw,
// StartedAt and OwesMark of the settlement are the caller's to fill in.
func (j *Judge) Judge(msg *message.Message, claimed decision.Claimed, at time.Time) decision.Settlement {
	s := decision.Settlement{
		MsgID: msg.ID, Identity: j.Identity(msg), Kind: msg.Kind, SHA256: msg.SHA256,
		Ruleset: j.rules.Hash(), At: at,
	}
	switch {
	case s.Identity == "":
		return dead(s, message.Malformed, "META.DTTM is missing, expected a time because the identity includes its day")
	case claimed.Holder != nil:
		return duplicate(s, claimed.Holder)
	case msg.IgnoredBy != "":
		return skipped(s, "ignored:"+msg.IgnoredBy)
	}
	script, handled := j.rules.Handler(msg.Kind)
	switch {
	case msg.Family == message.Unsupported || msg.Family == "":
		return failed(s, message.UnsupportedErr, "kind "+msg.Kind+" is not known, expected a kind of the catalogue")
	case !handled:
		return failed(s, message.UnsupportedErr, "kind "+msg.Kind+" has no script in the rule set")
	case msg.PayloadMissing != "":
		return dead(s, message.Malformed, "payload-missing: "+msg.PayloadMissing)
	}
	s.Scope = j.scope(msg)
	if reason := guard(msg); reason != "" {
		return dead(s, message.Protocol, reason)
	}
	s.Script = script.ID
	return j.decide(s, msg, script, claimed.View)
}

// decide asks the rule and applies what it decided.
func (j *Judge) decide(s decision.Settlement, msg *message.Message, script decision.Script, view decision.View) decision.Settlement {
	d, err := j.rules.Decide(msg, view)
	if err != nil {
		return failed(s, message.RuleError, err.Error())
	}
	effects, err := decision.Apply(j.catalogue, view, msg, d, decision.Context{
		MsgID: msg.ID, Kind: msg.Kind, Family: msg.Family,
		Ruleset: s.Ruleset, Script: s.Script, Now: s.At, Writes: script.Writes,
	}, j.options.Options)
	var conflict *decision.ProtocolError
	switch {
	case errors.As(err, &conflict):
		return dead(s, message.Protocol, "operation-day: "+conflict.Error())
	case err != nil:
		return failed(s, message.RuleError, message.SafeText(err.Error(), maxReason-len(refused))+refused)
	case d.Skip != "":
		return skipped(s, d.Skip)
	case d.Reject != "":
		return dead(s, message.Protocol, d.Reject)
	}
	s.Effects = effects
	s.Outcome = message.Outcome{State: message.Succeeded}
	return s
}

// Broken says what becomes of a message that could not be decoded. An error
// that does not know its class is a fault of the codec.
func (j *Judge) Broken(raw message.Raw, err error, at time.Time) decision.Settlement {
	s := decision.Settlement{MsgID: raw.MsgID, SHA256: raw.SHA256(), Ruleset: j.rules.Hash(), At: at}
	var kinded message.Kinded
	if errors.As(err, &kinded) {
		s.Kind = kinded.MessageKind()
	}
	var classed message.Classed
	if errors.As(err, &classed) && classed.ErrorClass() == message.Malformed {
		return dead(s, message.Malformed, err.Error())
	}
	return failed(s, message.CodecError, err.Error())
}

// duplicate skips a message whose identity is taken. Identities are compared,
// bodies are not acted on: a different body, or an original that never took effect, is
// something for people to look at.
func duplicate(s decision.Settlement, holder *message.Binding) decision.Settlement {
	s.Identity = ""
	original := strconv.FormatInt(holder.MsgID, 10)
	if holder.BodySHA256 != "" && holder.BodySHA256 != s.SHA256 {
		s.Warnings = append(s.Warnings, "duplicate of "+original+" with another body")
	}
	if holder.State == message.Dead {
		s.Warnings = append(s.Warnings, "duplicate of "+original+", which is DEAD")
	}
	return skipped(s, "duplicate-of:"+original)
}

func skipped(s decision.Settlement, reason string) decision.Settlement {
	s.Outcome = message.Outcome{State: message.Skipped, Reason: message.SafeText(reason, maxReason)}
	return s
}

func dead(s decision.Settlement, class message.ErrorClass, reason string) decision.Settlement {
	s.Outcome = message.Outcome{State: message.Dead, Class: class, Reason: message.SafeText(reason, maxReason)}
	return s
}

func failed(s decision.Settlement, class message.ErrorClass, reason string) decision.Settlement {
	s.Outcome = message.Outcome{State: message.Failed, Class: class, Reason: message.SafeText(reason, maxReason)}
	return s
}
