package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// captures is the program "pcap" of the scripts: "pcap X.pcap" shows what a
// capture holds, "pcap X.txt X.pcap" makes one. A packet is a line of
// microseconds and hexadecimal octets.
func captures() {
	err := func() error {
		if len(os.Args) == 2 {
			return showCapture(os.Args[1], os.Stdout)
		}
		from, err := os.Open(os.Args[1])
		if err != nil {
			return err
		}
		defer from.Close()
		to, err := os.Create(os.Args[2])
		if err != nil {
			return err
		}
		return errors.Join(makeCapture(from, to), to.Close())
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func makeCapture(from io.Reader, to io.Writer) error {
	w := pcapgo.NewWriter(to)
	if err := w.WriteFileHeader(1<<16, layers.LinkTypeEthernet); err != nil {
		return err
	}
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		stamp, text, _ := strings.Cut(lines.Text(), " ")
		at, err := time.ParseDuration(stamp + "us")
		if err != nil {
			return err
		}
		frame, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if err != nil {
			return err
		}
		info := gopacket.CaptureInfo{Timestamp: time.Unix(0, int64(at)), CaptureLength: len(frame),
			Length: len(frame)}
		if err := w.WritePacket(info, frame); err != nil {
			return err
		}
	}
	return lines.Err()
}

func showCapture(path string, to io.Writer) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	r, err := pcapgo.NewReader(bytes.NewReader(content))
	if err != nil {
		return err
	}
	for {
		frame, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		fmt.Fprintf(to, "%d %x\n", info.Timestamp.UnixMicro(), frame)
	}
}
