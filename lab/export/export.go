// Package export writes a lab as files for tools that run networks of containers or of network
// namespaces: Docker Compose, containerlab and Mininet.
//
//	files, err := export.Files(network, export.Options{Tool: export.Compose})
//	err = export.Write("figure1", files)
//
// All of them run the same commands: weft controller, weft switch (or BMv2's simple_switch_grpc
// with weft speaker), and weft host. Mininet and containerlab also run kernels as switches, and
// containerlab virtual machines with SONiC.
package export

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/lab"
)

// ErrOptions is wrapped by errors about options and networks that a tool cannot run.
var ErrOptions = errors.New("cannot be exported")

// A Tool runs a lab.
type Tool string

// Tools.
const (
	Compose      Tool = "compose"
	Containerlab Tool = "containerlab"
	Mininet      Tool = "mininet"
)

// Tools are all tools by name.
func Tools() []string { return []string{string(Compose), string(Containerlab), string(Mininet)} }

// Options of an export.
type Options struct {
	Tool Tool
	// Controllers is 1, or 3 to 9 that form an etcd; 0 is 1. Mininet runs one.
	Controllers int
	// Switches selects the software of the switches; "": the software that the network names. Compose
	// runs the P4 program alone, and only containerlab runs SONiC.
	Switches lab.Switches
	// Data is the folder of all files except docker-compose.yml, relative to the folder of
	// docker-compose.yml. The default is the same folder. Compose only.
	Data string
}

// SONiC has switches be virtual machines with SONiC.
const SONiC lab.Switches = "sonic"

// Switches are the values of Options.Switches by name.
func Switches() []string { return append(slices.Clone(lab.AllSwitches), string(SONiC)) }

// A File is a file of a lab.
type File struct {
	Name       string // with slashes, relative to the folder of the lab
	Text       string
	Executable bool
}

// Bounds of the address plan.
const (
	maxControllers = 9
	maxSwitches    = 127 * 250
	maxHosts       = 127 * 250
	maxLinks       = 1 << 13
)

// Files returns the files of a network, in the order of their names; the network may be incomplete.
// The same network gives the same files. Errors wrap ErrOptions or come from Network.Complete.
func Files(n lab.Network, o Options) ([]File, error) {
	if o.Controllers == 0 {
		o.Controllers = 1
	}
	bad := func(format string, args ...any) ([]File, error) {
		return nil, fmt.Errorf("%w: %s", ErrOptions, fmt.Sprintf(format, args...))
	}
	switch {
	case !slices.Contains(Tools(), string(o.Tool)):
		return bad("tool %q: want one of %s", o.Tool, strings.Join(Tools(), ", "))
	case o.Controllers != 1 && (o.Controllers < 3 || o.Controllers > maxControllers):
		return bad("%d controllers: want 1, or 3 to %d, of which more than half must be there",
			o.Controllers, maxControllers)
	case o.Controllers != 1 && o.Tool == Mininet:
		return bad("%d controllers: want 1 with mininet, whose controller runs in the namespace of the "+
			"machine", o.Controllers)
	case o.Data != "" && o.Tool != Compose:
		return bad("a folder of data %q: want none with %s, which has a file of its own for everything",
			o.Data, o.Tool)
	}
	if err := setSwitches(&n, o); err != nil {
		return nil, err
	}
	for _, c := range []struct {
		what        string
		count, most int
	}{{"switches", len(n.Switches), maxSwitches}, {"hosts", len(n.Hosts), maxHosts},
		{"links", len(n.Links), maxLinks}} {
		if c.count > c.most {
			return bad("%d %s: want at most %d", c.count, c.what, c.most)
		}
	}
	p, err := newPlan(n, o)
	if err != nil {
		return nil, err
	}
	files, err := p.files()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files, nil
}

// setSwitches completes the network with the kind of switches in the options, and refuses networks
// that such switches cannot run.
func setSwitches(n *lab.Network, o Options) error {
	n.Switches = slices.Clone(n.Switches) // they are the caller's
	to := o.Switches
	switch {
	case to == "":
		if err := n.Complete(); err != nil {
			return err
		}
	case !slices.Contains(Switches(), string(to)):
		return fmt.Errorf("%w: switches %q: want one of %s", ErrOptions, to,
			strings.Join(Switches(), ", "))
	case to == SONiC && o.Tool != Containerlab:
		return fmt.Errorf("%w: switches with SONiC: want containerlab, whose nodes are virtual machines",
			ErrOptions)
	default:
		if to == SONiC {
			to = lab.SwitchesLinux // which can and cannot do the same
		}
		if err := n.SetSwitches(to); err != nil {
			return err
		}
	}
	if !n.HasKernels() {
		return nil
	}
	if o.Tool == Compose {
		return fmt.Errorf("%w: switches without P4: want containerlab or mininet, Compose gives "+
			"interfaces names of its own", ErrOptions)
	}
	for _, h := range n.Hosts {
		if h.Transport != lab.MRC {
			return fmt.Errorf("%w: host %s speaks RoCEv2, to a multicast group, which takes P4 on all "+
				"switches: want hosts with transport mrc", ErrOptions, h.Name)
		}
	}
	return nil
}

// Write writes files below a folder, which it makes where it is missing.
func Write(dir string, files []File) error {
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(f.Text), mode); err != nil {
			return err
		}
		if err := os.Chmod(path, mode); err != nil { // of a file that was there
			return err
		}
	}
	return nil
}
