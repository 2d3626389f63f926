package main

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/southbound"
)

// TestSwitchForgetsElections: after SIGUSR1 a controller can take a switch to which a client with
// the highest election id is still connected.
func TestSwitchForgetsElections(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	sw := start(t, nil, "switch", "--no-p4", "--grpc-server-addr", "127.0.0.1:0")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cfg := southbound.DefaultConfig()
	cfg.Target, cfg.DeviceID, cfg.NoPortState = value(t, sw.err, "p4runtime"), 1, true
	backups := make(chan southbound.Backup, 16)
	open := func(id southbound.ElectionID, c southbound.Claim) *southbound.Session {
		t.Helper()
		cfg.Election, cfg.Claim = id, c
		s, err := southbound.Open(ctx, cfg, func(_ context.Context, e southbound.Event) {
			if b, ok := e.(southbound.Backup); ok {
				backups <- b
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	stray := open(southbound.ElectionID{High: 1<<64 - 1, Low: 1<<64 - 1}, southbound.ClaimFixed)
	if err := stray.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	ours := open(southbound.NewElectionID(1, 7), southbound.ClaimVacant)
	select {
	case <-backups:
	case <-ctx.Done():
		t.Fatal("the controller is no backup")
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	if err := ours.WaitReady(ctx); err != nil {
		t.Errorf("the controller is not primary: %v", err)
	}
	if said := sw.err.next(t); !strings.Contains(said, "forgotten") {
		t.Errorf("the switch logs %q", said)
	}
	if err := ours.Close(); err != nil {
		t.Error(err)
	}
	if err := stray.Close(); err != nil {
		t.Error(err)
	}
	sw.cancel()
	if status := <-sw.status; status != exitOK {
		t.Errorf("exit status %d", status)
	}
}
