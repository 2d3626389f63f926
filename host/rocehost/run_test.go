package rocehost

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/dataplane/live/livetest"
	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/hostrun/hostruntest"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/packet"
)

var (
	sourceMAC   = packet.MAC{2, 0, 0, 0, 0, 1}
	receiverMAC = packet.MAC{2, 0, 0, 0, 0, 2}
)

const patience = 30 * time.Second

func config(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Load("host.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const senderText = `
interface: veth1
address: 2001:db8::1
gateway: 02:00:00:00:00:02
queuePairs:
- {qpn: 256, remoteAddress: "2001:db8::2", remoteQpn: 512, initialPsn: 0xfffff0, ackTimeout: 10}
writes:
- {file: %q, rkey: 7, va: 0x1000, message: 65536}
- {file: %q, rkey: 8}
`

const receiverText = `
name: r1
interface: veth2
address: 2001:db8::2
gateway: 02:00:00:00:00:01
queuePairs:
- {qpn: 512, remoteAddress: "2001:db8::1", remoteQpn: 256, initialPsn: 0xfffff0}
regions:
- {rkey: 7, va: 0x1000, size: 1000000, save: %q}
- {rkey: 8, size: 10}
expect: 1000010
linger: 200ms
`

// TestTransfer: two hosts on one wire that loses frames; the receiver holds the data that the
// sender writes, and both report success. Time is virtual, so a busy machine causes no loss.
func TestTransfer(t *testing.T) {
	for _, loss := range []int{0, 17} {
		t.Run(fmt.Sprintf("loss 1 in %d", loss), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				data, file, small, saved := hostruntest.Files(t)
				cable := livetest.NewCable()
				type outcome struct {
					report *Report
					err    error
				}
				received := make(chan outcome, 1)
				far := hostruntest.NewLossy(cable.B, loss, 1, 0)
				go func() {
					r, err := Run(ctx, config(t, fmt.Sprintf(receiverText, saved)), far, receiverMAC, nil)
					received <- outcome{r, err}
				}()
				<-far.Attached
				var last hostrun.Counts
				sent, err := Run(ctx, config(t, fmt.Sprintf(senderText, file, small)),
					hostruntest.NewLossy(cable.A, loss, 2, 0), sourceMAC, func(c hostrun.Counts) { last = c })
				if err != nil {
					t.Fatal(err)
				}
				got := <-received
				if got.err != nil {
					t.Fatal(got.err)
				}
				sum := sha256.Sum256(data)
				want := hex.EncodeToString(sum[:])
				if w := sent.Writes; len(w) != 2 || w[0].Octets != 1_000_000 || w[0].Status != "ok" ||
					w[0].SHA256 != want || w[1].Octets != 10 || loss > 0 && w[0].Seconds <= 0 {
					t.Errorf("writes: %+v", w)
				}
				if last.Written != 1_000_010 || last.ToWrite != 1_000_010 {
					t.Errorf("last progress: %+v", last)
				}
				r := got.report
				if r.Host != "r1" || r.Received != 1_000_010 || r.Regions[0].SHA256 != want ||
					r.Regions[0].Saved != saved || r.QueuePairs[0].AcksSent == 0 {
					t.Errorf("receiver: %+v", r)
				}
				if b, err := os.ReadFile(saved); err != nil || !bytes.Equal(b, data) {
					t.Errorf("saved file differs: %v", err)
				}
				if resent := sent.QueuePairs[0].RequestsResent; loss > 0 && resent == 0 {
					t.Error("frames were lost, and none was sent again")
				}
			})
		})
	}
}

// TestUnequalPMTU: a host that has refused its peer's packets reports the refusal and ends, because
// its queue pair accepts nothing more. The peer does the same.
func TestUnequalPMTU(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, file, small, saved := hostruntest.Files(t)
		cable := livetest.NewCable()
		far := hostruntest.NewLossy(cable.B, 0, 1, 0)
		received := make(chan error, 1)
		go func() {
			text := strings.Replace(fmt.Sprintf(receiverText, saved), "remoteQpn: 256,",
				"remoteQpn: 256, pmtu: 1024,", 1)
			_, err := Run(ctx, config(t, text), far, receiverMAC, nil)
			received <- err
		}()
		<-far.Attached
		_, err := Run(ctx, config(t, fmt.Sprintf(senderText, file, small)), cable.A, sourceMAC, nil)
		if !errors.Is(err, hostrun.ErrWrite) {
			t.Errorf("the sender ends with %v", err)
		}
		if err := <-received; !errors.Is(err, hostrun.ErrReceive) ||
			!strings.Contains(err.Error(), "pmtu of both ends to be equal (here 1024)") ||
			!strings.Contains(err.Error(), "invalid_request:1") {
			t.Errorf("the receiver ends with %v", err)
		}
	})
}

// TestEvery: a write with an interval begins again that long after its end, and the host goes on
// until it is interrupted, which is no failure.
func TestEvery(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, _, small, _ := hostruntest.Files(t)
		cable := livetest.NewCable()
		receiving, stop := context.WithTimeout(t.Context(), patience)
		defer stop()
		far := hostruntest.NewLossy(cable.B, 0, 1, 0)
		received := make(chan *Report, 1)
		go func() {
			r, err := Run(receiving, config(t, strings.Replace(fmt.Sprintf(receiverText, ""),
				"expect: 1000010", "", 1)), far, receiverMAC, nil)
			if err != nil {
				t.Error(err)
			}
			received <- r
		}()
		<-far.Attached
		text := strings.Replace(fmt.Sprintf(senderText, "", small),
			`file: "", rkey: 7, va: 0x1000, message: 65536}`, "random: 10, rkey: 7, va: 0x1000, every: 2s}",
			1)
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		var last hostrun.Counts
		sent, err := Run(ctx, config(t, text), cable.A, sourceMAC, func(c hostrun.Counts) { last = c })
		if err != nil {
			t.Errorf("interrupted between writes: %v", err)
		}
		// At 0, 2, 4, 6 and 8 s; the other file once.
		if w := sent.Writes; w[0].Rounds != 5 || w[0].Octets != 50 || w[0].Status != "ok" ||
			w[1].Rounds != 1 || w[1].Octets != 10 {
			t.Errorf("writes: %+v", w)
		}
		if last.Written != 60 || last.ToWrite != 60 {
			t.Errorf("last progress: %+v", last)
		}
		stop()
		if r := <-received; r.Received != 60 {
			t.Errorf("received %d octets", r.Received)
		}
	})
}

// TestFailures: what a host that cannot do its work says.
func TestFailures(t *testing.T) {
	defer goleak.VerifyNone(t)
	file := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(file, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	sender := fmt.Sprintf(senderText, file, file)
	for _, c := range []struct {
		name, text string
		want       error
		message    string
	}{
		{"nobody answers", strings.Replace(sender, "ackTimeout: 10", "ackTimeout: 4, retryCount: 2", 1),
			hostrun.ErrWrite, "retry count exceeded"},
		{"told to end", sender, hostrun.ErrInterrupted, "after 0 of 200 octets were written"},
		{"told to end while waiting", fmt.Sprintf(receiverText, ""), hostrun.ErrInterrupted,
			"after 0 of 1000010 octets were received"},
		{"told to end while serving", strings.Replace(fmt.Sprintf(receiverText, ""), "expect: 1000010",
			"", 1), nil, ""},
		{"no such file", fmt.Sprintf(senderText, "/nowhere", file), hostrun.ErrConfig,
			"writes[0]: invalid host configuration: open /nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			if c.want != hostrun.ErrWrite {
				cancel()
			}
			defer cancel()
			_, err := Run(ctx, config(t, c.text), livetest.NewCable().A, sourceMAC, nil)
			if !errors.Is(err, c.want) || err != nil && !strings.Contains(err.Error(), c.message) {
				t.Errorf("error %v, want %v with %q", err, c.want, c.message)
			}
		})
	}
}

func TestLoadErrors(t *testing.T) {
	good := fmt.Sprintf(senderText, "a", "b")
	for _, c := range []struct{ name, old, new, want string }{
		{"unknown field", "rkey: 8", "key: 8",
			"host.yaml:9: invalid host configuration: writes[1].key: unknown field: want one of "},
		{"no interface", "interface: veth1", "name: x", "interface: is missing"},
		{"reserved QPN", "qpn: 256", "qpn: 1",
			"host.yaml:6: queuePairs[0]: QP 0x1: QPN 1: want 2..0xFFFFFE"},
		{"PSN", "0xfffff0", "0x1000000",
			"host.yaml:6: queuePairs[0]: QP 0x100: SQPSN 16777216: want 24 bits"},
		{"IPv4", "2001:db8::1", "224.0.0.1",
			"host.yaml:3: address: host veth1: Addr 224.0.0.1 is not a unicast address of IPv6 or IPv4"},
		{"message", "65536", "-1", "host.yaml:8: writes[0].message: is -1"},
		{"wrong queue pair", "{file: \"b\"", "{qpn: 9, file: \"b\"",
			"host.yaml:9: writes[1].qpn: 9 is not one of queuePairs"},
		{"negative linger", "interface: veth1", "interface: veth1\nlinger: -1s",
			"host.yaml:3: linger: is -1s"},
		{"region", "writes:", "regions: [{rkey: 1, size: 0}]\nwrites:",
			"host.yaml:7: regions[0].size: is 0"},
		{"region twice", "writes:", "regions: [{rkey: 1, size: 1}, {rkey: 1, size: 1}]\nwrites:",
			"regions[1].rkey: 0x1 is also that of regions[0]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(good, c.old) {
				t.Fatalf("%q is not in the text", c.old)
			}
			_, err := Load("host.yaml", []byte(strings.Replace(good, c.old, c.new, 1)))
			if !errors.Is(err, hostrun.ErrConfig) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error:\n%v\nwant: %s", err, c.want)
			}
		})
	}
}

// TestAllFaults: every fault of a file is reported, each with its line.
func TestAllFaults(t *testing.T) {
	_, err := Load("host.yaml", []byte(`interface: veth1
address: 2001:db8::1
linger: -1s
regions:
- {rkey: 1, size: 0}
- {rkey: 1, size: 7}
queuePairs:
- {qpn: 1, remoteAddress: "2001:db8::2", remoteQpn: 512}
writes:
- {qpn: 9}
`))
	if err == nil {
		t.Fatal("the file is taken")
	}
	var got []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		place, rest, _ := strings.Cut(line, ": ")
		field, _, _ := strings.Cut(strings.TrimPrefix(rest, hostrun.ErrConfig.Error()+": "), ": ")
		got = append(got, place+" "+field)
	}
	want := []string{
		"host.yaml:3 linger", "host.yaml:5 regions[0].size",
		"host.yaml:6 regions[1].rkey",
		"host.yaml:8 queuePairs[0]", "host.yaml:10 writes[0].qpn", "host.yaml:10 writes[0].file",
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults\n%q, want\n%q\n%v", got, want, err)
	}
}

// TestEncapsulation: the header of in-band mode is what the endpoint wants.
func TestEncapsulation(t *testing.T) {
	c := config(t, `
interface: veth1
address: 2001:db8::1
gateway: 02:00:00:00:00:02
queuePairs:
- qpn: 256
  remoteAddress: 2001:db8:ff::1
  remoteQpn: 4096
  encapsulation:
    sid: "5f00:0:6:8000::"
    edges:
    - {node: "2001:db8:0:1::1", receivers: [{address: "2001:db8:1:2::1", qpn: 512}]}
`)
	e := c.QueuePairs[0].config().Encapsulation
	if e == nil || e.Source != c.Address || len(e.Edges) != 1 || e.Edges[0].Receivers[0].QPN != 512 {
		t.Errorf("encapsulation %+v", e)
	}
	// IPv6 40, SRH 8 + 2 x 16 + TLV 44 padded to 48; IPv6 40, UDP 8, BTH 12, RETH 16, ImmDt 4,
	// payload, ICRC 4.
	if err := c.CheckMTU(4308); err != nil {
		t.Error(err)
	}
	if err := c.CheckMTU(4307); !errors.Is(err, hostrun.ErrConfig) ||
		!strings.Contains(err.Error(), "packets of 4308 octets: interface veth1 has an MTU of 4307") {
		t.Errorf("error %v", err)
	}
}
