package main

import (
	"bufio"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/weft-sdn/weft/test/bmv2"
)

// Captures have the names that simple_switch gives them.
func inPath(dir string, port uint32) string {
	return filepath.Join(dir, bmv2.InFile(port))
}
func outPath(dir string, port uint32) string {
	return filepath.Join(dir, bmv2.OutFile(port))
}

// Octets of a pcap file before its first packet, and before each packet.
const (
	captureHeader = 24
	packetHeader  = 16
)

// maxFrame is more than any frame; simple_switch writes a snapshot length of 0.
const maxFrame = 1 << 18

// writeCaptures writes what a workload sends into each port, engineGap apart.
func (w *workload) writeCaptures(dir string) error {
	writers := map[uint32]*pcapgo.Writer{}
	var flush []func() error
	for _, port := range w.ports() {
		f, err := os.Create(inPath(dir, port))
		if err != nil {
			return err
		}
		buffer := bufio.NewWriterSize(f, 1<<18)
		writers[port] = pcapgo.NewWriter(buffer)
		if err := writers[port].WriteFileHeader(maxFrame, layers.LinkTypeEthernet); err != nil {
			return errors.Join(err, f.Close())
		}
		flush = append(flush, buffer.Flush, f.Close)
	}
	at := time.Unix(0, 0)
	for range w.cycles() {
		for _, x := range w.in {
			at = at.Add(engineGap)
			info := gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(x.frame), Length: len(x.frame)}
			if err := writers[x.port].WritePacket(info, x.frame); err != nil {
				return err
			}
		}
	}
	var errs []error
	for _, f := range flush {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// A tally summarizes the packets of a port in any order: equal packets make equal tallies.
type tally struct {
	packets int
	octets  int64
	sum     uint64
}

// sum stands for a frame on a port.
type sum struct {
	port uint32
	hash uint64
}

var seed = maphash.MakeSeed()

func (t *tally) add(frame []byte, times int) {
	t.packets += times
	t.octets += int64(times) * int64(len(frame))
	t.sum += uint64(times) * maphash.Bytes(seed, frame)
}

// file returns the length of the capture file that simple_switch writes for the packets: the file
// gets its header with the first packet.
func (t tally) file() int64 {
	if t.packets == 0 {
		return 0
	}
	return captureHeader + int64(t.packets)*packetHeader + t.octets
}

// expected returns the tallies that each port must have.
func (w *workload) expected() map[uint32]tally {
	all := map[uint32]tally{}
	for _, port := range w.ports() {
		all[port] = tally{}
	}
	maps.Copy(all, w.comes)
	for _, x := range w.out {
		t := all[x.port]
		t.add(x.frame, w.cycles())
		all[x.port] = t
	}
	return all
}

// checkCaptures compares the packets in the files of a folder with the expected tallies.
func (w *workload) checkCaptures(dir string) error {
	for port, want := range w.expected() {
		got, err := countCapture(outPath(dir, port))
		if errors.Is(err, os.ErrNotExist) && want.packets == 0 {
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: port %d: %w", w.title, port, err)
		}
		if got.packets != want.packets {
			return fmt.Errorf("%s: port %d: %d packets came out, want %d", w.title, port, got.packets,
				want.packets)
		}
		if got != want {
			return fmt.Errorf("%s: port %d: other packets came out than must", w.title, port)
		}
	}
	return nil
}

func countCapture(path string) (tally, error) {
	var t tally
	f, err := os.Open(path)
	if err != nil {
		return t, err
	}
	defer f.Close()
	r, err := pcapgo.NewReader(bufio.NewReaderSize(f, 1<<20))
	if errors.Is(err, io.EOF) {
		return t, nil
	} else if err != nil {
		return t, err
	}
	r.SetSnaplen(maxFrame)
	for {
		frame, _, err := r.ZeroCopyReadPacketData()
		if errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return t, err
		}
		t.add(frame, 1)
	}
}
