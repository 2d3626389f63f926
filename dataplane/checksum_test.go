package dataplane

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// ones16 is the one's complement sum of hex octets, done the slow way.
func ones16(t testing.TB, s string) uint16 {
	b := unhex(t, s)
	if len(b)%2 != 0 {
		b = append(b, 0)
	}
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// ipv4 builds a packet of checksum.p4 with right checksums.
func ipv4(t testing.TB, ttl int, dst, options, ports, payload string) string {
	udpLen := 8 + len(payload)/2
	pseudo := "0a000001" + dst + fmt.Sprintf("0011%04x", udpLen)
	sum := ones16(t, pseudo+ports+fmt.Sprintf("%04x", udpLen)+payload)
	udp := ports + fmt.Sprintf("%04x%04x", udpLen, sum) + payload
	head := fmt.Sprintf("4%x00%04x12340000%02x11", 5+len(options)/8, 20+len(options)/2+udpLen, ttl)
	check := ones16(t, head+"0a000001"+dst+options)
	return head + fmt.Sprintf("%04x", check) + "0a000001" + dst + options + udp
}

func TestChecksums(t *testing.T) {
	for _, options := range []string{"", "01020304", "0102030405060708"} {
		for _, payload := range []string{"", "aa", "aabb", "aabbccddeeff0011223344"} {
			r := newBed(t, "checksum")
			in := ipv4(t, 64, "0a000002", options, "c0001234", payload)
			r.expect(7, in, sent{1, ipv4(t, 63, "0a000063", options, "c0001234", payload)})
		}
	}
}

func TestBadChecksum(t *testing.T) {
	r := newBed(t, "checksum")
	in := ipv4(t, 64, "0a000002", "", "c0001234", "aabbcc")
	out := ipv4(t, 63, "0a000063", "", "c0001234", "aabbcd")
	r.expect(7, in[:len(in)-1]+"d", sent{2, out}) // noticed, and made right on the way out
	// No UDP checksum, none made.
	in = in[:52] + "0000" + in[56:]
	if got := r.send(7, in); len(got) != 1 || got[0].port != 1 || got[0].data[52:56] != "0000" {
		t.Errorf("%v", got)
	}
}

func TestChecksumsAgainstSimpleSwitch(t *testing.T) {
	if testing.Short() {
		t.Skip("starts another process")
	}
	o := newOracle(t, "checksum")
	const seed = 6
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		payload := make([]byte, rng.IntN(60))
		for i := range payload {
			payload[i] = byte(rng.Uint32())
		}
		options := [...]string{"", "01020304", "0102030405060708"}[rng.IntN(3)]
		b := unhex(t, ipv4(t, 1+rng.IntN(255), "0a000002", options, "c0001234",
			fmt.Sprintf("%x", payload)))
		if rng.IntN(2) == 0 {
			b = mutate(rng, b)
		}
		o.packet(uint32(rng.IntN(2)), b)
	}
	o.compare([]uint32{0, 1, 2})
}
