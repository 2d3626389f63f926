package lab

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-sdn/weft/internal/pcap"
)

// PcapOctets of a frame are in capture files: all headers of MRC, outer ones too.
const PcapOctets = 192

// A Pcap is a tap that writes the frames of each link to a pcap file A-B.pcap, in both directions,
// when they are put on the link, by the world's time. The Pcap stops at the first error.
type Pcap struct {
	files map[string]*pcapFile
	err   error
}

type pcapFile struct {
	file    *os.File
	buffer  *bufio.Writer
	packets *pcap.Writer
}

// NewPcap makes the files of a world's links in a directory. Several links between two nodes share
// one file.
func (w *World) NewPcap(dir string) (*Pcap, error) {
	p := &Pcap{files: map[string]*pcapFile{}}
	for _, l := range w.Network.Links {
		f := p.files[l.A+"-"+l.B]
		if f == nil {
			file, err := os.Create(filepath.Join(dir, l.A+"-"+l.B+".pcap"))
			if err != nil {
				return nil, errors.Join(fmt.Errorf("lab: capture: %w", err), p.Close())
			}
			f = &pcapFile{file: file, buffer: bufio.NewWriter(file)}
			f.packets, err = pcap.NewWriter(f.buffer, PcapOctets)
			p.files[l.A+"-"+l.B], p.files[l.B+"-"+l.A] = f, f
			p.err = errors.Join(p.err, err)
		}
	}
	return p, nil
}

// Capture writes the frames of every link to a directory from now on, until Close: see
// [World.NewPcap]. Captured packets are in the files after a second at the latest.
func (l *Live) Capture(ctx context.Context, dir string) error {
	return l.Do(ctx, func(w *World) error {
		p, err := w.NewPcap(dir)
		if err != nil {
			return err
		}
		l.pcap = p
		w.AddTap(p)
		var flush func()
		flush = func() {
			p.flush()
			w.After(time.Second, flush)
		}
		flush()
		return nil
	})
}

// flush writes what is buffered.
func (p *Pcap) flush() {
	for _, f := range p.files {
		p.err = cmp.Or(p.err, f.buffer.Flush())
	}
}

// Sent implements Tap.
func (p *Pcap) Sent(now time.Duration, w *Wire, frame []byte) {
	if p.err != nil {
		return
	}
	n := min(len(frame), PcapOctets)
	p.err = p.files[w.Name()].packets.Write(epoch.Add(now), frame[:n], len(frame))
}

// Arrived implements Tap.
func (p *Pcap) Arrived(time.Duration, *Wire, []byte) {}

// Close writes the remaining frames, and returns the first error. The world must not send
// meanwhile.
func (p *Pcap) Close() error {
	err := p.err
	for name, f := range p.files {
		if f.file != nil {
			err = errors.Join(err, f.buffer.Flush(), f.file.Close())
			f.file = nil
		}
		delete(p.files, name)
	}
	if err != nil {
		return fmt.Errorf("lab: capture: %w", err)
	}
	return nil
}
