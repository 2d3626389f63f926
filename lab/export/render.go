package export

import (
	"bytes"
	"embed"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"github.com/goccy/go-yaml"

	"github.com/weft-sdn/weft/southbound/target"
)

//go:embed templates
var sources embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"join": strings.Join,
	// quote makes a string of YAML, JSON or Python.
	"quote": func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
	"indent": func(n int, text string) string {
		return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+strings.Repeat(" ", n))
	},
	"hex": func(n uint32) string { return fmt.Sprintf("0x%x", n) },
}).ParseFS(sources, "templates/*"))

// as is the plan for one machine.
type as struct {
	*plan
	Self *machine
	BMv2 bool // the switches are BMv2's, which the speaker advertises
	Host *host
}

// files renders all files.
func (p *plan) files() ([]File, error) {
	var out []File
	add := func(name, source string, data any) error {
		var b bytes.Buffer
		if err := templates.ExecuteTemplate(&b, source, data); err != nil {
			return err
		}
		out = append(out, File{Name: name, Text: b.String(), Executable: strings.HasSuffix(name, ".py") ||
			strings.HasSuffix(name, ".sh")})
		return nil
	}
	topology, err := yaml.Marshal(p.Network.Topology())
	if err != nil {
		return nil, err
	}
	var errs []error
	step := func(name, source string, data any) { errs = append(errs, add(name, source, data)) }
	step(p.data+"topology.yaml", "topology.yaml", struct{ Name, Text string }{p.Name,
		string(topology)})
	for i := range p.Controllers {
		c := &p.Controllers[i]
		step(p.data+c.Name+".yaml", "controller.yaml", as{plan: p, Self: c})
		if !p.WithoutP4() {
			step(p.data+c.Name+"-bmv2.yaml", "controller.yaml", as{plan: p, Self: c, BMv2: true})
		}
	}
	for i := range p.Hosts {
		step(p.data+"hosts/"+p.Hosts[i].At.Service+".yaml", "host.yaml", as{plan: p, Host: &p.Hosts[i]})
	}
	if p.Group != nil {
		step(p.data+"group.yaml", "group.yaml", p)
	}
	step(p.data+"README.md", "readme-"+string(p.Tool)+".md", p)
	switch p.Tool {
	case Compose:
		step("docker-compose.yml", "docker-compose.yml", p)
		step(p.data+"bmv2.sh", "bmv2.sh", p)
	case Containerlab:
		step(p.Name+".clab.yml", "clab.yml", p)
		for i := range p.Switches {
			if s := &p.Switches[i]; s.System == target.SONiC {
				step("sonic/"+s.At.Service+".sh", "sonic.sh", s)
			}
		}
		if p.HasKernels() {
			step("neighbors.sh", "neighbors.sh", p)
		}
	case Mininet:
		step(p.Name+".py", "mininet.py", p)
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// WithoutP4 reports whether a switch runs something else than the P4 program.
func (p *plan) WithoutP4() bool { return p.HasKernels() || p.HasSONiC() }

// HasKernels reports whether a switch is a kernel with its agent.
func (p *plan) HasKernels() bool { return p.has(target.Linux) }

// HasSONiC reports whether switches run SONiC, which all do then.
func (p *plan) HasSONiC() bool { return p.has(target.SONiC) }

func (p *plan) has(s target.System) bool {
	return slices.ContainsFunc(p.Switches, func(n node) bool { return n.System == s })
}

// Spoken reports whether a speaker advertises the switches to this controller.
func (a as) Spoken() bool { return a.BMv2 || a.HasSONiC() }

// Peers are the addresses that switches and speakers take BGP-LS sessions from.
func (p *plan) Collectors() []string {
	if p.Tool == Mininet {
		return []string{"127.0.0.1"}
	}
	var out []string
	for _, c := range p.Controllers {
		out = append(out, c.Address.String())
	}
	return out
}

// Cluster reports whether several controllers form an etcd.
func (p *plan) Cluster() bool { return len(p.Controllers) > 1 }

// MRCController returns HOST:PORT for the streams of MRC hosts.
func (p *plan) MRCController() string {
	return fmt.Sprintf("%v:%d", p.Controllers[0].Address, mrcPort)
}

// HasMRC reports whether there are hosts of MRC.
func (p *plan) HasMRC() bool { return p.Network.HasMRC() }

// section is YAML of the fields in which settings differ from the defaults.
func section(name string, settings, defaults any) (string, error) {
	fields := func(v any) (map[string]any, error) {
		text, err := yaml.Marshal(v)
		if err != nil {
			return nil, err
		}
		out := map[string]any{}
		return out, yaml.Unmarshal(text, &out)
	}
	a, err := fields(settings)
	if err != nil {
		return "", err
	}
	b, err := fields(defaults)
	if err != nil {
		return "", err
	}
	differ := difference(a, b)
	if len(differ) == 0 {
		return "", nil
	}
	text, err := yaml.MarshalWithOptions(map[string]any{name: differ}, yaml.Indent(2))
	return string(text), err
}

// difference returns what of a is not in b.
func difference(a, b map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range a {
		inner, isMap := value.(map[string]any)
		other, both := b[key].(map[string]any)
		switch {
		case isMap && both:
			if d := difference(inner, other); len(d) > 0 {
				out[key] = d
			}
		case !reflect.DeepEqual(value, b[key]):
			out[key] = value
		}
	}
	return out
}

// Kinds returns the kinds of switches in a Compose lab: false for weft switch, true for BMv2.
func (p *plan) Kinds() []bool { return []bool{false, true} }

// PublishedPort is the port of the machine at which a controller's API is.
func (p *plan) PublishedPort(index int) int { return 8079 + index }

// AddressOf is the address of the first end of a link, for Compose.
func (p *plan) AddressOf(l link) netip.Addr { return l.Subnet.Addr().Next().Next() }

// SpeakerAddress is where the speaker of BMv2 switches takes the controller's session.
func (p *plan) SpeakerAddress() netip.Addr {
	if p.Tool == Mininet {
		return loopback
	}
	return p.Speaker.Address
}

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})
