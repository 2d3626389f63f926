package bmv2

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// BMv2's switch and its programming tool. The tool is BMv2's own command line, not P4Runtime, so a
// simple_switch alone suffices.
const (
	SimpleSwitch    = "simple_switch"
	simpleSwitchCLI = "simple_switch_CLI"
)

// MissingSimpleSwitch reports what is missing to run simple_switch and to program it, or nothing.
func MissingSimpleSwitch() string {
	for _, program := range []string{SimpleSwitch, simpleSwitchCLI} {
		if _, err := exec.LookPath(program); err != nil {
			return program
		}
	}
	return ""
}

// SimpleSwitchArgs returns the arguments for a silent simple_switch with its Thrift server on a
// port and its sockets in dir. Interfaces and the program follow.
func SimpleSwitchArgs(thrift int, dir string) []string {
	return append([]string{"--log-level", "off", "--thrift-port", fmt.Sprint(thrift), "--device-id",
		fmt.Sprint(thrift)}, NotificationArgs(SimpleSwitch, filepath.Join(dir, "notifications.ipc"))...)
}

// NotificationArgs returns the arguments that make a BMv2 switch open its notification socket at a
// path. A build without nanomsg has no such socket and refuses the option.
func NotificationArgs(program, path string) []string {
	if help, err := exec.Command(program, "--help").CombinedOutput(); err == nil &&
		!strings.Contains(string(help), "--notifications-addr") {
		return nil
	}
	return []string{"--notifications-addr", "ipc://" + path}
}

// FileRun is a simple_switch between capture files, as --use-files has it.
type FileRun struct {
	*Process
	thrift int // port of its Thrift server
}

// InFile returns the name of the capture file of packets that arrive on a port; OutFile the capture
// of the packets that leave the port.
func InFile(port uint32) string  { return fmt.Sprintf("%d_in.pcap", port) }
func OutFile(port uint32) string { return fmt.Sprintf("%d_out.pcap", port) }

// RunOnFiles starts simple_switch in a folder, where it reads the InFile and writes the OutFile of
// each port, once it has waited so many seconds. Program is the absolute path of a BMv2 JSON file.
// Start is nil for cmd.Start.
func RunOnFiles(ctx context.Context, dir, program string, ports []uint32, wait int,
	start func(*exec.Cmd) error) (*FileRun, error) {
	thrift, err := freePort()
	if err != nil {
		return nil, err
	}
	args := append(SimpleSwitchArgs(thrift, dir), "--use-files", fmt.Sprint(wait))
	for _, port := range ports {
		args = append(args, "-i", fmt.Sprintf("%d@%d", port, port))
	}
	cmd := exec.CommandContext(ctx, SimpleSwitch, append(args, program)...)
	cmd.Dir = dir
	if start == nil {
		start = (*exec.Cmd).Start
	}
	p, err := startProcess(cmd, func() error { return start(cmd) })
	if err != nil {
		return nil, err
	}
	return &FileRun{p, thrift}, nil
}

// Command gives the switch commands of simple_switch_CLI: see [Process.Command].
func (r *FileRun) Command(ctx context.Context, script string) (string, error) {
	return r.Process.Command(ctx, r.thrift, script)
}

// Ports for Thrift servers lie below the ports that Linux gives to sockets by itself, because any
// process may get such a port between the look and the start of a switch. Processes begin apart
// from each other.
const (
	firstPort, ports = 10000, 20000
	portsApart       = 97
)

var portsTaken atomic.Int64

// freePort returns a TCP port on loopback without a listener. Each call returns another port.
func freePort() (int, error) {
	for range ports {
		n := firstPort + int(int64(os.Getpid()*portsApart)+portsTaken.Add(1))%ports
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", n)); err == nil {
			return n, l.Close()
		}
	}
	return 0, fmt.Errorf("no port from %d to %d is free", firstPort, firstPort+ports-1)
}

// Command sends simple_switch_CLI commands, one per line, to a simple_switch as soon as the switch
// listens, and returns the replies. A refused command is an error.
func Command(ctx context.Context, thrift int, script string) (string, error) {
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", thrift))
		if err == nil {
			conn.Close()
			break
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("it does not listen: %w", errors.Join(context.Cause(ctx), err))
		case <-time.After(20 * time.Millisecond): // another process: there is nothing to wait on
		}
	}
	cli := exec.CommandContext(ctx, simpleSwitchCLI, "--thrift-port", fmt.Sprint(thrift))
	cli.Stdin = strings.NewReader(script)
	out, err := cli.CombinedOutput()
	said := string(out)
	if err != nil {
		return said, fmt.Errorf("%s: %w: %s", simpleSwitchCLI, err, said)
	}
	for _, bad := range []string{"Error", "Invalid", "DUPLICATE"} {
		if i := strings.Index(said, bad); i >= 0 {
			return said, fmt.Errorf("%s: …%s", simpleSwitchCLI, said[max(0, i-200):min(len(said), i+200)])
		}
	}
	return said, nil
}
