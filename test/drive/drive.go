// Package drive puts a load through an embedded switch and measures the processor time that the
// switch takes. The package needs nothing but dataplane/p4rt, so that it also builds in the source
// tree of an earlier commit.
package drive

import (
	"encoding/gob"
	"encoding/json"
	"fmt"
	"hash/crc64"
	"io"
	"syscall"
	"time"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/dataplane/p4rt"
)

// Load is a program with entries, and the packets and updates that a switch gets. The switch gets
// the packets of Cycle over and over again, Learn packets at first and then Count packets, and one
// of the updates, in turn, after Every packets; 0: none.
type Load struct {
	Program, Info    []byte   // the JSON of BMv2, and a P4Info
	Entries, Updates [][]byte // messages WriteRequest
	Cycle            []Packet
	Learn, Count     int
	Every            int
	Plain            bool // each packet runs the program
}

// Packet is a frame that comes in by a port.
type Packet struct {
	Port  uint32
	Frame []byte
}

// Result is what a load took. Two switches that have sent equal packets have equal Out, Octets and
// Sum.
type Result struct {
	LearnMicros, Micros float64 // of processor time for a packet in
	Out                 int     // packets out, with those while the switch learned
	Octets              uint64  // of them
	Sum                 uint64  // of the frames of one more cycle, whatever their order
	Recalled            float64 // the part of Count that followed a recorded path
}

// Run reads a Load as gob, and writes its Result as JSON.
func Run(in io.Reader, out io.Writer) error {
	var l Load
	if err := gob.NewDecoder(in).Decode(&l); err != nil {
		return fmt.Errorf("load: %w", err)
	}
	r, err := l.run()
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// driver is a switch under a load.
type driver struct {
	*Load
	device  *p4rt.Device
	updates []*p4v1.WriteRequest
	now     time.Duration
	sent    int
	updated int
}

// Gap is the time between two packets by the clock of the switch: 50,000 packets a second come in,
// whatever it takes to work them off.
const Gap = 20 * time.Microsecond

// follower is a switch that can be told not to record paths: those of early commits cannot.
type follower interface {
	FollowPaths(follow bool)
	Recalled() uint64
}

func (l *Load) run() (r Result, err error) {
	table, summed := crc64.MakeTable(crc64.ISO), false
	d := driver{Load: l}
	d.device, err = p4rt.NewDevice(p4rt.Config{ID: 1,
		Transmit: func(_ time.Duration, port uint32, frame []byte) {
			r.Out++
			r.Octets += uint64(len(frame))
			if summed {
				r.Sum += crc64.Checksum(frame, table) * uint64(2*port+1)
			}
		}})
	if err != nil {
		return r, err
	}
	if err := d.install(); err != nil {
		return r, err
	}
	f, follows := any(d.device.Switch()).(follower)
	switch {
	case follows && l.Plain:
		f.FollowPaths(false)
	case l.Plain:
		return r, fmt.Errorf("this commit has no switch that runs without paths")
	}
	if r.LearnMicros, err = d.send(l.Learn); err != nil {
		return r, err
	}
	recalled := uint64(0)
	if follows {
		recalled = f.Recalled()
	}
	if r.Micros, err = d.send(l.Count); err != nil {
		return r, err
	}
	if follows {
		r.Recalled = float64(f.Recalled()-recalled) / float64(l.Count)
	}
	summed = true
	_, err = d.send(len(l.Cycle))
	return r, err
}

// install gives the switch its program and entries, and decodes the updates.
func (d *driver) install() error {
	info := new(p4config.P4Info)
	if err := proto.Unmarshal(d.Info, info); err != nil {
		return fmt.Errorf("P4Info: %w", err)
	}
	err := d.device.SetPipeline(0, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: 1, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
		Config: &p4v1.ForwardingPipelineConfig{P4Info: info, P4DeviceConfig: d.Program},
	})
	if err != nil {
		return err
	}
	entries, err := requests(d.Entries)
	if err != nil {
		return err
	}
	for _, w := range entries {
		if err := d.device.Write(0, w); err != nil {
			return err
		}
	}
	d.updates, err = requests(d.Updates)
	return err
}

func requests(texts [][]byte) (all []*p4v1.WriteRequest, err error) {
	for _, text := range texts {
		w := new(p4v1.WriteRequest)
		if err := proto.Unmarshal(text, w); err != nil {
			return nil, fmt.Errorf("WriteRequest: %w", err)
		}
		all = append(all, w)
	}
	return all, nil
}

// send sends n packets, and returns the microseconds of processor time for each.
func (d *driver) send(n int) (float64, error) {
	before := cpuTime()
	for range n {
		p := &d.Cycle[d.sent%len(d.Cycle)]
		d.sent++
		d.now += Gap
		d.device.Receive(d.now, p.Port, p.Frame)
		d.device.Advance(d.now)
		if d.Every > 0 && d.sent%d.Every == 0 {
			if err := d.device.Write(d.now, d.updates[d.updated%len(d.updates)]); err != nil {
				return 0, err
			}
			d.updated++
		}
	}
	return float64((cpuTime() - before).Nanoseconds()) / 1e3 / float64(n), nil
}

// cpuTime returns what all threads of this process have taken so far.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // there is no other error than a wrong argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
