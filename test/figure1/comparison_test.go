//go:build linux

package figure1

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/test/bmv2"
)

// comparison holds what leaves BMv2 switches against what leaves their twins.
type comparison struct {
	twins map[string]*twin

	mu     sync.Mutex // for recorded
	queue  []bmv2.Frame
	notify chan struct{} // has room for one

	seen    int                  // frames so far
	data    map[[2]bmv2.Port]int // WRITEs and SENDs among them, by the ports they left and reached
	toHosts int                  // frames that reached a tap
	awaited int                  // injected and not seen
}

func newComparison() *comparison {
	return &comparison{twins: map[string]*twin{}, notify: make(chan struct{}, 1),
		data: map[[2]bmv2.Port]int{}}
}

// record takes what a bmv2.Recorder has.
func (c *comparison) record(f bmv2.Frame) {
	c.mu.Lock()
	c.queue = append(c.queue, f)
	c.mu.Unlock()
	select {
	case c.notify <- struct{}{}:
	default:
	}
}

func (c *comparison) take() []bmv2.Frame {
	c.mu.Lock()
	defer c.mu.Unlock()
	frames := c.queue
	c.queue = nil
	return frames
}

// settle compares the recorded frames until everything sent by the twins has left BMv2 too, and
// BMv2 has started on every frame. settle returns the first difference.
func (c *comparison) settle(ctx context.Context) error {
	for {
		for frames := c.take(); len(frames) > 0; frames = c.take() {
			for _, f := range frames {
				if err := c.step(f); err != nil {
					return err
				}
			}
		}
		var owed []string
		all := true
		for _, w := range c.twins {
			owed = append(owed, w.owes()...)
			if len(owed) > 0 {
				continue
			}
			ok, err := w.taken(ctx)
			if err != nil {
				return err
			}
			all = all && ok
		}
		if len(owed) == 0 && c.awaited <= 0 {
			if all {
				return nil
			}
			if ctx.Err() != nil {
				return fmt.Errorf("BMv2 does not take what has arrived: %w", ctx.Err())
			}
			continue
		}
		select {
		case <-c.notify:
		case <-ctx.Done():
			return fmt.Errorf("BMv2 does not send what the embedded switch has sent, or %d frames are not "+
				"on the record: %w\n%s",
				c.awaited, ctx.Err(), strings.Join(owed, "\n"))
		}
	}
}

func (c *comparison) step(f bmv2.Frame) error {
	c.seen++
	switch (bmv2.Port{}) {
	case f.From:
		c.awaited--
	case f.To:
		c.toHosts++
	}
	if p, _, err := packet.ParseRoCE(f.Octets); err == nil &&
		p.BTH.Opcode <= packet.OpWriteOnlyImmediate {
		c.data[[2]bmv2.Port{f.From, f.To}]++
	}
	var err error
	if w := c.twins[f.From.Switch]; w != nil {
		err = w.left(f.From.Port, f.Octets)
	}
	if w := c.twins[f.To.Switch]; w != nil {
		w.receive(f.To.Port, f.Octets)
	}
	return err
}

// dissect describes a frame for a person.
func dissect(frame []byte) string {
	p, _, err := packet.ParseRoCE(frame)
	if err != nil {
		return fmt.Sprintf("  %x (%v)", frame[:min(len(frame), 256)], err)
	}
	return fmt.Sprintf("  %x\n  outer %+v SRH %+v\n  %+v %+v %+v %+v", frame[:min(len(frame), 256)],
		p.Outer, p.SRH, p.IPv6, p.BTH, p.RETH, p.AETH)
}

// TestComparison makes sure that a difference is told, wherever it is.
func TestComparison(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	port := bmv2.Port{Switch: "N1", Port: 2}
	for _, c := range []struct {
		name    string
		due     [][]byte // of the twin
		left    []string // BMv2
		awaited int
		want    string // in the error; "" is none
	}{
		{"the same", [][]byte{[]byte("one"), []byte("two")}, []string{"one", "two"}, 0, ""},
		{"another octet", [][]byte{[]byte("one")}, []string{"onE"}, 0,
			"BMv2 and the embedded switch sent"},
		{"another order", [][]byte{[]byte("one"), []byte("two")}, []string{"two", "one"}, 0,
			"BMv2 and the embedded switch sent"},
		{"one more", [][]byte{[]byte("one")}, []string{"one", "one"}, 0,
			"that the embedded switch did not"},
		{"one less", [][]byte{[]byte("one"), []byte("two")}, []string{"one"}, 0,
			"does not send what the embedded switch has sent"},
		{"not on the record", nil, nil, 1, "does not send what"},
	} {
		cmp := newComparison()
		cmp.twins["N1"] = &twin{name: "N1", due: map[uint32][][]byte{2: c.due}}
		cmp.awaited = c.awaited
		for _, octets := range c.left {
			cmp.record(bmv2.Frame{From: port, Octets: []byte(octets)})
		}
		switch err := cmp.settle(ended); {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.want)
		case strings.HasPrefix(c.want, "does not") && !errors.Is(err, context.Canceled):
			t.Errorf("%s: error %v, want the context's", c.name, err)
		}
	}
}
