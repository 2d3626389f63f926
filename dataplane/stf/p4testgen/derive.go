package main

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/packet"
)

// derive makes random changes to cases, in as many tries as the caller asks for. It returns the
// changed cases that reach statements which no case reached before. The minimum over 32 branches
// has more paths than p4testgen has time for, and each path is a few bits away from a path that
// p4testgen found.
func (f *fabric) derive(from []*candidate, tries int, seed uint64) (out []*candidate) {
	reached := map[trace.Source]bool{}
	for _, c := range from {
		maps.Copy(reached, c.run.reached)
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	for range tries {
		of := from[rng.IntN(len(from))]
		text := of.text
		for range 1 + rng.IntN(3) {
			text = change(rng, text)
		}
		c, err := f.readCandidate(fmt.Sprintf("derived-%d/%s", len(out)+1, of.name), text)
		if err != nil {
			continue // the switch refuses what it has become
		}
		adds := false
		for s := range c.run.reached {
			adds = adds || f.statements[s] && !reached[s]
		}
		if !adds {
			continue
		}
		maps.Copy(reached, c.run.reached)
		out, from = append(out, c), append(from, c)
	}
	return out
}

var (
	liveMask  = regexp.MustCompile(`"live_mask":0x([0-9A-Fa-f]{8})`)
	cellOf    = regexp.MustCompile(`(?m)^register_write (branch_\w+) (\d+) (\d+)$`)
	register  = regexp.MustCompile(`(?m)^(register_write \w+ \d+ )(\d+)$`)
	parameter = regexp.MustCompile(`"\w+":0x([0-9A-Fa-f]+)([,)])`)
	frame     = regexp.MustCompile(`(?m)^packet \d+ ([0-9A-Fa-f]+)$`)
)

const branches = 32 // of a group

// change returns a case with one thing changed.
func change(rng *rand.Rand, text string) string {
	digits := func(v string) string { return flip(rng, v, 16, 4*len(v)) }
	switch rng.IntN(9) {
	case 0:
		return moveBranches(rng, text)
	case 1:
		return copyCell(rng, text)
	case 2:
		return replace(rng, text, register, 2, func(v string) string { return flip(rng, v, 10, 64) })
	case 3:
		return replace(rng, text, parameter, 1, digits)
	case 4:
		return replace(rng, text, liveMask, 1, digits)
	case 5:
		return replace(rng, text, frame, 1, func(v string) string {
			for range 1 + rng.IntN(5) {
				v = withExtension(v)
			}
			return v
		})
	case 6:
		return replace(rng, text, frame, 1, withReceivers)
	case 7:
		return replace(rng, text, frame, 1, withHops)
	}
	return replace(rng, text, frame, 1, digits)
}

// replace changes a part of one of the places that an expression finds.
func replace(rng *rand.Rand, text string, of *regexp.Regexp, part int,
	by func(string) string) string {
	at := of.FindAllStringSubmatchIndex(text, -1)
	if len(at) == 0 {
		return text
	}
	m := at[rng.IntN(len(at))]
	return text[:m[2*part]] + by(text[m[2*part]:m[2*part+1]]) + text[m[2*part+1]:]
}

// flip flips one bit of a number; hexadecimal ones keep their length.
func flip(rng *rand.Rand, v string, base, width int) string {
	n, ok := new(big.Int).SetString(v, base)
	if !ok {
		return v
	}
	bit := rng.IntN(width)
	n.SetBit(n, bit, 1-n.Bit(bit))
	if base == 16 {
		return fmt.Sprintf("%0*X", len(v), n)
	}
	return n.String()
}

// moveBranches rotates the branches of each group: both the cells of registers and the live mask.
func moveBranches(rng *rand.Rand, text string) string {
	by := rng.IntN(branches)
	text = cellOf.ReplaceAllStringFunc(text, func(line string) string {
		m := cellOf.FindStringSubmatch(line)
		i, _ := strconv.Atoi(m[2])
		return fmt.Sprintf("register_write %s %d %s", m[1], i/branches*branches+(i+by)%branches, m[3])
	})
	return withLive(text, func(live uint32) uint32 { return bits.RotateLeft32(live, by) })
}

// copyCell copies one branch's report to a second branch in the group, and makes the second branch
// live.
func copyCell(rng *rand.Rand, text string) string {
	all := cellOf.FindAllStringSubmatch(text, -1)
	if len(all) == 0 {
		return text
	}
	m := all[rng.IntN(len(all))]
	i, _ := strconv.Atoi(m[2])
	to := rng.IntN(branches)
	text = strings.Replace(text, m[0], fmt.Sprintf("%s\nregister_write %s %d %s", m[0], m[1],
		i/branches*branches+to, m[3]), 1)
	return withLive(text, func(live uint32) uint32 { return live | 1<<to })
}

// withLive returns a case with other branches live.
func withLive(text string, change func(live uint32) uint32) string {
	return liveMask.ReplaceAllStringFunc(text, func(arg string) string {
		live, _ := strconv.ParseUint(liveMask.FindStringSubmatch(arg)[1], 16, 32)
		return fmt.Sprintf(`"live_mask":0x%08X`, change(uint32(live)))
	})
}

// Places in a frame with an IPv6 header, and in an SRH behind that (RFC 8754 section 2).
const (
	payloadLength = packet.EthernetLen + 4
	nextHeader    = packet.EthernetLen + 6
	hopLimit      = packet.EthernetLen + 7
	behind        = packet.EthernetLen + packet.IPv6Len
	hdrExtLen     = 1
	lastEntry     = 4
)

// grown returns a frame with octets put into the payload of its IPv6 header.
func grown(b []byte, at int, more ...byte) []byte {
	b = slices.Insert(b, at, more...)
	length := binary.BigEndian.Uint16(b[payloadLength:]) + uint16(len(more))
	binary.BigEndian.PutUint16(b[payloadLength:], length)
	return b
}

// withExtension puts a Destination Options header behind the IPv6 header of a frame, which is
// hexadecimal.
func withExtension(v string) string {
	b, err := hex.DecodeString(v)
	if err != nil || len(b) < behind || b[12] != 0x86 || b[13] != 0xdd {
		return v
	}
	next := b[nextHeader]
	b[nextHeader] = 60
	return fmt.Sprintf("%X", grown(b, behind, next, 0, 1, 4, 0, 0, 0, 0)) // with PadN
}

// withHops sets the Hop Limit of a frame's IPv6 header to 64. p4testgen picks a Hop Limit that lets
// no packet leave, if the packet reaches the statement anyway.
func withHops(v string) string {
	b, err := hex.DecodeString(v)
	if err != nil || len(b) < behind || b[12] != 0x86 || b[13] != 0xdd {
		return v
	}
	b[hopLimit] = 64
	return fmt.Sprintf("%X", b)
}

// withReceivers puts two receivers into the first TLV behind the segment list of a frame, taken for
// an End.MT TLV (draft section 7.2): so many that the SRH grows by whole units of 8 octets.
func withReceivers(v string) string {
	const fixed, receiver, more, number = 24, 20, 2, 20
	b, err := hex.DecodeString(v)
	if err != nil || len(b) < behind+packet.SRHFixedLen || b[nextHeader] != packet.NextHeaderRouting {
		return v
	}
	tlv := behind + packet.SRHFixedLen + packet.SegmentLen*(1+int(b[behind+lastEntry]))
	if len(b) < tlv+fixed {
		return v
	}
	b[tlv+1] += more * receiver
	b[tlv+number] += more
	b[behind+hdrExtLen] += more * receiver / 8
	return fmt.Sprintf("%X", grown(b, tlv+fixed, make([]byte, more*receiver)...))
}
