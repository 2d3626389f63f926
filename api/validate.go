package api

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"time"
)

// GroupEnv is what validation knows about the rest of the world.
type GroupEnv struct {
	Limits GroupLimits
	// Host returns the name of the host with an address.
	Host func(netip.Addr) (name string, ok bool)
	// Taken returns the present use of an address that cannot be a group's proxy address: "address of
	// host h1", "in the locator of n4", ...
	Taken func(netip.Addr) (use string, taken bool)
	// OtherGroup returns the name of another group with a given proxy address, OtherPair of another
	// group with a given queue pair; "" if the client may not see the name.
	OtherGroup func(netip.Addr) (name string, ok bool)
	OtherPair  func(QueuePair) (name string, ok bool)
}

// QueuePair is a queue pair of a host. It belongs to one group at most.
type QueuePair struct {
	Address netip.Addr
	QPN     uint32
}

// named names a resource in a message, or says "another" with its kind where the client may not
// know it.
func named(kind, name string) string {
	if name == "" {
		return "another " + kind
	}
	return fmt.Sprintf("%s %q", kind, name)
}

// namedBare is named without quotes.
func namedBare(kind, name string) string {
	if name == "" {
		return "another " + kind
	}
	return kind + " " + name
}

const (
	maxQPN = 1<<24 - 1
	maxPSN = 1<<24 - 1
	// maxHold bounds windows and hold-offs: longer ones are mistakes.
	maxHold = time.Hour
)

var nameRule = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)

// MaxName bounds the name of a resource, in characters.
const MaxName = 63

// ValidateName checks the name of a resource.
func ValidateName(name string) error {
	if nameRule.MatchString(name) {
		return nil
	}
	wrong := FieldError{
		Field: "name", Code: CodeInvalid, Value: strconv.Quote(name),
		Want: "1 to 63 letters, digits, '.', '_' and '-', the first and last a letter or digit",
	}
	if longest := int64(MaxName); int64(len(name)) > longest {
		wrong.Limit = &longest
	}
	return Refuse([]FieldError{wrong})
}

// ValidateGroup returns everything that is wrong with a completed spec, or nil. The planner checks
// limits of trees (branches of a node, reachability, the size of an SRH).
func ValidateGroup(s *MulticastGroupSpec, env GroupEnv) error {
	v := validator{env: env}
	v.proxy(s.ProxyAddress)
	v.number("spec.designatedQpn", s.DesignatedQPN, 2, maxQPN, "queue pair number")
	if s.Connect == nil || s.Connect.Source != SourceAny {
		v.host("spec.source.address", s.Source.Address)
	}
	v.family("spec.source.address", s, s.Source.Address)
	if s.Connect != nil {
		v.connect(s)
	} else {
		v.number("spec.source.qpn", s.Source.QPN, 2, maxQPN, "queue pair number")
		v.pair("spec.source.qpn", QueuePair{s.Source.Address, s.Source.QPN})
	}
	v.receivers(s)
	v.number("spec.initialPsn", s.InitialPSN, 0, maxPSN, "PSN")
	v.duration("spec.cnpWindow", s.CNPWindow, time.Microsecond)
	v.number("spec.cnpLimit", s.CNPLimit, 1, 1<<24-1, "number of CNPs")
	if s.NackHoldoff != 0 {
		v.duration("spec.nackHoldoff", s.NackHoldoff, time.Microsecond)
	}
	if s.Mode != ModeProvisioned && s.Mode != ModeInband {
		v.bad("spec.mode", strconv.Quote(string(s.Mode)), `"provisioned" or "inband"`)
	}
	if s.Objective != ObjectiveDelay && s.Objective != ObjectiveCost {
		v.bad("spec.objective", strconv.Quote(string(s.Objective)), `"delay" or "cost"`)
	}
	if s.EvictAfter != 0 {
		v.duration("spec.evictAfter", s.EvictAfter, time.Millisecond)
	}
	return Refuse(v.found)
}

type validator struct {
	env   GroupEnv
	found []FieldError
}

func (v *validator) bad(field, value, want string) {
	v.found = append(v.found, FieldError{Field: field, Code: CodeInvalid, Value: value, Want: want})
}

func (v *validator) number(field string, n, lo, hi uint32, what string) {
	if n < lo || n > hi {
		f := FieldError{Field: field, Code: CodeInvalid, Value: strconv.FormatUint(uint64(n), 10),
			Want: fmt.Sprintf("a %s from %d to %d", what, lo, hi)}
		if n > hi {
			f.Limit = Limit(int(hi))
		}
		v.found = append(v.found, f)
	}
}

func (v *validator) duration(field string, d Duration, lo time.Duration) {
	switch {
	case d.D() < lo:
		v.bad(field, d.String(), fmt.Sprintf("a duration of %v or more", lo))
	case d.D() > maxHold:
		v.found = append(v.found, FieldError{
			Field: field, Code: CodeInvalid, Value: d.String(), Want: fmt.Sprintf("a duration of %v or less",
				maxHold), Limit: Limit(int(maxHold / time.Second)),
		})
	}
}

// isPrefix reports whether a prefix is one of IPv6 or IPv4 without host bits.
func isPrefix(p netip.Prefix) bool {
	return p.IsValid() && !p.Addr().Is4In6() && p == p.Masked()
}

// family checks that an address has the proxy address's family, because a member's packets keep
// their IP version on both sides of the group.
func (v *validator) family(field string, s *MulticastGroupSpec, a netip.Addr) {
	if p := s.ProxyAddress; a.IsValid() && p.IsGlobalUnicast() && a.Is4() != p.Is4() {
		v.bad(field, a.String(), "an address of the same family as spec.proxyAddress, "+p.String())
	}
}

// unicast checks that an address is one a host could have.
func (v *validator) unicast(field string, a netip.Addr) bool {
	value := a.String()
	if !a.IsValid() {
		value = "missing"
	}
	if a.Is4In6() || a.Zone() != "" || !a.IsGlobalUnicast() {
		v.bad(field, value, "a global unicast address of IPv6 or IPv4")
		return false
	}
	return true
}

func (v *validator) proxy(a netip.Addr) {
	const field = "spec.proxyAddress"
	if !v.unicast(field, a) {
		return
	}
	if use, taken := v.env.Taken(a); taken {
		v.bad(field, a.String(), "an address that nothing else has; this one is "+use)
		return
	}
	if name, ok := v.env.OtherGroup(a); ok {
		v.found = append(v.found, FieldError{
			Field: field, Code: CodeConflict, Value: a.String(),
			Want: "a proxy address of its own; this one belongs to " + named("group", name),
		})
	}
}

// pair checks that no other group uses a queue pair. Two groups that write to one queue pair would
// each take the other group's packets for its own: a queue pair connects to one peer (IBTA, section
// 9.7).
func (v *validator) pair(field string, p QueuePair) {
	if name, ok := v.env.OtherPair(p); ok {
		v.found = append(v.found, FieldError{
			Field: field, Code: CodeConflict, Value: strconv.FormatUint(uint64(p.QPN), 10),
			Want: fmt.Sprintf("a queue pair of no other group; this one at %s belongs to %s", p.Address,
				named("group", name)),
		})
	}
}

func (v *validator) host(field string, a netip.Addr) {
	if !v.unicast(field, a) {
		return
	}
	if _, ok := v.env.Host(a); !ok {
		v.bad(field, a.String(), "the address of a host of the inventory")
	}
}

func (v *validator) receivers(s *MulticastGroupSpec) {
	if len(s.Receivers) == 0 && (s.Connect == nil || len(s.Connect.Receivers) == 0) {
		v.bad("spec.receivers", "empty", "at least one receiver")
	}
	seen := make(map[netip.Addr]int, len(s.Receivers))
	for i := range s.Receivers {
		r := &s.Receivers[i]
		at := fmt.Sprintf("spec.receivers[%d]", i)
		v.host(at+".address", r.Address)
		if first, twice := seen[r.Address]; twice && r.Address.IsValid() {
			v.bad(at+".address", r.Address.String(),
				fmt.Sprintf("an address that no other receiver has; spec.receivers[%d] has it", first))
		} else {
			seen[r.Address] = i
		}
		v.family(at+".address", s, r.Address)
		if r.Address == s.Source.Address && r.Address.IsValid() {
			v.bad(at+".address", r.Address.String(), "a host other than the source")
		}
		if s.Connect != nil {
			v.connected(at, r)
			continue
		}
		v.number(at+".qpn", r.QPN, 2, maxQPN, "queue pair number")
		v.pair(at+".qpn", QueuePair{r.Address, r.QPN})
		if r.StartPSN != nil {
			v.number(at+".startPsn", *r.StartPSN, 0, maxPSN, "PSN")
		}
		v.number(at+".startMsn", r.StartMSN, 0, 1<<24-1, "MSN")
		if r.PSN != nil {
			v.number(at+".psn", *r.PSN, 0, maxPSN, "PSN")
			if s.Mode == ModeInband {
				v.bad(at+".psn", strconv.FormatUint(uint64(*r.PSN), 10),
					"no psn in in-band mode: End.MT TLVs have no room for it")
			}
		}
		switch {
		case (r.VA == nil) != (r.RKey == nil):
			v.bad(at+".va", "given without the other", "va and rkey together, or neither")
		case r.VA != nil && s.Mode == ModeInband:
			v.bad(at+".va", strconv.FormatUint(*r.VA, 10),
				"no va and rkey in in-band mode: End.MT TLVs have no room for them")
		}
	}
}
