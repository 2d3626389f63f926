package inventory

import "github.com/weft-sdn/weft/packet"

func (m MAC) String() string { return packet.MAC(m).String() }

// IsZero reports whether no address is given.
func (m MAC) IsZero() bool { return m == MAC{} }

// MarshalText writes "02:00:00:00:00:01".
func (m MAC) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// Wanted reports what UnmarshalText takes.
func (*MAC) Wanted() string { return "a MAC address such as 02:00:00:00:00:01" }

// UnmarshalText reads six octets in hexadecimal.
func (m *MAC) UnmarshalText(b []byte) error {
	v, err := packet.ParseMAC(string(b))
	if err != nil {
		return err
	}
	*m = MAC(v)
	return nil
}
