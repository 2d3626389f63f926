package api

import (
	"net/netip"
	"strconv"
)

// PFCEnv gives the validation of SRv6 policies, tenants and PFC policies its knowledge of other
// objects.
type PFCEnv struct {
	// MaxSlice is the highest slice id.
	MaxSlice uint32
	// Switch reports whether there is a switch of a name, and whether the
	// controller programs it with the P4 program.
	Switch func(name string) (managed, known bool)
	// SID reports whether a node of the topology has a SID.
	SID func(netip.Addr) bool
	// Attached returns what the hosts at a port may use as source; ok is false for
	// a port without any.
	Attached func(sw string, port uint32) (prefixes []netip.Prefix, ok bool)
	// SRv6Policy and Tenant return the spec of a resource.
	SRv6Policy func(name string) (SRv6PolicySpec, bool)
	Tenant     func(name string) (TenantSpec, bool)
	// OtherSlice and OtherSite return the name of another tenant with a given slice or port. OtherPFC
	// returns the name of another PFC policy for a tenant on an SRv6 policy.
	OtherSlice func(slice uint32) (name string, ok bool)
	OtherSite  func(sw string, port uint32) (name string, ok bool)
	OtherPFC   func(policy, tenant string) (name string, ok bool)
}

type pfcValidator struct {
	env   PFCEnv
	found []FieldError
}

func (v *pfcValidator) add(field string, code Code, value, want string, limit *int64) {
	v.found = append(v.found, FieldError{Field: field, Code: code, Value: value, Want: want,
		Limit: limit})
}

func (v *pfcValidator) bad(field, value, want string) {
	v.add(field, CodeInvalid, value, want, nil)
}

func (v *pfcValidator) over(field, value, want string, limit int) {
	v.add(field, CodeInvalid, value, want, Limit(limit))
}

func (v *pfcValidator) conflict(field, value, want string) {
	v.add(field, CodeConflict, value, want, nil)
}

// managed checks that the controller programs a switch.
func (v *pfcValidator) managed(field, name string) bool {
	managed, known := v.env.Switch(name)
	switch {
	case !known:
		v.bad(field, strconv.Quote(name), "the name of a switch")
	case !managed:
		v.bad(field, strconv.Quote(name), "a switch that the controller programs, and that runs P4")
	}
	return managed
}

func (v *pfcValidator) known(field, name string) {
	if _, known := v.env.Switch(name); !known {
		v.bad(field, strconv.Quote(name), "the name of a switch")
	}
}

func (v *pfcValidator) sid(field string, a netip.Addr) {
	if !v.env.SID(a) {
		v.bad(field, a.String(), "a SID that a node advertises")
	}
}

func (v *pfcValidator) mode(field string, m PolicyMode) {
	if m != PolicyModeSegments && m != PolicyModeBestEffort {
		v.bad(field, strconv.Quote(string(m)), `"policy" or "best-effort"`)
	}
}
