package main

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/packet"
)

// TestDerive leaves out the derived cases, and finds some of the statements again that they alone
// reach.
func TestDerive(t *testing.T) {
	f, err := loadFabric("../../../p4")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../p4/testdata/generated.stf")
	if err != nil {
		t.Fatal(err)
	}
	var made []*candidate
	reached := map[trace.Source]bool{}
	derived := 0
	for name, text := range namedCases(string(text)) {
		if strings.HasPrefix(name, "derived-") {
			derived++
			continue
		}
		c, err := f.readCandidate(name, text)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, c)
		maps.Copy(reached, c.run.reached)
	}
	if derived == 0 {
		t.Fatal("no case is derived")
	}
	if out := f.derive(made, 0, 1); len(out) != 0 {
		t.Errorf("%d cases without a try", len(out))
	}
	out := f.derive(made, 1500, 1)
	if len(out) == 0 {
		t.Fatal("nothing is derived")
	}
	for i, c := range out {
		n := 0
		for s := range c.run.reached {
			if f.statements[s] && !reached[s] {
				reached[s] = true
				n++
			}
		}
		if n == 0 || !strings.HasPrefix(c.name, "derived-") {
			t.Errorf("case %d, %s, adds nothing", i, c.name)
		}
	}
}

// TestChanges: what moves and copies branches keeps the group and what they report; frames stay
// whole, with extension headers and receivers in them.
func TestChanges(t *testing.T) {
	const text = `add "t" "group":0x0002 "a"("live_mask":0x80000001,"port":0x12)
register_write branch_state 64 7
register_write branch_state 95 9
register_write group_sent 2 5
`
	at := regexp.MustCompile(`live_mask":0x(\w+)[^$]*branch_state (\d+) 7\n[^$]*branch_state (\d+) 9`)
	for seed := range uint64(40) {
		m := at.FindStringSubmatch(moveBranches(rand.New(rand.NewPCG(seed, 0)), text))
		by := rand.New(rand.NewPCG(seed, 0)).IntN(branches)
		if m == nil || m[2] != fmt.Sprint(64+by) || m[3] != fmt.Sprint(64+(31+by)%32) ||
			m[1] != fmt.Sprintf("%08X", 1<<by|1<<((31+by)%32)) {
			t.Errorf("moved by %d: %q", by, m)
		}
		got := copyCell(rand.New(rand.NewPCG(seed, 0)), text)
		if strings.Count(got, "branch_state") != 3 {
			t.Errorf("copied: %s", got)
		}
	}
	srh := make([]byte, behind)
	srh[12], srh[13] = 0x86, 0xdd
	srh[payloadLength+1], srh[nextHeader] = 8+16+24, packet.NextHeaderRouting
	srh = append(srh, 59, 5, 4, 0, 0, 0, 0, 0)
	srh = append(srh, make([]byte, 16)...)
	srh = append(srh, append([]byte{124, 22}, make([]byte, 22)...)...)
	got, err := hex.DecodeString(withReceivers(hex.EncodeToString(srh)))
	if err != nil || len(got) != len(srh)+40 || got[payloadLength+1] != 48+40 || got[behind+1] != 10 ||
		got[behind+24+1] != 62 || got[behind+24+20] != 2 {
		t.Errorf("with receivers: %x, %v", got, err)
	}
	got, err = hex.DecodeString(withExtension(hex.EncodeToString(srh)))
	if err != nil || len(got) != len(srh)+8 || got[payloadLength+1] != 48+8 || got[nextHeader] != 60 ||
		got[behind] != packet.NextHeaderRouting || got[behind+1] != 0 || got[behind+8] != 59 {
		t.Errorf("with an extension header: %x, %v", got, err)
	}
	got, err = hex.DecodeString(withHops(hex.EncodeToString(srh)))
	srh[hopLimit] = 64
	if err != nil || !bytes.Equal(got, srh) {
		t.Errorf("with another Hop Limit: %x, %v", got, err)
	}
	srh[hopLimit] = 0
	for _, short := range []string{"", "zz", hex.EncodeToString(srh[:53]),
		hex.EncodeToString(srh[:80])} {
		if withReceivers(short) != short || len(short) < 2*54 && (withExtension(short) != short ||
			withHops(short) != short) {
			t.Errorf("%q is changed", short)
		}
	}
}
