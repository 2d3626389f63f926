package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/dataplane/live/afpacket/afpackettest"
)

const (
	nicRuns       = 3
	nicMTU        = 9000
	nicMessage    = 8       // octets of a small message
	nicMessages   = 100_000 // of a run
	nicLarge      = 1 << 20
	nicLarges     = 300
	nicBurst      = 8                      // packets of a path in a row
	nicSocketTime = 500 * time.Millisecond // of a run by sockets
	clockTick     = 10 * time.Millisecond  // of /proc/PID/stat (USER_HZ)
)

// mrcNIC measures messages from one process to another by libmrc and two NICs, the sender's on a
// core of its own, beside sockets of the kernel: with a packet to a path, and with bursts.
func mrcNIC(ctx context.Context, out *report) error {
	if why := nicMissing(); why != "" {
		out.tell("nic: %s: no figures", why)
		return nil
	}
	b := &nicBench{}
	err := b.open(ctx)
	if errors.Is(err, errNoNamespace) {
		out.tell("nic: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	defer b.close()
	for _, w := range []struct {
		name, unit     string
		octets, count  int
		scale          float64 // from messages to the unit
		datagram, wide int     // octets of a datagram, and of a write to TCP
	}{
		{"messages", "messages/s", nicMessage, nicMessages, 1, nicMessage, nicMessage},
		{"goodput", "bits/s", nicLarge, nicLarges, 8 * nicLarge, 8 << 10, nicLarge},
	} {
		if !out.wants("nic/" + w.name) {
			continue
		}
		out.tell("nic: %s", w.name)
		var ours, cpu [nicSettings]runs
		var tcp, udp runs
		for range nicRuns {
			for i := range ours {
				took, spent, err := b.pairs[i].blast(ctx, b.dir, w.octets, w.count)
				if err != nil {
					return err
				}
				ours[i] = append(ours[i], float64(w.count)*w.scale/took.Seconds())
				cpu[i] = append(cpu[i], float64(spent.Microseconds())/float64(w.count))
			}
			perMessage := w.scale / float64(w.octets) // 8 bits, or an eighth of a message
			octets, err := byTCP(w.wide)
			if err != nil {
				return err
			}
			tcp = append(tcp, octets*perMessage)
			if octets, err = byUDP(w.datagram); err != nil {
				return err
			}
			udp = append(udp, octets*perMessage)
		}
		for i, ours := range ours {
			if err := out.print(figure{bench: "nic/" + w.name, unit: w.unit, value: ours.median(),
				more: append([]field{{"octets", w.octets}, {"burst", b.pairs[i].burst},
					{"ratio", ours.median() / tcp.median()}, {"udpRatio", ours.median() / udp.median()},
					{"tcp", tcp.median()}, {"udp", udp.median()}, {"cpuMicros", cpu[i].median()}},
					ours.spread()...)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// nicMissing names what this machine lacks; empty when that is nothing.
func nicMissing() string {
	if os.Geteuid() != 0 {
		return "it needs root"
	}
	for _, c := range []string{"gcc", "make", "go"} {
		if _, err := exec.LookPath(c); err != nil {
			return c + " is not on the PATH"
		}
	}
	if _, err := os.Stat("/usr/include/infiniband/verbs.h"); err != nil {
		return "there is no <infiniband/verbs.h>"
	}
	return ""
}

// nicSettings is how many pairs of NICs are compared.
const nicSettings = 2

// nicBench holds the program that loads NICs, and pairs of NICs.
type nicBench struct {
	dir   string
	pairs [nicSettings]nicPair
}

// nicPair is two NICs wired to each other.
type nicPair struct {
	burst   int
	ns      *afpackettest.Namespace
	nics    [2]*exec.Cmd
	sockets [2]string
}

// open builds the programs and starts the NICs.
func (b *nicBench) open(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	for i := range b.pairs {
		p := &b.pairs[i]
		p.burst = 1 + i*(nicBurst-1)
		if p.ns, err = afpackettest.New(); err != nil {
			return fmt.Errorf("%w: %w", errNoNamespace, err)
		}
	}
	if err := b.build(ctx); err != nil {
		return err
	}
	for i := range b.pairs {
		if err := b.pairs[i].open(ctx, b.dir); err != nil {
			return err
		}
	}
	return nil
}

// build builds the programs.
func (b *nicBench) build(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "weft-bench-"); err != nil {
		return err
	}
	for _, command := range [][]string{
		{"make", "-s", "-C", "host/libmrc", "OUT=" + b.dir},
		{"go", "build", "-trimpath", "-o", filepath.Join(b.dir, "weft"), "./cmd/weft"},
		{"gcc", "-O2", "-o", filepath.Join(b.dir, "load"), "test/libmrc/testdata/load.c", "-I" + b.dir,
			filepath.Join(b.dir, "lib_mrc.so"), "-L" + b.dir, "-libverbs", "-Wl,-rpath," + b.dir},
	} {
		cmd := exec.CommandContext(ctx, command[0], command[1:]...)
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, text)
		}
	}
	return nil
}

// open starts the NICs, with their sockets in a folder.
func (b *nicPair) open(ctx context.Context, dir string) error {
	for plane := range 2 {
		if err := b.ns.Veth(nicEnd(0, plane), nicEnd(1, plane), nicMTU); err != nil {
			return err
		}
	}
	for host := range b.nics {
		if err := b.ns.Do(func() error { return b.start(ctx, dir, host) }); err != nil {
			return err
		}
	}
	return nil
}

func nicEnd(host, plane int) string { return fmt.Sprintf("n%dp%d", host+1, plane+1) }

// start starts a NIC in the network of the caller's thread.
func (b *nicPair) start(ctx context.Context, dir string, host int) error {
	var names, gateways []string
	for plane := range 2 {
		names = append(names, nicEnd(host, plane))
		peer, err := net.InterfaceByName(nicEnd(1-host, plane))
		if err != nil {
			return err
		}
		gateways = append(gateways, peer.HardwareAddr.String())
		// otherwise the kernel receives each frame too, and replies that the address is unknown
		off := "/proc/sys/net/ipv6/conf/" + nicEnd(host, plane) + "/disable_ipv6"
		if err := os.WriteFile(off, []byte("1"), 0); err != nil {
			return err
		}
	}
	b.sockets[host] = filepath.Join(dir, fmt.Sprintf("burst%d-nic%d.sock", b.burst, host+1))
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "weft"), "nic", "-i",
		strings.Join(names, ","), "--gateway", strings.Join(gateways, ","), "--address",
		fmt.Sprintf("2001:db8::%d", host+1), "--socket", b.sockets[host], "--line-rate", "100000000000",
		"--burst", strconv.Itoa(b.burst))
	log, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	begin := cmd.Start
	if host == 0 {
		begin = func() error { return startPinned(cmd) }
	}
	if err := begin(); err != nil {
		return err
	}
	b.nics[host] = cmd
	lines, said := bufio.NewScanner(log), ""
	for lines.Scan() {
		if said = lines.Text(); strings.Contains(said, "applications may connect") {
			go func() { _, _ = io.Copy(io.Discard, log) }()
			return nil
		}
	}
	return fmt.Errorf("NIC %d has not started: it said last %q", host+1, said)
}

func (b *nicBench) close() {
	for i := range b.pairs {
		p := &b.pairs[i]
		for _, n := range p.nics {
			if n != nil {
				_ = n.Process.Kill()
				_ = n.Wait() // it was killed
			}
		}
		if p.ns != nil {
			p.ns.Close()
		}
	}
	_ = os.RemoveAll(b.dir)
}

// blast has so many messages sent, and returns how long that took, and the processor time of the
// sender's NIC. The memory of the receiver is compared.
func (b *nicPair) blast(ctx context.Context, dir string, octets, count int) (took,
	spent time.Duration, err error) {
	before, err := b.processorTime()
	if err != nil {
		return 0, 0, err
	}
	text, err := exec.CommandContext(ctx, filepath.Join(dir, "load"), b.sockets[0], b.sockets[1], "1",
		strconv.Itoa(octets), "0", strconv.Itoa(count)).CombinedOutput()
	if err != nil {
		return 0, 0, fmt.Errorf("load: %w: %s", err, text)
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil {
		return 0, 0, fmt.Errorf("load: %w", err)
	}
	after, err := b.processorTime()
	return time.Duration(seconds * 1e9), after - before, err
}

// processorTime is the time of the sender's NIC so far.
func (b *nicPair) processorTime() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", b.nics[0].Process.Pid))
	if err != nil {
		return 0, err
	}
	const userTime, systemTime = 11, 12 // after the name, which may have spaces
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	user, err := strconv.Atoi(fields[userTime])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(fields[systemTime])
	return time.Duration(user+system) * clockTick, err
}

// byTCP is the octets a second that arrive by loopback in writes of a size.
func byTCP(size int) (rate float64, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	from, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return 0, err
	}
	to, err := l.Accept()
	if err != nil {
		return 0, errors.Join(err, from.Close())
	}
	return bySockets(from, to, size)
}

// byUDP is byTCP with datagrams; those that are lost do not count.
func byUDP(size int) (rate float64, err error) {
	to, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	from, err := net.Dial("udp", to.LocalAddr().String())
	if err != nil {
		return 0, errors.Join(err, to.Close())
	}
	return bySockets(from, to.(net.Conn), size)
}

func bySockets(from, to net.Conn, size int) (rate float64, err error) {
	got := make(chan int)
	go func() {
		buffer, total := make([]byte, max(size, 256<<10)), 0
		for {
			n, err := to.Read(buffer)
			total += n
			if err != nil {
				got <- total
				return
			}
		}
	}()
	message, began := make([]byte, size), time.Now()
	for time.Since(began) < nicSocketTime && err == nil {
		_, err = from.Write(message)
	}
	took := time.Since(began)
	err = errors.Join(err, from.Close())
	if deadline := to.SetReadDeadline(time.Now().Add(nicSocketTime / 10)); deadline != nil {
		err = errors.Join(err, deadline)
	}
	octets := <-got
	return float64(octets) / took.Seconds(), errors.Join(err, to.Close())
}
