// Package hostruntest is wires that lose frames and files to send, for tests of hosts.
package hostruntest

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/packet"
)

// A Lossy port loses one frame in so many that are sent, at random: every n-th would not do, as
// go-back-N can get into step with that and lose the same forever.
type Lossy struct {
	live.Port
	Attached chan struct{} // closed by Attach
	// Saw, if not nil, is called with every sent frame except neighbor discovery.
	Saw   func(frame []byte)
	Link  func(up bool) // reports that the link goes up or down; set by Attach
	oneIn int
	rng   *rand.Rand
}

// NewLossy loses one frame in oneIn, none for 0.
func NewLossy(port live.Port, oneIn int, seed, stream uint64) *Lossy {
	return &Lossy{Port: port, Attached: make(chan struct{}), oneIn: oneIn,
		rng: rand.New(rand.NewPCG(seed, stream))}
}

// Attach attaches the port.
func (l *Lossy) Attach(deliver func(frames [][]byte), link func(up bool)) {
	l.Port.Attach(deliver, link)
	l.Link = link
	close(l.Attached)
}

// Send sends frames, or loses them.
func (l *Lossy) Send(frames [][]byte) (taken, octets int) {
	if l.Saw != nil {
		for _, f := range frames {
			if _, err := packet.ParseNDFrame(f); err != nil {
				l.Saw(f)
			}
		}
	}
	if l.oneIn > 0 && l.rng.IntN(l.oneIn) == 0 {
		return len(frames), 0
	}
	return l.Port.Send(frames)
}

// Files are what is written, a million octets and ten, and where the first may be saved.
func Files(t *testing.T) (data []byte, file, small, saved string) {
	t.Helper()
	dir := t.TempDir()
	data = make([]byte, 1_000_000)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	file, small, saved = filepath.Join(dir, "data"), filepath.Join(dir, "small"),
		filepath.Join(dir, "saved")
	if err := errors.Join(os.WriteFile(file, data, 0o600), os.WriteFile(small, []byte("0123456789"),
		0o600)); err != nil {
		t.Fatal(err)
	}
	return data, file, small, saved
}
