package gnmi

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

//go:embed dialects.yaml
var dialectsYAML []byte

// table is dialects.yaml.
type table struct {
	Dialects []*Dialect `yaml:"dialects"`

	// Speeds are read by speeds.
	Speeds map[string]uint64 `yaml:"speeds"`
}

// speedTable has the values of port-speed, in bit/s.
type speedTable struct {
	Speeds map[string]uint64 `yaml:"speeds"`
}

// speeds returns the speeds of dialects.yaml. The leaves, which the dialects are checked against,
// need them.
var speeds = sync.OnceValue(func() map[string]uint64 {
	var t speedTable
	if err := yaml.Unmarshal(dialectsYAML, &t); err != nil {
		panic(fmt.Sprintf("dialects.yaml: %v", err)) // it is a part of the program
	}
	return t.Speeds
})

// Speeds returns the speeds that a port can be set to, in bit/s, ascending.
func Speeds() []uint64 { return slices.Sorted(maps.Values(speeds())) }

// A Dialect defines where a kind of switch keeps the port data that Weft wants.
type Dialect struct {
	Name      string              `yaml:"name"`
	Origin    string              `yaml:"origin"` // of paths
	Detect    []string            `yaml:"detect"`
	Encodings []string            `yaml:"encodings"`
	Streams   []stream            `yaml:"streams"`
	Leaves    map[leaf][]string   `yaml:"leaves"`
	Set       map[Setting]string  `yaml:"set"`
	tree      *node               // of Leaves
	setPaths  map[Setting]pattern // of Set
}

// A stream is the subscriptions that share a gRPC stream.
type stream struct {
	Name   string             `yaml:"name"`
	Target string             `yaml:"target"`
	Modes  []string           `yaml:"modes"`
	Paths  []subscriptionPath `yaml:"paths"`
}

// subscriptionPath is a path that is subscribed to.
type subscriptionPath struct {
	Path     string   `yaml:"path"`
	Optional bool     `yaml:"optional"`
	Modes    []string `yaml:"modes"` // default: those of the stream
	parsed   *gpb.Path
}

// The names of streams.
const (
	statesStream   = "states"
	countersStream = "counters"
	sidsStream     = "sids"
)

// counted are the streams whose counts make samples, each alone.
var counted = []string{countersStream, sidsStream}

// dialects returns the table, which is read once.
var dialects = sync.OnceValue(func() *table {
	t, err := readTable(dialectsYAML)
	if err != nil {
		panic(fmt.Sprintf("dialects.yaml: %v", err)) // it is a part of the program
	}
	return t
})

// readTable reads a table of dialects.
func readTable(text []byte) (*table, error) {
	var t table
	if err := yaml.UnmarshalWithOptions(text, &t, yaml.Strict()); err != nil {
		return nil, err
	}
	if len(t.Dialects) == 0 {
		return nil, errors.New("there are no dialects")
	}
	for _, d := range t.Dialects {
		if err := d.compile(); err != nil {
			return nil, fmt.Errorf("dialect %s: %w", d.Name, err)
		}
	}
	return &t, nil
}

// DialectNames returns the names of all dialects.
func DialectNames() (names []string) {
	for _, d := range dialects().Dialects {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	return names
}

// detect returns the dialect of a switch by the switch's answer to Capabilities, nil for a switch
// without an answer.
func detect(c *gpb.CapabilityResponse) *Dialect {
	all := dialects().Dialects
	for _, d := range all {
		for _, m := range c.GetSupportedModels() {
			if slices.Contains(d.Detect, m.GetName()) {
				return d
			}
		}
	}
	return all[len(all)-1]
}

// named returns the dialect with a name, or nil.
func named(name string) *Dialect {
	for _, d := range dialects().Dialects {
		if d.Name == name {
			return d
		}
	}
	return nil
}

func (d *Dialect) compile() error {
	d.tree = &node{}
	for l, paths := range d.Leaves {
		if !l.known() {
			return fmt.Errorf("there is no leaf %q", l)
		}
		for _, text := range paths {
			p, err := parsePattern(text)
			if err != nil {
				return err
			}
			if err := d.tree.add(p, l); err != nil {
				return fmt.Errorf("path %s: %w", text, err)
			}
		}
	}
	d.setPaths = make(map[Setting]pattern)
	for s, text := range d.Set {
		if !slices.Contains(allSettings, s) {
			return fmt.Errorf("there is no setting %q", s)
		}
		p, err := parsePattern(text)
		if err != nil {
			return err
		}
		d.setPaths[s] = p
	}
	for _, e := range d.Encodings {
		if _, ok := gpb.Encoding_value[e]; !ok {
			return fmt.Errorf("there is no encoding %q", e)
		}
	}
	for i := range d.Streams {
		if err := d.Streams[i].compile(d.Origin); err != nil {
			return fmt.Errorf("stream %s: %w", d.Streams[i].Name, err)
		}
	}
	if d.stream(statesStream) == nil {
		return errors.New("there is no stream of states")
	}
	return nil
}

func (s *stream) compile(origin string) error {
	if s.Name != statesStream && !slices.Contains(counted, s.Name) {
		return errors.New("want states, counters or sids as name")
	}
	for i := range s.Paths {
		p := &s.Paths[i]
		if len(p.Modes) == 0 {
			p.Modes = s.Modes
		}
		for _, m := range p.Modes {
			if _, ok := gpb.SubscriptionMode_value[m]; !ok {
				return fmt.Errorf("path %s: there is no mode %q", p.Path, m)
			}
		}
		if len(p.Modes) == 0 {
			return fmt.Errorf("path %s has no mode", p.Path)
		}
		parsed, err := parsePattern(p.Path)
		if err != nil {
			return err
		}
		p.parsed = parsed.path(vars{})
		p.parsed.Origin = origin
	}
	return nil
}

// stream returns the stream of a name, or nil.
func (d *Dialect) stream(name string) *stream {
	for i := range d.Streams {
		if d.Streams[i].Name == name {
			return &d.Streams[i]
		}
	}
	return nil
}

// encoding returns the first encoding of the dialect that a switch takes; the first encoding of the
// dialect if the switch has not answered Capabilities.
func (d *Dialect) encoding(c *gpb.CapabilityResponse) gpb.Encoding {
	for _, name := range d.Encodings {
		e := gpb.Encoding(gpb.Encoding_value[name])
		if c == nil || slices.Contains(c.GetSupportedEncodings(), e) {
			return e
		}
	}
	if len(d.Encodings) > 0 && len(c.GetSupportedEncodings()) == 0 {
		return gpb.Encoding(gpb.Encoding_value[d.Encodings[0]])
	}
	return gpb.Encoding_JSON_IETF
}

// local returns a name without its module prefix.
func local(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }
