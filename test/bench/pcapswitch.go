package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// pcapSwitchCommand is the argument that makes this program a switch between pcap files; a role and a folder follow.
const pcapSwitchCommand = "pcap-switch"

// startEmbedded starts this program as an embedded switch between the pcap files of a folder.
func startEmbedded(ctx context.Context, dir string, r role) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, self, pcapSwitchCommand, r.String(), dir), nil
}

// pcapSwitch is an embedded switch on one goroutine that reads frames from the pcap file of the role's input port and writes what
// leaves to those of the ports. What has been worked off is written when nothing more waits to be read.
func pcapSwitch(name, dir string) error {
	r, err := roleNamed(name)
	if err != nil {
		return err
	}
	ports := r.ports()
	out := make([]*bufio.Writer, ports[len(ports)-1]+1)
	for _, port := range ports {
		f, err := os.OpenFile(outPath(dir, port), os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		out[port] = bufio.NewWriterSize(f, 1<<16)
		if _, err := out[port].Write(appendPcapHeader(nil)); err != nil {
			return err
		}
	}
	var record []byte
	device, err := newDevice(r, func(_ time.Duration, port uint32, frame []byte) {
		record = appendPcapRecord(record[:0], frame)
		out[port].Write(record) // an error stays for Flush
	})
	if err != nil {
		return err
	}
	port := r.in[0].port
	f, err := os.Open(inPath(dir, port))
	if err != nil {
		return err
	}
	defer f.Close()
	buffered := bufio.NewReaderSize(f, 1<<16)
	in := pcapReader{from: buffered}
	start := time.Now()
	for {
		if buffered.Buffered() == 0 {
			for _, w := range out {
				if w == nil {
					continue
				}
				if err := w.Flush(); err != nil {
					return err
				}
			}
		}
		frame, err := in.next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		now := time.Since(start)
		device.Receive(now, port, frame)
		device.Advance(now)
	}
}

func roleNamed(name string) (role, error) {
	for _, r := range allRoles() {
		if r.String() == name {
			return r, nil
		}
	}
	return role{}, fmt.Errorf("no role %q", name)
}
