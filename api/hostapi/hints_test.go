package hostapi_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostapitest"
	"github.com/weft-sdn/weft/api/hostapi/hostpb"
)

// TestHintsAside: hints change no other part of a state, an update without hints leaves the hints
// unchanged, and a host without support for hints refuses hints by name.
func TestHintsAside(t *testing.T) {
	base, err := hostapi.NewState(hostapi.State{Profiles: []*hostapi.Profile{good()}})
	if err != nil {
		t.Fatal(err)
	}
	hinted := *base
	hinted.Hints = hostapi.QPHints{QPsPerPeer: 4, SendPeers: 3, RemotePeers: 2}
	d := hostapi.Diff(base, &hinted, true)
	if d.Empty() || len(d.SetProfiles)+len(d.Change) > 0 {
		t.Errorf("the difference is %+v", d)
	}
	got, err := base.Apply(&d)
	if err != nil || !got.Equal(&hinted) || got.Equal(base) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = got.Apply(&hostapi.Delta{RemoveProfiles: []string{good().Name}}); err != nil ||
		got.Hints != hinted.Hints {
		t.Errorf("without a word of hints: %+v, %v", got, err)
	}
	caps := hostapitest.Capabilities()
	caps.QPHints = false
	var e *hostapi.FieldError
	if err := caps.CheckUpdate(&hinted, &d); !errors.As(err, &e) || e.Field != "qp_hints" ||
		e.Code != hostapi.CodeUnsupported {
		t.Errorf("a host that takes none: %v", err)
	}
	if caps.Check(&hinted) == nil || caps.Check(base) != nil {
		t.Error("a host that takes none holds another state than it can")
	}
}

// TestHintsTogether: the hints of a host sum the peers of all its jobs.
func TestHintsTogether(t *testing.T) {
	a := hostapi.QPHints{QPsPerPeer: 1, SendPeers: 3, RemotePeers: hostapi.MaxQPHint}
	b := hostapi.QPHints{QPsPerPeer: 4, SendPeers: 1, RemotePeers: 1}
	want := hostapi.QPHints{QPsPerPeer: 4, SendPeers: 4, RemotePeers: hostapi.MaxQPHint}
	if a.Beside(b) != want || b.Beside(a) != want {
		t.Errorf("%+v and %+v, want %+v", a.Beside(b), b.Beside(a), want)
	}
}

// TestNewerPeer: fields that a later release adds are no fault of a message: a host and a
// controller of other releases understand each other.
func TestNewerPeer(t *testing.T) {
	later := protowire.AppendTag(nil, 4000, protowire.BytesType)
	later = protowire.AppendBytes(later, []byte("more"))
	u := &hostapi.Update{Version: hostapi.Version{Epoch: 1, Number: 2}, Delta: hostapi.Delta{
		Hints: &hostapi.QPHints{QPsPerPeer: 1, SendPeers: 2, RemotePeers: 3}}}
	body, err := proto.Marshal(hostapi.Parts(u, hostapi.PartBytes)[0])
	if err != nil {
		t.Fatal(err)
	}
	m := &hostpb.Update{}
	if err := proto.Unmarshal(append(body, later...), m); err != nil {
		t.Fatal(err)
	}
	got, lost, err := new(hostapi.Assembler).Add(m)
	if err != nil || lost || *got.Delta.Hints != *u.Delta.Hints {
		t.Errorf("an update: %+v, %v", got, err)
	}
	hello := &hostapi.Hello{API: 1, Name: "h1", Instance: 3, Capabilities: hostapitest.Capabilities()}
	said := hostapi.EncodeUp(hello).GetHello()
	said.ProtoReflect().SetUnknown(later)
	said.Capabilities.ProtoReflect().SetUnknown(later)
	up, err := hostapi.DecodeUp(&hostpb.HostMessage{Message: &hostpb.HostMessage_Hello{Hello: said}})
	if h, ok := up.(*hostapi.Hello); err != nil || !ok || !h.Capabilities.Equal(&hello.Capabilities) {
		t.Errorf("a hello: %+v, %v", up, err)
	}
}
