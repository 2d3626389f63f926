//go:build linux

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weft-sdn/weft/dataplane/live/afpacket"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/export"
	"github.com/weft-sdn/weft/test/bmv2"
)

// Ports of the first switch; each other one has the next.
const (
	grpcPort = 9559
	bgpPort  = 1790
	mtu      = 9000

	programTime = 2 * time.Minute
	api         = "http://127.0.0.1:8080"
)

// A fabric is Figure 1: processes of switches and a controller, in the namespace of this process.
type fabric struct {
	ctx       context.Context
	dir       string
	weft      string
	switches  string // program: weft or simple_switch_grpc
	network   lab.Network
	processes map[string]*exec.Cmd // by switch, and controller and speaker
	wires     []*wire
}

// newFabric makes interfaces and starts everything. With ipv4 hosts have addresses of that alone.
func newFabric(ctx context.Context, dir, weft, switches string, ipv4 bool) (*fabric, error) {
	f := &fabric{ctx: ctx, dir: dir, weft: weft, switches: switches, network: lab.Figure1(),
		processes: map[string]*exec.Cmd{}}
	for i := range f.network.Hosts {
		if ipv4 { // the first address of a prefix is the switch's
			f.network.Hosts[i].Address = netip.AddrFrom4([4]byte{10, 1, byte(i), 10})
		}
	}
	if err := f.network.Complete(); err != nil {
		return nil, err
	}
	files, err := export.Files(f.network, export.Options{Tool: export.Mininet})
	if err != nil {
		return nil, err
	}
	if err := export.Write(dir, files); err != nil {
		return nil, err
	}
	for _, step := range []func() error{f.link, f.startSwitches, f.startController} {
		if err := step(); err != nil {
			return nil, errors.Join(err, f.close())
		}
	}
	return f, nil
}

func interfaceOf(sw string, port uint32) string { return fmt.Sprintf("%s-eth%d", sw, port) }

// lossy are links whose frames pass through this process, which may lose them.
var lossy = [][2]string{{"N6", "N4"}, {"N4", "N1"}, {"N5", "N3"}}

// link makes a tap for each host, and a pair of interfaces for each link of switches.
func (f *fabric) link() error {
	var batch strings.Builder
	up := func(name string) {
		fmt.Fprintf(&batch, "link set dev %s addrgenmode none mtu %d up\n", name, mtu)
	}
	pair := func(a, b string) {
		fmt.Fprintf(&batch, "link add %s type veth peer name %s\n", a, b)
		up(a)
		up(b)
	}
	batch.WriteString("link set dev lo up\n")
	var relayed [][2]string
	for _, h := range f.network.Hosts {
		sw, port := f.network.Uplink(h.Name)
		fmt.Fprintf(&batch, "tuntap add dev %s mode tap\n", interfaceOf(sw, port))
		up(interfaceOf(sw, port))
	}
	for i, l := range f.network.Links {
		if l.PortA == 0 || l.PortB == 0 {
			continue
		}
		a, b := interfaceOf(l.A, l.PortA), interfaceOf(l.B, l.PortB)
		through := false
		for _, x := range lossy {
			through = through || l.A == x[0] && l.B == x[1]
		}
		if !through {
			pair(a, b)
			continue
		}
		near, far := fmt.Sprintf("wire%da", i), fmt.Sprintf("wire%db", i)
		pair(a, near)
		pair(b, far)
		relayed = append(relayed, [2]string{near, far})
	}
	cmd := exec.CommandContext(f.ctx, "ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(batch.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip: %w: %s", err, out)
	}
	for i, r := range relayed {
		w, err := newWire(r[0], r[1], uint64(i+1))
		if err != nil {
			return err
		}
		f.wires = append(f.wires, w)
	}
	return nil
}

// start starts a program whose output goes to a file.
func (f *fabric) start(name, program string, args ...string) error {
	log, err := os.OpenFile(filepath.Join(f.dir, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY,
		0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = f.dir, log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	f.processes[name] = cmd
	return nil
}

// kill ends a program without a word.
func (f *fabric) kill(name string) error {
	cmd := f.processes[name]
	delete(f.processes, name)
	err := cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	return err
}

func (f *fabric) startSwitches() error {
	for _, s := range f.network.Switches {
		if err := f.startSwitch(s.Name); err != nil {
			return err
		}
	}
	if f.switches == "weft" {
		return nil
	}
	return f.start("speaker", f.weft, "speaker", "--topology", "topology.yaml", "--bgp-listen",
		fmt.Sprintf("127.0.0.1:%d", bgpPort), "--bgp-peer", "127.0.0.1")
}

func (f *fabric) startSwitch(name string) error {
	place := 0
	for i, s := range f.network.Switches {
		if s.Name == name {
			place = i
		}
	}
	grpc := fmt.Sprintf("127.0.0.1:%d", grpcPort+place)
	var ports []string
	for _, l := range f.network.Links {
		for _, end := range []struct {
			name string
			port uint32
		}{{l.A, l.PortA}, {l.B, l.PortB}} {
			if end.name == name {
				ports = append(ports, "-i", fmt.Sprintf("%d@%s", end.port, interfaceOf(name, end.port)))
			}
		}
	}
	if f.switches == "weft" {
		return f.start(name, f.weft, append([]string{"switch", "--grpc-server-addr", grpc, "--topology",
			"topology.yaml", "--node", name,
			"--bgp-listen", fmt.Sprintf("127.0.0.1:%d", bgpPort+place), "--bgp-peer", "127.0.0.1"},
			ports...)...)
	}
	args := slices.Concat([]string{"--device-id", "1", "--no-p4", "--log-level", "off",
		"--thrift-port", fmt.Sprint(19559 + place)},
		bmv2.NotificationArgs(f.switches, filepath.Join(f.dir, name+".ipc")), ports)
	return f.start(name, f.switches, append(args, "--", "--grpc-server-addr", grpc, "--cpu-port",
		"510", "--drop-port", "511", "--priority-queues", "8")...)
}

func (f *fabric) startController() error {
	config := "controller.yaml"
	if f.switches != "weft" {
		config = "controller-bmv2.yaml"
	}
	if err := f.start("controller", f.weft, "controller", "--config", config, "--data-dir",
		filepath.Join(f.dir, "data")); err != nil {
		return err
	}
	return f.ready()
}

// ready waits until the controller has programmed every switch.
func (f *fabric) ready() error {
	return await(f.ctx, programTime, func() error {
		return f.request(http.MethodGet, "/readyz", nil, nil)
	})
}

// request makes a request of the API.
func (f *fabric) request(method, path string, body, into any) error {
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(f.ctx, method, api+path, content)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: 30 * time.Second,
		Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

func (f *fabric) close() error {
	var errs []error
	for name := range f.processes {
		errs = append(errs, f.kill(name))
	}
	for _, w := range f.wires {
		errs = append(errs, w.close())
	}
	return errors.Join(errs...)
}

// lose sets the share of frames that each lossy link loses, of a million.
func (f *fabric) lose(perMillion int64) {
	for _, w := range f.wires {
		w.loss.Store(perMillion)
	}
}

// lost is how many frames were lost.
func (f *fabric) lost() (n uint64) {
	for _, w := range f.wires {
		n += w.lost.Load()
	}
	return n
}

// A wire passes frames between two interfaces, and loses some.
type wire struct {
	ends [2]*afpacket.Port
	loss atomic.Int64 // of a million
	lost atomic.Uint64
}

func newWire(a, b string, seed uint64) (*wire, error) {
	w := &wire{}
	for i, name := range []string{a, b} {
		p, err := afpacket.Open(name, slog.New(slog.DiscardHandler))
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		w.ends[i] = p
	}
	for i, p := range w.ends {
		out, rng := w.ends[1-i], rand.New(rand.NewPCG(seed, uint64(i)))
		p.Attach(func(frames [][]byte) {
			for _, frame := range frames {
				if rng.Int64N(1_000_000) < w.loss.Load() {
					w.lost.Add(1)
					continue
				}
				out.Send([][]byte{frame})
			}
		}, func(bool) {})
	}
	return w, nil
}

func (w *wire) close() error {
	var errs []error
	for _, p := range w.ends {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	return errors.Join(errs...)
}
