package topology

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

// A Scope is the nodes that a BGP-LS peer may describe, with their links, prefixes and SIDs. A link
// belongs to the node that it leaves. The empty Scope has all nodes.
type Scope struct{ rules []scopeRule }

// scopeRule names nodes; each part that is not set matches everything.
type scopeRule struct {
	asn    string
	router string       // as NodeID has it
	prefix netip.Prefix // of IPv4 router-ids
}

// systemID matches the system id of an IS-IS router.
var systemID = regexp.MustCompile(`^[0-9a-f]{4}(\.[0-9a-f]{4}){2}$`)

// ParseScope reads the nodes of a scope: "64512:10.0.0.6" (the id of a node), "64512:*" (an
// autonomous system), "10.0.0.6", "0102.0304.0506" (a router-id of any system), or "10.0.0.0/24"
// (IPv4 router-ids). The pseudonodes of a router belong to it. Errors name the text.
func ParseScope(texts []string) (Scope, error) {
	var s Scope
	for _, text := range texts {
		var r scopeRule
		router := text
		if as, rest, ok := strings.Cut(text, ":"); ok {
			if n, err := strconv.ParseUint(as, 10, 32); err != nil || n == 0 {
				return Scope{}, fmt.Errorf("node %q: %q is no AS number", text, as)
			}
			r.asn, router = as, rest
		}
		switch prefix, err := netip.ParsePrefix(router); {
		case err == nil && prefix.Addr().Is4() && prefix == prefix.Masked():
			r.prefix = prefix
		case router == "*" && r.asn != "":
		default:
			if a, err := netip.ParseAddr(router); (err != nil || !a.Is4()) && !systemID.MatchString(router) {
				return Scope{}, fmt.Errorf(
					"node %q: want a router-id such as 10.0.0.6 or 0102.0304.0506, a prefix such as "+
						"10.0.0.0/24, AS:ROUTER-ID or AS:*", text)
			}
			r.router = router
		}
		s.rules = append(s.rules, r)
	}
	return s, nil
}

// Has reports whether a peer of this scope may describe a node.
func (s *Scope) Has(id NodeID) bool { return s.has(id, false) }

// HasInAny reports whether a peer of this scope may describe a node in some autonomous system,
// whatever the one of the id.
func (s *Scope) HasInAny(id NodeID) bool { return s.has(id, true) }

func (s *Scope) has(id NodeID, anyAS bool) bool {
	if len(s.rules) == 0 {
		return true
	}
	text, _, _ := strings.Cut(string(id), "@")
	as, router, _ := strings.Cut(text, ":")
	router, _, _ = strings.Cut(router, "-") // the pseudonode of an OSPF router
	if parts := strings.Split(router, "."); len(parts) == 4 && len(parts[0]) == 4 {
		router = strings.Join(parts[:3], ".") // that of an IS-IS router
	}
	for _, r := range s.rules {
		if r.asn != "" && r.asn != as && !anyAS || r.router != "" && r.router != router {
			continue
		}
		if r.prefix.IsValid() {
			if a, err := netip.ParseAddr(router); err != nil || !r.prefix.Contains(a) {
				continue
			}
		}
		return true
	}
	return false
}
