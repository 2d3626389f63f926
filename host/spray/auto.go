package spray

import (
	"math/rand/v2"

	"github.com/weft-sdn/weft/packet"
)

// firstAutoPort is the least source port of the values that Auto draws: the dynamic range, as
// RoCEv2 has it (IBTA annex A17).
const firstAutoPort = 0xC000

// Auto is the profile of a queue pair without one, and of profiles in mode AUTO (§9.4.1): values
// for switches to hash, drawn by the seed, perPort on each of ports 1 to ports. At least one stays
// active. It is for ECMP: no one knows which paths the values take.
func Auto(seed uint64, perPort, ports int) Profile {
	rng := rand.New(rand.NewPCG(seed, 0x6175746f))
	p := Profile{EVs: make([]EV, 0, perPort*ports), MinActive: 1}
	for range perPort {
		for port := range ports {
			v := packet.NewEV(uint16(firstAutoPort|rng.Uint32N(1<<16-firstAutoPort)), rng.Uint32()&0xFFFF)
			p.EVs = append(p.EVs, EV{Value: v, Port: port + 1})
		}
	}
	return p
}
