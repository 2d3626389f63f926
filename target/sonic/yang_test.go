package sonic

import (
	"bytes"
	"encoding/json"
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
	"github.com/weft-sdn/weft/target"
)

// modulesDirectory names the folder src/sonic-yang-models of a checkout of
// github.com/sonic-net/sonic-buildimage.
const modulesDirectory = "WEFT_SONIC_YANG"

// models has those that the controller makes of a sample network.
const models = "../../controller/plan/node/testdata"

// place is where the YANG modules have a table: a list with keys, or a container a row. inner are
// the key and the value of a list in each row, for rows that are maps.
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

// TestYANG: SONiC's own YANG modules take the configuration of every kind of fabric, together with
// what a switch has of its own.
func TestYANG(t *testing.T) {
	directory := os.Getenv(modulesDirectory)
	if directory == "" {
		t.Skipf("%s does not name src/sonic-yang-models of a checkout of "+
			"github.com/sonic-net/sonic-buildimage", modulesDirectory)
	}
	yanglint, err := exec.LookPath("yanglint")
	if err != nil {
		t.Skip("there is no yanglint (Debian: libyang-tools)")
	}
	modules := readModules(t, directory)
	for _, name := range []string{"links-leaf1", "links-spine2", "nodes-leaf1", "nodes-spine2",
		"ecmp-leaf1", "ecmp-spine2", "srh-leaf1", "structured-leaf1"} {
		text, err := os.ReadFile(filepath.Join(models, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var m api.SwitchModel
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		for _, symmetric := range []bool{false, true} {
			if symmetric {
				m.Trimming.DSCPLastHop = m.Trimming.DSCP
			}
			d := target.Device{Name: m.Name, System: target.SONiC}
			config := Config(&d, &m)
			if out, err := validate(t, yanglint, modules, withOwn(&d, &m, config)); err != nil {
				t.Errorf("%s, symmetric %t: %v\n%s", name, symmetric, err, out)
			}
		}
		// What the modules refuse shows that they are asked.
		d := target.Device{Name: m.Name, System: target.SONiC}
		bad := append(withOwn(&d, &m, Config(&d, &m)), Table{"SRV6_MY_SIDS", []Row{
			row("other|fc00::/48", field("action", "uN"))}})
		if _, err := validate(t, yanglint, modules, bad); err == nil {
			t.Errorf("%s: a SID without its locator is taken", name)
		}
	}
}

// withOwn adds what a switch has itself: its ports with lanes and speeds, and its buffer pool.
func withOwn(d *target.Device, m *api.SwitchModel, config Document) Document {
	config = slices.Clone(config)
	at := slices.IndexFunc(config, func(t Table) bool { return t.Name == "PORT" })
	var planned []Row
	if at >= 0 {
		planned = config[at].Rows
		config = slices.Delete(config, at, at+1)
	}
	var ports []Row
	for i := range m.Ports {
		name := d.Interface(m.Ports[i].Port)
		own := []Field{field("lanes", fmt.Sprint(8*i)), field("speed", "400000")}
		for _, p := range planned {
			if p.Key == name {
				own = append(own, p.Fields...)
			}
		}
		ports = append(ports, row(name, own...))
	}
	return append(config, Table{"PORT", ports}, Table{"BUFFER_POOL", []Row{
		row(lossyPool, field("type", "egress"), field("mode", "dynamic"), field("size", "33554432"))}})
}

// branch is a choice in a template, of which the second part is for configurations.
var branch = regexp.MustCompile(`(?s)[ \t]*\{% if yang_model_type == "cvl" %\}.*?\{% else %\}\n` +
	`(.*?)[ \t]*\{% endif %\}\n`)

// readModules returns a folder with the modules, those that are templates made as SONiC makes them.
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
func validate(t *testing.T, yanglint, modules string, config Document) (string, error) {
	t.Helper()
	args := []string{"-p", modules, "-f", "xml", "-t", "config",
		filepath.Join(modules, "sonic-device_metadata.yang")}
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
		args = append(args, filepath.Join(modules, module+".yang"))
	}
	file := filepath.Join(t.TempDir(), "config.xml")
	if err := os.WriteFile(file, document.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), yanglint, append(args, file)...).CombinedOutput()
	var errs []string
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "libyang err") || strings.HasPrefix(line, "YANGLINT") {
			errs = append(errs, line)
		}
	}
	return strings.Join(errs, ""), err
}

func writeTable(b *bytes.Buffer, table Table, p place) {
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
