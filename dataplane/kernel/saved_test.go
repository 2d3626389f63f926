//go:build linux

package kernel

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/internal/sonicdb"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// again ends the agent and opens another one, as with a restart of the machine if reboot.
func (b *bed) again(cfg Config, reboot bool) {
	b.t.Helper()
	if b.s != nil {
		_ = b.s.Close()
		b.s = nil
	}
	b.a.Close()
	if reboot {
		b.ip("-6", "route", "flush", "proto", "87")
		b.ip("link", "set", "p3", "mtu", "1500")
	}
	if err := b.ns.Do(func() (err error) {
		b.a, err = Open(cfg)
		return err
	}); err != nil {
		b.t.Fatal(err)
	}
}

// TestSaved: an agent with a file for its configuration restores the kernel after a restart,
// without a controller, and restores nothing that was deleted before. The agent logs and ignores a
// file that does not fit.
func TestSaved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config_db.json")
	var said bytes.Buffer
	b := newBed(t)
	cfg := Config{Ports: b.a.d.numbers, Hostname: "s1", Saved: file,
		Log: slog.New(slog.NewTextHandler(&said, nil))}
	b.a.d.saved = file
	b.session()
	b.write(put(locator, un, ua, neighbor, host)...)
	mtu := uint32(4000)
	b.until("a setting is taken", func() bool {
		refused, err := b.s.SetPort(t.Context(), "eth3", &gnmi.Settings{MTU: &mtu})
		return err == nil && len(refused) == 0
	})
	b.write(entry.Update{Type: entry.Delete, Entity: host})

	b.again(cfg, true)
	routes := b.ip("-6", "route")
	for _, want := range []string{"5f00:0:20::/48", "5f00:0:e001::/48", "5f00:0:21::/48"} {
		if !strings.Contains(routes, want) {
			t.Errorf("no %s after a restart:\n%s", want, routes)
		}
	}
	if strings.Contains(routes, "2001:db8::1") {
		t.Errorf("a route that was taken away is back:\n%s", routes)
	}
	if link := b.ip("link", "show", "p3"); !strings.Contains(link, "mtu 4000") {
		t.Errorf("eth3 after a restart: %s", link)
	}
	if n := len(b.a.server.Rows(sonicdb.ConfigDB, tableSIDs)); n != 2 {
		t.Errorf("CONFIG_DB has %d SIDs, want 2", n)
	}
	if n := len(b.a.server.Rows(sonicdb.ApplDB, "SRV6_MY_SID_TABLE")); n != 2 {
		t.Errorf("APPL_DB has %d SIDs, want 2", n)
	}
	if said.Len() > 0 {
		t.Errorf("log: %s", said.String())
	}

	for text, want := range map[string]string{
		"{":                                 "want tables of rows of fields",
		`{"SRV6_MY_SIDS": {"x|y": {}}}`:     "is no IPv6 prefix",
		`{"PORT": {"eth9": {}}}`:            "there is no such port",
		`{"QUEUE": {"eth1|0": {"a": "b"}}}`: "type STRICT alone",
	} {
		said.Reset()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		b.again(cfg, false)
		if !strings.Contains(said.String(), want) || !strings.Contains(said.String(), file) {
			t.Errorf("%s: log %q, want %q", text, said.String(), want)
		}
		if n := len(b.a.server.Rows(sonicdb.ConfigDB, tableSIDs)); n != 0 {
			t.Errorf("%s: CONFIG_DB has %d SIDs", text, n)
		}
		if routes := b.ip("-6", "route"); !strings.Contains(routes, "5f00:0:20::/48") {
			t.Errorf("%s: the kernel has lost its routes", text)
		}
	}
}

// TestSaveFails: a change that cannot be saved takes effect, and the client is told.
func TestSaveFails(t *testing.T) {
	b := newBed(t)
	b.a.d.saved = filepath.Join(t.TempDir(), "missing", "config_db.json")
	b.session()
	b.write(put(locator, un)...) // what counts is what is read back
	if !strings.Contains(b.ip("-6", "route"), "5f00:0:20::/48") {
		t.Error("a uN without effect")
	}
	var err error
	b.a.server.Change(func(dbs sonicdb.Databases) { err = b.a.d.Apply(dbs, dbs[sonicdb.ConfigDB]) })
	if err == nil || !strings.Contains(err.Error(), "saving the configuration") {
		t.Errorf("%v, want why it is not saved", err)
	}
}
