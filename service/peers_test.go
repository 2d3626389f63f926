package service

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
)

// TestDeadNodes: a switch is dead when it has had no connection for a while.
func TestDeadNodes(t *testing.T) {
	now := time.Unix(1000, 0)
	w := func(node string, managed, connected bool, since time.Duration) api.SwitchStatus {
		return api.SwitchStatus{Node: node, Managed: managed, Connected: connected,
			Since: now.Add(-since)}
	}
	got := dead([]api.SwitchStatus{w("a", true, false, deadAfter), w("b", true, false, deadAfter-1),
		w("c", true, true, deadAfter), w("d", false, false, deadAfter),
		w("", true, false, deadAfter)}, now)
	if len(got) != 1 || !got["a"] {
		t.Errorf("%v, want a alone", got)
	}
}

// TestPeerPassword: a password comes from the configuration or from a private file.
func TestPeerPassword(t *testing.T) {
	file := t.TempDir() + "/password"
	write := func(text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
	b := &inventory.BGP{ASN: 64512}
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string // or a part of the error
	}{
		{"secret\nof the router\n", 0o600, "secret"}, {"secret", 0o640, "secret"},
		{"secret", 0o644, "others cannot use"}, {"\nsecret", 0o600, "is empty"},
	} {
		write(c.text, c.mode)
		p, err := bgpPeer(b, &inventory.Peer{PasswordFile: file})
		if err != nil && !strings.Contains(err.Error(), c.want) || err == nil && p.Password != c.want {
			t.Errorf("%q with mode %#o: %q, %v, want %q", c.text, c.mode, p.Password, err, c.want)
		}
	}
	if p, err := bgpPeer(b, &inventory.Peer{Password: "x", Nodes: []string{"10.0.0.6"},
		Limits: inventory.PeerLimits{Links: 5}}); err != nil ||
		p.Password != "x" || p.ASN != 64512 || p.Limits.Links != 5 || p.Scope.Has("64512:10.0.0.7") ||
		!p.Scope.Has("64512:10.0.0.6") {
		t.Errorf("peer %+v, %v", p, err)
	}
}
