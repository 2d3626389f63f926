//go:build linux

package figure1

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"google.golang.org/protobuf/encoding/prototext"

	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/p4/wire"
	"github.com/weft-sdn/weft/test/bmv2"
)

// twin is the embedded switch beside a BMv2 switch: it holds the same entries and gets the same
// frames, in virtual time.
type twin struct {
	name   string
	bmv2   *bmv2.Client
	device *p4rt.Device
	now    time.Duration
	due    map[uint32][][]byte // what it has sent and BMv2 has not yet, by port
	fed    map[uint32]bool     // ports whose frames BMv2 may still have to take
	// What BMv2 held and had counted when the twin was made.
	entities []string
	before   map[cell]count
}

const (
	deviceID = 1
	tick     = time.Millisecond // of the twin's clock, a frame
)

// newTwin makes a twin from the switch's present entries. BMv2's registers may still hold values
// from groups of earlier epochs.
func newTwin(ctx context.Context, name string, client *bmv2.Client, cache *p4rt.Cache) (*twin,
	error) {
	w := &twin{name: name, bmv2: client, due: map[uint32][][]byte{}, fed: map[uint32]bool{}}
	var err error
	w.device, err = p4rt.NewDevice(p4rt.Config{
		ID: deviceID, Cache: cache,
		Transmit: func(_ time.Duration, port uint32, frame []byte) {
			w.due[port] = append(w.due[port], bytes.Clone(frame))
		},
	})
	if err != nil {
		return nil, err
	}
	err = w.device.SetPipeline(w.now, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: deviceID, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
		Config: &p4v1.ForwardingPipelineConfig{P4Info: p4.P4Info(), P4DeviceConfig: p4.JSON()},
	})
	if err != nil {
		return nil, err
	}
	entities, err := contents(ctx, client)
	if err != nil {
		return nil, err
	}
	request := &p4v1.WriteRequest{DeviceId: deviceID}
	for _, e := range entities {
		u := &p4v1.Update{Type: p4v1.Update_INSERT, Entity: e}
		if e.GetTableEntry().GetIsDefaultAction() {
			u.Type = p4v1.Update_MODIFY
		}
		request.Updates = append(request.Updates, u)
	}
	if err := w.device.Write(w.now, request); err != nil {
		return nil, fmt.Errorf("what BMv2 holds cannot be written to the embedded switch: %w", err)
	}
	w.entities = digest(entities)
	w.before, err = counts(w.readBMv2(ctx))
	return w, err
}

// digest is what compares the contents of a switch.
func digest(entities []*p4v1.Entity) []string {
	var list []string
	for _, e := range entities {
		list = append(list, prototext.Format(e))
	}
	slices.Sort(list)
	return list
}

// contents reads back everything that can be programmed, in order of reference.
func contents(ctx context.Context, client *bmv2.Client) ([]*p4v1.Entity, error) {
	pre := func(e *p4v1.PacketReplicationEngineEntry) *p4v1.Entity {
		return wire.Entity(e)
	}
	wanted := []*p4v1.Entity{
		pre(&p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_CloneSessionEntry{
			CloneSessionEntry: &p4v1.CloneSessionEntry{}}}),
		pre(&p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{MulticastGroupEntry: &p4v1.MulticastGroupEntry{}}}),
	}
	info := p4.P4Info()
	for _, p := range info.GetActionProfiles() {
		id := p.GetPreamble().GetId()
		wanted = append(wanted,
			wire.Entity(&p4v1.ActionProfileMember{ActionProfileId: id}),
			wire.Entity(&p4v1.ActionProfileGroup{ActionProfileId: id}))
	}
	for _, t := range info.GetTables() {
		id := t.GetPreamble().GetId()
		if len(t.GetMatchFields()) > 0 {
			wanted = append(wanted,
				wire.Entity(&p4v1.TableEntry{TableId: id}))
		}
		if t.GetConstDefaultActionId() == 0 && t.GetImplementationId() == 0 {
			wanted = append(wanted,
				wire.Entity(&p4v1.TableEntry{TableId: id,
					IsDefaultAction: true}))
		}
	}
	var all []*p4v1.Entity
	for _, w := range wanted {
		entities, err := client.Read(ctx, w)
		if err != nil {
			return nil, fmt.Errorf("reading %v: %w", w, err)
		}
		all = append(all, entities...)
	}
	return all, nil
}

// receive feeds the twin a frame that has arrived at the BMv2 switch.
func (w *twin) receive(port uint32, frame []byte) {
	w.now += tick
	w.fed[port] = true
	w.device.Receive(w.now, port, frame)
	for {
		next, pending := w.device.Advance(w.now)
		if !pending {
			return
		}
		w.now = max(w.now, next)
	}
}

// left compares a frame that left the BMv2 switch with the next one that left the twin by that
// port.
func (w *twin) left(port uint32, frame []byte) error {
	due := w.due[port]
	if len(due) == 0 {
		return fmt.Errorf("%s port %d: BMv2 sent a frame that the embedded switch did not:\n%s", w.name,
			port, dissect(frame))
	}
	want := due[0]
	w.due[port] = due[1:]
	if !bytes.Equal(want, frame) {
		return fmt.Errorf("%s port %d: BMv2 and the embedded switch sent\n%s\n%s", w.name, port,
			dissect(frame), dissect(want))
	}
	return nil
}

// owes lists the ports where the twin has sent frames that BMv2 has not sent.
func (w *twin) owes() []string {
	var list []string
	for port, due := range w.due {
		if len(due) > 0 {
			list = append(list, fmt.Sprintf("%s port %d: %d frames, the first\n%s", w.name, port, len(due),
				dissect(due[0])))
		}
	}
	slices.Sort(list)
	return list
}

// taken reports whether BMv2 has begun with every frame that the twin was fed.
func (w *twin) taken(ctx context.Context) (bool, error) {
	for port := range w.fed {
		at := cell{p4.CounterPortRxID, int64(port)}
		want := wire.Entity(
			&p4v1.CounterEntry{CounterId: at.counter, Index: &p4v1.Index{Index: at.index}})
		theirs, err := counts(w.bmv2.Read(ctx, want))
		if err != nil {
			return false, err
		}
		ours, err := counts(w.readTwin(want))
		if err != nil {
			return false, err
		}
		if theirs[at].packets-w.before[at].packets < ours[at].packets {
			return false, nil
		}
		delete(w.fed, port)
	}
	return true, nil
}

// cell is a counter's cell.
type cell struct {
	counter uint32
	index   int64
}

type count struct{ packets, octets int64 }

func counts(entities []*p4v1.Entity, err error) (map[cell]count, error) {
	if err != nil {
		return nil, err
	}
	out := map[cell]count{}
	for _, e := range entities {
		c := e.GetCounterEntry()
		if n := (count{c.GetData().GetPacketCount(), c.GetData().GetByteCount()}); n != (count{}) {
			out[cell{c.GetCounterId(), c.GetIndex().GetIndex()}] = n
		}
	}
	return out, nil
}

var everyCounter = func() []*p4v1.Entity {
	var all []*p4v1.Entity
	for _, c := range p4.P4Info().GetCounters() {
		all = append(all,
			wire.Entity(&p4v1.CounterEntry{CounterId: c.GetPreamble().GetId()}))
	}
	return all
}()

func (w *twin) readBMv2(ctx context.Context) ([]*p4v1.Entity, error) {
	return w.bmv2.Read(ctx, everyCounter...)
}

func (w *twin) readTwin(wanted ...*p4v1.Entity) ([]*p4v1.Entity, error) {
	var all []*p4v1.Entity
	err := w.device.Read(w.now, &p4v1.ReadRequest{DeviceId: deviceID, Entities: wanted},
		func(m *p4v1.ReadResponse) {
			all = append(all, m.GetEntities()...)
		})
	return all, err
}

// compareCounters compares what both have counted: packets by port, drops by reason, events of the
// aggregation. BMv2 may still be at the last packets, and has until ctx ends.
func (w *twin) compareCounters(ctx context.Context, t *testing.T) {
	t.Helper()
	ours, err := counts(w.readTwin(everyCounter...))
	if err != nil {
		t.Fatal(err)
	}
	for {
		theirs, err := counts(w.readBMv2(ctx))
		if err != nil {
			t.Fatal(err)
		}
		differences := w.differences(ours, theirs)
		if len(differences) == 0 {
			return
		}
		if ctx.Err() != nil {
			t.Error(strings.Join(differences, "\n"))
			return
		}
	}
}

// differences lists the cells that are not the same. The controller's packets go to BMv2 only, so
// the CPU port is left out.
func (w *twin) differences(ours, theirs map[cell]count) []string {
	all := maps.Clone(theirs)
	maps.Copy(all, ours)
	var list []string
	for at := range all {
		want, got := ours[at], theirs[at]
		got.packets, got.octets = got.packets-w.before[at].packets, got.octets-w.before[at].octets
		perPort := at.counter == p4.CounterPortRxID || at.counter == p4.CounterPortTxID
		if got != want && !(perPort && at.index == p4.CpuPort) {
			list = append(list, fmt.Sprintf(
				"%s: BMv2 and the embedded switch count %+v and %+v in cell %d of counter %#x", w.name, got,
				want, at.index, at.counter))
		}
	}
	slices.Sort(list)
	return list
}

// compareEntries makes sure that BMv2 still holds what the twin was given.
func (w *twin) compareEntries(ctx context.Context, t *testing.T) {
	t.Helper()
	entities, err := contents(ctx, w.bmv2)
	if err != nil {
		t.Fatal(err)
	}
	if now := digest(entities); !slices.Equal(now, w.entities) {
		t.Errorf("%s: the controller has changed entries meanwhile", w.name)
	}
}
