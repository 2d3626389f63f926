package export

import (
	"errors"
	"net/netip"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/weft-sdn/weft/southbound/target"
)

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
	topology, err := yaml.Marshal(p.Network.Topology())
	if err != nil {
		return nil, err
	}
	var errs []error
	step := func(name, source string, data any) {
		text, err := render(source, data)
		out = append(out, File{Name: name, Text: text, Executable: strings.HasSuffix(name, ".py") ||
			strings.HasSuffix(name, ".sh")})
		errs = append(errs, err)
	}
	step(p.data+"topology.yaml", "topology.yaml", struct{ Name, Text string }{p.Name,
		string(topology)})
	for i := range p.Controllers {
		c := &p.Controllers[i]
		step(p.data+c.Name+".yaml", "controller.yaml", as{plan: p, Self: c})
		if !p.WithoutP4 {
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
		if p.HasKernels {
			step("neighbors.sh", "neighbors.sh", p)
		}
	case Mininet:
		step(p.Name+".py", "mininet.py", p)
	}
	return out, errors.Join(errs...)
}

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

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})
