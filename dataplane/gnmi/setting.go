package gnmi

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// A setting describes how clients change a leaf. Exactly one of fixed and take is set.
type setting struct {
	// fixed reports that the leaf has one value, which clients may repeat.
	fixed bool
	// name is the name of the setting for a Source.
	name Setting
	// take puts a value into settings: a string, bool or float64-free number (uint64), as decoded.
	// want is not empty where it cannot, and says what would be right.
	take func(s *Settings, v any) (want string)
	// clear takes the value away.
	clear func(s *Settings)
}

func fixed(path string, v func(*row) any) leaf {
	l := value(config, path, v)
	l.set = &setting{fixed: true}
	return l
}

func settable(path string, s *setting, v func(*row) any) leaf {
	l := value(config, path, v)
	l.set = s
	return l
}

// maxDescription bounds a description, in octets.
const maxDescription = 255

var enabledSetting = &setting{
	name: SettingEnabled,
	take: func(s *Settings, v any) string {
		enabled, ok := v.(bool)
		if !ok {
			return "want true or false"
		}
		s.Disabled = !enabled
		return ""
	},
	clear: func(s *Settings) { s.Disabled = false },
}

var descriptionSetting = &setting{
	name: "description",
	take: func(s *Settings, v any) string {
		text, ok := v.(string)
		if !ok || len(text) > maxDescription || !utf8.ValidString(text) {
			return fmt.Sprintf("want a string of at most %d octets of UTF-8", maxDescription)
		}
		s.Description = text
		return ""
	},
	clear: func(s *Settings) { s.Description = "" },
}

var mtuSetting = &setting{
	name: SettingMTU,
	take: func(s *Settings, v any) string {
		n, ok := v.(uint64)
		if !ok || n == 0 || n > math.MaxUint16 {
			return fmt.Sprintf("want a number from 1 to %d", math.MaxUint16)
		}
		s.MTU = uint16(n)
		return ""
	},
	clear: func(s *Settings) { s.MTU = 0 },
}

var speedSetting = &setting{
	name: SettingSpeed,
	take: func(s *Settings, v any) string {
		name, ok := v.(string)
		bits, known := speeds[local(name)]
		if !ok || !known {
			return "want an ETHERNET_SPEED, such as SPEED_100GB"
		}
		s.Speed = bits
		return ""
	},
	clear: func(s *Settings) { s.Speed = 0 },
}

var autoNegotiateSetting = &setting{
	name: SettingAutoNegotiate,
	take: func(s *Settings, v any) string {
		on, ok := v.(bool)
		if !ok {
			return "want true or false"
		}
		s.AutoNegotiate = No
		if on {
			s.AutoNegotiate = Yes
		}
		return ""
	},
	clear: func(s *Settings) { s.AutoNegotiate = Unset },
}

// speeds are the identities of ETHERNET_SPEED (openconfig-if-ethernet), in bits a second.
var speeds = map[string]uint64{
	"SPEED_10MB": 10e6, "SPEED_100MB": 100e6, "SPEED_1GB": 1e9, "SPEED_2500MB": 2500e6,
	"SPEED_5GB":  5e9,
	"SPEED_10GB": 10e9, "SPEED_25GB": 25e9, "SPEED_40GB": 40e9, "SPEED_50GB": 50e9,
	"SPEED_100GB": 100e9,
	"SPEED_200GB": 200e9, "SPEED_400GB": 400e9, "SPEED_600GB": 600e9, "SPEED_800GB": 800e9,
	"SPEED_1600GB": 1600e9,
}

var speedNames = func() map[uint64]string {
	out := make(map[uint64]string, len(speeds))
	for name, bits := range speeds {
		out[bits] = name
	}
	return out
}()

// speedOf is the identity of a speed; SPEED_UNKNOWN where Ethernet has none.
func speedOf(bits uint64) identity {
	if name, ok := speedNames[bits]; ok {
		return identity{moduleEthernet, name}
	}
	return identity{moduleEthernet, "SPEED_UNKNOWN"}
}

// SpeedName returns OpenConfig's name for a speed in bits a second, or SPEED_UNKNOWN for a speed
// without a name.
func SpeedName(bits uint64) string { return speedOf(bits).name }
