package mrchost

import (
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/uverbs"
)

const doorText = `
transport: mrc
address: 2001:db8:1::1
ports:
- {interface: eth0, mac: 02:00:00:00:01:01, gateway: 02:00:00:00:01:02}
applications: {socket: SOCKET}
`

// TestDoorBreaks: a NIC that no application can reach any more ends, and says why.
func TestDoorBreaks(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "nic.sock")
	r := &runner{Runner: hostrun.New(0, 0, nil), links: make([]Link, 1), ended: make(chan struct{}),
		cfg: config(t, strings.ReplaceAll(doorText, "SOCKET", socket))}
	if err := r.prepare(slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	l, err := uverbs.Listen(socket, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	r.door = newDoor(uverbs.New(uverbs.Config{NIC: r.nic, Do: r.do}))
	if err := r.pump(); err != nil {
		t.Error(err)
	}
	if r.rest() {
		t.Error("there is work of nobody")
	}
	if r.door.found = true; !r.rest() {
		t.Error("the NIC may sleep before it sends what the last pump has found")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for range sockets {
		r.door.serve(l, false, r.do)
	}
	if err := r.pump(); !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), socket) {
		t.Errorf("%v, want the error of accept at %s", err, socket)
	}
	if err := r.door.close(); err != nil {
		t.Error(err)
	}
}
