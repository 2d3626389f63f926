package certs

import (
	"slices"
	"testing"
	"time"
)

// TestMonitor follows a certificate through its life.
func TestMonitor(t *testing.T) {
	day := 24 * time.Hour
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cert := Certificate{Place: "api.tls", Serial: "1", NotBefore: start,
		NotAfter: start.Add(365 * day)}
	short := Certificate{Place: "mrc.tls", Serial: "7", NotBefore: start, NotAfter: start.Add(3 * day)}
	peer := Certificate{Place: "switches[0].tls", Serial: "9", Identity: "weft://switch/n1",
		Peer: true, NotBefore: start, NotAfter: start.Add(10 * 365 * day)}
	var m Monitor
	var story []string
	kinds := map[ChangeType]string{ChangeExpiring: "expiring", ChangeExpired: "expired",
		ChangeRenewed: "renewed", ChangeRefused: "refused"}
	at := func(now time.Duration, list ...Certificate) {
		for _, c := range m.Next(start.Add(now), list) {
			story = append(story, now.String()+" "+kinds[c.Type]+" "+c.Name)
		}
	}
	broken, renewed := cert, cert
	broken.Fault = "garbage"
	renewed.Serial, renewed.NotBefore, renewed.NotAfter = "2", start.Add(366*day), start.Add(730*day)
	at(0, cert, short, peer)
	at(day, cert, short, peer)
	at(2*day+time.Hour, cert, short, peer)
	at(3*day-time.Hour, cert, short, peer)
	at(3*day, cert, short, peer)
	at(100*day, broken, peer)
	at(101*day, broken, peer)
	at(102*day, cert, peer)
	at(336*day, cert, peer)
	at(340*day, cert, peer)
	at(360*day, cert, peer)
	at(365*day, cert, peer)
	at(366*day, renewed, peer)
	at(367*day, renewed, peer)
	want := []string{
		"49h0m0s expiring mrc.tls", "71h0m0s expiring mrc.tls", "72h0m0s expired mrc.tls",
		"2400h0m0s refused api.tls", "8064h0m0s expiring api.tls", "8640h0m0s expiring api.tls",
		"8760h0m0s expired api.tls", "8784h0m0s renewed api.tls",
	}
	if !slices.Equal(story, want) {
		t.Errorf("story:\n%q\nwant\n%q", story, want)
	}
}
