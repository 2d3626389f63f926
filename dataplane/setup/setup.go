package setup

import (
	"errors"
	"fmt"
	"os"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/dataplane/translated"
)

// ErrRefused reports that the switch refused entries that could be read.
var ErrRefused = errors.New("refused")

// Files names what a switch is started from.
type Files struct {
	Program string // BMv2 JSON, as p4c-bm2-ss writes it
	P4Info  string // in protobuf text form; empty: the program runs without P4Runtime names
	Entries string // WriteRequests in protobuf text form; empty: none. They want a P4Info
}

// Device makes a device that runs the program and has the entries. An ID of 0
// in the configuration becomes 1. Every error names the file it is about; those
// of entries the switch does not take wrap ErrRefused and name each update.
func Device(f Files, cfg p4rt.Config) (*p4rt.Device, error) {
	if f.Program == "" {
		return nil, errors.New("there is no program: want the JSON file that p4c-bm2-ss wrote")
	}
	program, err := os.ReadFile(f.Program)
	if err != nil {
		return nil, err
	}
	var info *p4config.P4Info
	if f.P4Info != "" {
		if info, err = readP4Info(f.P4Info); err != nil {
			return nil, err
		}
	}
	var requests []request
	if f.Entries != "" {
		if info == nil {
			return nil, fmt.Errorf("%s: entries without a P4Info: their ids mean nothing", f.Entries)
		}
		if requests, err = readEntries(f.Entries); err != nil {
			return nil, err
		}
	}
	if cfg.ID == 0 {
		cfg.ID = 1
	}
	d, err := p4rt.NewDevice(cfg)
	if err != nil {
		return nil, err
	}
	if info == nil {
		p, err := engine.Load(program, translated.Fabric)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Program, err)
		}
		d.Switch().SetProgram(p)
		return d, nil
	}
	err = d.SetPipeline(0, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: cfg.ID, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
		Config: &p4v1.ForwardingPipelineConfig{P4Info: info, P4DeviceConfig: program},
	})
	if err != nil {
		if _, bad := engine.Load(program); bad != nil {
			return nil, fmt.Errorf("%s: %w", f.Program, bad)
		}
		return nil, fmt.Errorf("%s with %s: %w", f.P4Info, f.Program, err)
	}
	if err := write(d, requests, f.Entries); err != nil {
		return nil, err
	}
	return d, nil
}

func readP4Info(name string) (*p4config.P4Info, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	info := new(p4config.P4Info)
	if err := prototext.Unmarshal(text, info); err != nil {
		return nil, fmt.Errorf("%s: not a P4Info in protobuf text form: %s", name, reason(err))
	}
	return info, nil
}

// write gives a device the requests of a file. What the device refuses is
// listed, update by update; the requests after the first that fails are not
// sent.
func write(d *p4rt.Device, requests []request, file string) error {
	for i, r := range requests {
		r.DeviceId = d.ID()
		err := d.Write(0, r.WriteRequest)
		if err == nil {
			continue
		}
		where := fmt.Sprintf("%s:%d", file, r.line)
		if len(requests) > 1 {
			where += fmt.Sprintf(": request %d of %d", i+1, len(requests))
		}
		var each []error
		failed := 0
		for n, detail := range status.Convert(err).Details() {
			if e, ok := detail.(*p4v1.Error); ok && e.GetCanonicalCode() != 0 {
				if failed++; failed <= shownRefusals {
					each = append(each, fmt.Errorf("%s: update %d of %d %w: %s", where, n+1, len(r.GetUpdates()),
						ErrRefused, e.GetMessage()))
				}
			}
		}
		switch {
		case failed == 0:
			return fmt.Errorf("%s: %w: %s", where, ErrRefused, status.Convert(err).Message())
		case failed > shownRefusals:
			each = append(each, fmt.Errorf("%s: and %d more of its updates %w", where, failed-shownRefusals,
				ErrRefused))
		}
		return errors.Join(each...)
	}
	return nil
}

// shownRefusals bounds the list of refused updates.
const shownRefusals = 10
