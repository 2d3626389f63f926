package discovery

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// organization marks the TLV of the proof. It is a local identifier (IEEE 802, clause 8.2):
// no organization owns it.
var organization = [3]byte{0x02, 0x57, 0x46}

const (
	proofSubtype = 1
	numberLen    = 8
	digestLen    = 16
	proofLen     = numberLen + digestLen

	// tlvTail follows the digest: the End TLV.
	tlvTail = 2
)

// Reasons to refuse a frame.
var (
	errForeign = errors.New("not a frame of this controller")
	errForged  = errors.New("the digest is wrong")
)

// A keyring makes frames that only it can verify.
type keyring struct{ key [sha256.Size]byte }

func newKeyring() *keyring {
	k := new(keyring)
	_, _ = rand.Read(k.key[:]) // it never fails
	return k
}

// frame returns the LLDP frame of a port with a number. It holds for a time, which it gives in
// whole seconds.
func (k *keyring) frame(from end, mac packet.MAC, number uint64, hold time.Duration) []byte {
	proof := make([]byte, proofLen)
	binary.BigEndian.PutUint64(proof, number)
	b := packet.Ethernet{Dst: packet.LLDPAddress, Src: mac,
		EtherType: packet.EtherTypeLLDP}.Append(nil)
	b = packet.LLDP{
		Chassis: packet.LLDPID{Subtype: packet.LLDPChassisLocal, Value: from.sw},
		Port: packet.LLDPID{Subtype: packet.LLDPPortLocal,
			Value: strconv.FormatUint(uint64(from.port), 10)},
		TTL:        uint16(min((hold+time.Second-1)/time.Second, 1<<16-1)),
		SystemName: from.sw,
		Organization: []packet.LLDPOrganization{
			{OUI: organization, Subtype: proofSubtype, Value: string(proof)},
		},
	}.Append(b)
	at := len(b) - tlvTail - digestLen
	copy(b[at:], k.digest(b[packet.EthernetLen:at]))
	return b
}

// digest returns the proof of what precedes it in a data unit.
func (k *keyring) digest(b []byte) []byte {
	h := hmac.New(sha256.New, k.key[:])
	h.Write(b)
	return h.Sum(nil)[:digestLen]
}

// verify returns the port that a frame left by, and its number. Everything in the data unit is
// covered by the digest; octets behind it are padding.
func (k *keyring) verify(frame []byte) (from end, number uint64, err error) {
	if len(frame) < packet.EthernetLen {
		return end{}, 0, fmt.Errorf("%w: %d octets", errForeign, len(frame))
	}
	b := frame[packet.EthernetLen:]
	unit, n, err := packet.ParseLLDP(b)
	if err != nil {
		return end{}, 0, fmt.Errorf("%w: %w", errForeign, err)
	}
	// The proof is the last TLV.
	if len(unit.Organization) == 0 {
		return end{}, 0, errForeign
	}
	o := unit.Organization[len(unit.Organization)-1]
	if o.OUI != organization || o.Subtype != proofSubtype || len(o.Value) != proofLen {
		return end{}, 0, errForeign
	}
	at := n - tlvTail - digestLen
	if string(b[at:n-tlvTail]) != o.Value[numberLen:] {
		return end{}, 0, errForeign // another TLV follows it
	}
	if !hmac.Equal(b[at:n-tlvTail], k.digest(b[:at])) {
		return end{}, 0, errForged
	}
	port, err := strconv.ParseUint(unit.Port.Value, 10, 32)
	if err != nil {
		return end{}, 0, fmt.Errorf("%w: port %q", errForged, unit.Port.Value)
	}
	return end{unit.Chassis.Value, uint32(port)}, binary.BigEndian.Uint64([]byte(o.Value[:numberLen])),
		nil
}
