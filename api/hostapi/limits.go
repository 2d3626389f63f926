package hostapi

// What a message may hold at most, whatever the host. Capabilities narrow it further.
const (
	// MaxName is the length of a name in octets.
	MaxName = 253
	// MaxSoftware is the length of Hello.software.
	MaxSoftware = 128
	// MaxReason is the length of a reason or error text.
	MaxReason = 1024
	// MaxProfiles of a host.
	MaxProfiles = 16384
	// MaxProfileEVs is the EVs of a profile.
	MaxProfileEVs = 65536
	// MaxFields of a format or a profile.
	MaxFields = 32
	// MaxDestinations of a profile.
	MaxDestinations = 4096
	// MaxCCProfiles of a host.
	MaxCCProfiles = 256
	// MaxPeers is the peers of a host that lack a port.
	MaxPeers = 131072
	// MaxProbes of one request.
	MaxProbes = 64
	// MaxAlgorithms of a device, of MaxAlgorithmName octets each.
	MaxAlgorithms    = 16
	MaxAlgorithmName = 64
	// EVBytes is the octets of an EV (MRC_CTL_EV_MAX_BYTES).
	EVBytes = 32
	// MaxPort is the greatest port number, because a PortMask has 32 bits and port numbers start at 1.
	MaxPort = 31
)

// validName reports whether a name contains only valid characters.
func validName(name string, more string) bool {
	if name == "" || len(name) > MaxName {
		return false
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.',
			c == '_':
		default:
			ok := false
			for j := range len(more) {
				ok = ok || more[j] == c
			}
			if !ok {
				return false
			}
		}
	}
	return true
}

// checkHost checks the name of a host.
func checkHost(field, name string) *FieldError {
	if !validName(name, "") {
		return invalid(field, "%.64q, want 1 to %d of letters, digits, '-', '.' and '_'", name, MaxName)
	}
	return nil
}

// checkName checks the name of a profile.
func checkName(field, name string) *FieldError {
	if !validName(name, ":/") {
		return invalid(field, "%.64q, want 1 to %d of letters, digits, '-', '.', '_', ':' and '/'", name,
			MaxName)
	}
	return nil
}
