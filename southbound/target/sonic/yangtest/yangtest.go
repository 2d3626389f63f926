// Package yangtest has SONiC's own YANG modules judge configurations, by yanglint, in tests.
package yangtest

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/target"
	"github.com/weft-sdn/weft/southbound/target/sonic"
)

// modulesDirectory names the folder src/sonic-yang-models of a checkout of
// github.com/sonic-net/sonic-buildimage.
const modulesDirectory = "WEFT_SONIC_YANG"

// place is the place of a table in the YANG modules: a list with keys, or a container per row.
// inner holds the key and the value of a list in each row, for rows that are maps.
type place struct {
	module string
	keys   []string
	inner  []string
}

var places = map[string]place{
	"PORT":             {"sonic-port", []string{"name"}, nil},
	"INTERFACE":        {"sonic-interface", []string{"name"}, nil},
	"SRV6_MY_LOCATORS": {"sonic-srv6", []string{"locator_name"}, nil},
	"SRV6_MY_SIDS":     {"sonic-srv6", []string{"locator", "ip_prefix"}, nil},
	"STATIC_ROUTE":     {"sonic-static-route", []string{"vrf_name", "prefix"}, nil},
	"DSCP_TO_TC_MAP":   {"sonic-dscp-tc-map", []string{"name"}, []string{"dscp", "tc"}},
	"TC_TO_QUEUE_MAP":  {"sonic-tc-queue-map", []string{"name"}, []string{"tc", "qindex"}},
	"TC_TO_DSCP_MAP":   {"sonic-tc-dscp-map", []string{"name"}, []string{"tc", "dscp"}},
	"SCHEDULER":        {"sonic-scheduler", []string{"name"}, nil},
	"WRED_PROFILE":     {"sonic-wred-profile", []string{"name"}, nil},
	"QUEUE":            {"sonic-queue", []string{"ifname", "qindex"}, nil},
	"PORT_QOS_MAP":     {"sonic-port-qos-map", []string{"ifname"}, nil},
	"BUFFER_POOL":      {"sonic-buffer-pool", []string{"name"}, nil},
	"BUFFER_PROFILE":   {"sonic-buffer-profile", []string{"name"}, nil},
	"BUFFER_QUEUE":     {"sonic-buffer-queue", []string{"port", "qindex"}, nil},
	"SWITCH_TRIMMING":  {"sonic-trimming", nil, nil},
	"SWITCH_HASH":      {"sonic-hash", nil, nil},
}

// Modules are the YANG modules of SONiC.
type Modules struct{ yanglint, folder string }

// Open reads the modules. It skips the test where these, or yanglint, are not at hand.
func Open(t *testing.T) *Modules {
	t.Helper()
	directory := os.Getenv(modulesDirectory)
	if directory == "" {
		t.Skipf("%s does not name src/sonic-yang-models of a checkout of "+
			"github.com/sonic-net/sonic-buildimage", modulesDirectory)
	}
	yanglint, err := exec.LookPath("yanglint")
	if err != nil {
		t.Skip("there is no yanglint (Debian: libyang-tools)")
	}
	return &Modules{yanglint, readModules(t, directory)}
}

// Judge returns the errors that the modules find in the configuration of a switch, merged with the
// switch's own rows and with rows of other writers; nil: no errors.
func (m *Modules) Judge(
	t *testing.T, d *target.Device, s *api.SwitchModel, others ...sonic.Table,
) error {
	t.Helper()
	out, err := m.validate(t, append(withOwn(d, s, sonic.Config(d, s)), others...))
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// withOwn adds what a switch has itself: its ports with lanes and speeds, and its buffer pool.
func withOwn(d *target.Device, m *api.SwitchModel, config sonic.Document) sonic.Document {
	config = slices.Clone(config)
	at := slices.IndexFunc(config, func(t sonic.Table) bool { return t.Name == "PORT" })
	var planned []sonic.Row
	if at >= 0 {
		planned = config[at].Rows
		config = slices.Delete(config, at, at+1)
	}
	var ports []sonic.Row
	for i := range m.Ports {
		name := d.Interface(m.Ports[i].Port)
		own := []sonic.Field{field("lanes", fmt.Sprint(8*i)), field("speed", "400000")}
		for _, p := range planned {
			if p.Key == name {
				own = append(own, p.Fields...)
			}
		}
		ports = append(ports, row(name, own...))
	}
	pool := row("egress_lossy_pool", field("type", "egress"), field("mode", "dynamic"),
		field("size", "33554432"))
	return append(config, sonic.Table{Name: "PORT", Rows: ports},
		sonic.Table{Name: "BUFFER_POOL", Rows: []sonic.Row{pool}})
}

// branch is a choice in a template; the second part is for configurations.
var branch = regexp.MustCompile(`(?s)[ \t]*\{% if yang_model_type == "cvl" %\}.*?\{% else %\}\n` +
	`(.*?)[ \t]*\{% endif %\}\n`)

// readModules returns a folder with the modules; it expands templates as SONiC does.
func readModules(t *testing.T, directory string) string {
	t.Helper()
	out := t.TempDir()
	for _, pattern := range []string{"yang-models/*.yang", "yang-templates/*.yang.j2"} {
		files, err := filepath.Glob(filepath.Join(directory, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", filepath.Join(directory, pattern), len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text = branch.ReplaceAll(text, []byte("$1"))
			to := filepath.Join(out, strings.TrimSuffix(filepath.Base(file), ".j2"))
			if err := os.WriteFile(to, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return out
}

// validate has yanglint judge a configuration.
func (m *Modules) validate(t *testing.T, config sonic.Document) (string, error) {
	t.Helper()
	args := []string{"-p", m.folder, "-f", "xml", "-t", "config",
		filepath.Join(m.folder, "sonic-device_metadata.yang")}
	var of []string
	roots := make(map[string]*bytes.Buffer)
	for _, table := range config {
		p, ok := places[table.Name]
		if !ok {
			t.Fatalf("the test does not know where table %s is in the modules", table.Name)
		}
		if roots[p.module] == nil {
			roots[p.module] = new(bytes.Buffer)
			of = append(of, p.module)
		}
		writeTable(roots[p.module], table, p)
	}
	var document bytes.Buffer
	for _, module := range of {
		fmt.Fprintf(&document, "<%s xmlns=\"http://github.com/sonic-net/%s\">%s</%s>\n", module, module,
			roots[module], module)
		args = append(args, filepath.Join(m.folder, module+".yang"))
	}
	file := filepath.Join(t.TempDir(), "config.xml")
	if err := os.WriteFile(file, document.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), m.yanglint, append(args, file)...).CombinedOutput()
	var errs []string
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "libyang err") || strings.HasPrefix(line, "YANGLINT") {
			errs = append(errs, line)
		}
	}
	return strings.Join(errs, ""), err
}

func writeTable(b *bytes.Buffer, table sonic.Table, p place) {
	fmt.Fprintf(b, "<%s>", table.Name)
	for _, r := range table.Rows {
		name := r.Key
		if p.keys != nil {
			name = table.Name + "_LIST"
		}
		fmt.Fprintf(b, "<%s>", name)
		for i, key := range strings.SplitN(r.Key, "|", max(1, len(p.keys))) {
			if p.keys != nil {
				element(b, p.keys[i], key)
			}
		}
		for _, f := range r.Fields {
			if p.inner != nil {
				fmt.Fprintf(b, "<%s>", table.Name)
				element(b, p.inner[0], f.Name)
				element(b, p.inner[1], f.Value)
				fmt.Fprintf(b, "</%s>", table.Name)
				continue
			}
			if f.List == nil {
				element(b, f.Name, f.Value)
			}
			for _, v := range f.List {
				element(b, f.Name, v)
			}
		}
		fmt.Fprintf(b, "</%s>\n", name)
	}
	fmt.Fprintf(b, "</%s>", table.Name)
}

func element(b *bytes.Buffer, name, value string) {
	fmt.Fprintf(b, "<%s>", name)
	_ = xml.EscapeText(b, []byte(value))
	fmt.Fprintf(b, "</%s>", name)
}

func row(key string, fields ...sonic.Field) sonic.Row { return sonic.Row{Key: key, Fields: fields} }

func field(name, value string) sonic.Field { return sonic.Field{Name: name, Value: value} }
