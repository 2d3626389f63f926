package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/service"
	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/etcd"
)

// controllerCommand is the argument that makes this program a controller; a controllerPart in JSON
// follows. Each controller runs in its own process, so the benchmark can measure its memory
// separately.
const controllerCommand = "controller-process"

// What a controller process is asked for, one a line: a controllerUse, alone, or after it has
// collected garbage, or with the memory that is reachable in the end.
const (
	askProcessor = "processor"
	askCollected = "collected"
	askMemory    = "memory"
)

// controllerPart defines what a controller process runs.
type controllerPart struct {
	Size    [4]int // of the fabric: planes, leaves, spines, hosts of a leaf
	Name    string
	Members map[string]string // of the etcd; none: the controller is alone
	Dir     string
	Local   netip.Addr     // of its BGP-LS session
	Peer    netip.AddrPort // the speaker
}

// controllerUse is the resource use of a controller process so far.
type controllerUse struct {
	CPU  time.Duration // of all threads
	Peak int64         // the most octets that were resident
	Heap uint64        // octets that are reachable; 0: not asked for
}

// controllerProcess is the starter's end of a controller.
type controllerProcess struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Scanner
}

// startController starts a controller, whose first line is where its hosts connect.
func startController(ctx context.Context, part controllerPart) (*controllerProcess, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(part)
	if err != nil {
		return nil, err
	}
	c := &controllerProcess{name: part.Name, cmd: exec.CommandContext(ctx, self, controllerCommand,
		string(text))}
	c.cmd.Stderr = os.Stderr
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = bufio.NewScanner(out)
	return c, c.cmd.Start()
}

// line returns what the controller says next.
func (c *controllerProcess) line() (string, error) {
	if !c.out.Scan() {
		return "", errors.Join(fmt.Errorf("controller %s has ended", c.name), c.out.Err())
	}
	return c.out.Text(), nil
}

// use asks the controller for what it has used.
func (c *controllerProcess) use(ask string) (use controllerUse, err error) {
	if _, err := fmt.Fprintln(c.in, ask); err != nil {
		return use, err
	}
	text, err := c.line()
	if err == nil {
		err = json.Unmarshal([]byte(text), &use)
	}
	return use, err
}

func (c *controllerProcess) stop() error {
	_ = c.in.Close()
	for c.out.Scan() { // until the end of its output, which Wait wants to be read
	}
	return c.cmd.Wait()
}

// controllerMain is a controller until its input ends.
func controllerMain(text string) (err error) {
	var part controllerPart
	if err := json.Unmarshal([]byte(text), &part); err != nil {
		return err
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	service.TuneMemory(service.GCPercent)
	size := severalBench{closSize: closSize{part.Size[0], part.Size[1], part.Size[2], part.Size[3]}}
	var peers *etcd.Peers
	if part.Members != nil {
		peers = &etcd.Peers{Name: part.Name, Members: part.Members}
	}
	kept, err := etcd.Open(ctx, recordsIn(filepath.Join(part.Dir, part.Name), peers))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	if err := store.CheckSchema(ctx, kept, "bench"); err != nil {
		return err
	}
	options := size.options(part)
	options.Store = store.Versioned(kept)
	s, err := service.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	fmt.Println(s.HostsAddr())
	asked := make(chan string)
	go func() {
		defer close(asked)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			asked <- lines.Text()
		}
	}()
	profiled := os.Getenv(profileEnv) == ""
	for {
		var ask string
		select {
		case ask = <-asked:
		case <-s.Done():
		}
		if ask == "" { // Close returns why the service has ended, if it has
			return nil
		}
		if ask == askCollected {
			runtime.GC()
		}
		use := controllerUse{CPU: processorTime()}
		if ask == askMemory {
			pprof.StopCPUProfile()
			use.Heap = reachable()
		}
		if !profiled { // from the first failure on
			profiled = true
			f, err := os.Create(filepath.Join(os.Getenv(profileEnv), "several-"+part.Name+".prof"))
			if err == nil {
				defer func() { _ = f.Close() }()
				err = pprof.StartCPUProfile(f)
			}
			if err != nil {
				return err
			}
		}
		use.Peak, err = peakBytes()
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(use)
		}
		if err != nil {
			return err
		}
	}
}

// options are the options of a controller of the fabric.
func (s closSize) options(part controllerPart) service.Options {
	_, inv := s.build()
	for i := range inv.Hosts {
		h := &inv.Hosts[i]
		h.MAC = inventory.MAC{2, 0, 1, 1, byte(i >> 8), byte(i)}
		for p := range h.Planes {
			h.Planes[p].MAC = inventory.MAC{2, 0, 1, byte(p + 2), byte(i >> 8), byte(i)}
		}
	}
	inv.API.Listen = "127.0.0.1:0"
	inv.BGP.ASN, inv.BGP.RouterID = severalASN,
		netip.AddrFrom4([4]byte{10, 2, part.Local.As4()[2], part.Local.As4()[3]})
	inv.BGP.Peers = []inventory.Peer{{Address: part.Peer.Addr(), Port: part.Peer.Port(),
		ASN: severalASN, LocalAddress: part.Local}}
	m := &inv.MRC
	m.Mode, m.Listen, m.LinkCounts, m.Counts = "stev", "127.0.0.1:0", 0, 0
	// a link that is back is used when a probe has come through
	m.Restore.Hold, m.Restore.Every = 1, api.Duration(time.Millisecond)
	// over when the hosts have begun
	m.Restore.FirstRound = api.Duration(time.Second)
	if part.Members != nil {
		inv.Cluster.Name, inv.Cluster.Listen = part.Name, "127.0.0.1:0"
	}
	return service.Options{Inventory: *inv, API: northbound.DefaultConfig()}
}
