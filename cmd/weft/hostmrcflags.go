package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/host/mrchost"
)

// nicFlags defines the flags for the NIC of an MRC host. "weft nic" takes the same flags.
type nicFlags struct {
	set *pflag.FlagSet // these flags

	rtt             time.Duration
	controller      mrchost.Controller
	udpPort         uint16
	dscp            map[string]int
	shareCongestion bool
	burst           int
	receive         mrchost.Receive
	noPortUpdates   bool
	noFlowControl   bool
}

// mrcFlags holds the flags of "weft host" for MRC hosts only.
type mrcFlags struct {
	nicFlags
	immediate       uint32
	maxWIMM, maxMPR int
	settings        mrchost.QPSettings
	probeTimeout    time.Duration
	linear, expo    uint8
	// no has the features that flags turn off.
	no struct{ dynamicMPR, trimNACK, serviceTime, trim, tseth bool }
}

// streamFlags adds the flags of the stream from the controller.
func streamFlags(f *pflag.FlagSet, c *mrchost.Controller, kind string) {
	f.StringVar(&c.Address, "controller", "",
		kind+"host:port of the controller that supplies entropy values")
	f.StringVar(&c.CA, "controller-ca", "",
		kind+"PEM file with the authorities of the controller's certificate")
	f.StringVar(&c.Cert, "controller-cert", "",
		kind+"PEM file with the host's certificate for the controller")
	f.StringVar(&c.Key, "controller-key", "", kind+"PEM file with its key")
	f.StringVar(&c.ServerName, "controller-name", "",
		kind+"name in the controller's certificate (default the host of --controller)")
}

// register adds the flags to those of the command.
func (m *nicFlags) register(to *pflag.FlagSet) {
	f := pflag.NewFlagSet("mrc", pflag.ContinueOnError)
	streamFlags(f, &m.controller, "mrc: ")
	f.StringVar(&m.controller.State, "controller-state", "",
		"mrc: file that keeps what the controller has configured, for the next start")
	f.DurationVar(&m.rtt, "rtt", mrchost.Default().RTT.D(),
		"mrc: round trip of the idle network, until the controller sets it")
	f.Uint16Var(&m.udpPort, "udp-port", 4791,
		"mrc: UDP destination port; with a controller it must be the controller's")
	f.StringToIntVar(&m.dscp, "dscp", nil, "mrc: codepoints, as "+strings.Join(dscpNames(), "=N,")+
		"=N; with a controller they must be the controller's")
	f.BoolVar(&m.noPortUpdates, "no-port-updates", false, "mrc: send no Port Status Updates to peers")
	f.BoolVar(&m.shareCongestion, "share-congestion", false,
		"mrc: queue pairs to a peer share one congestion window")
	f.IntVar(&m.burst, "burst", 1,
		"mrc: packets of a queue pair that go by one path in a row; from 2 on they pass the kernel as "+
			"one, between two hosts with a burst on a pair of veths")
	f.Uint64Var(&m.receive.Rate, "receive-rate", 0,
		"mrc: bits of payload per second that the host consumes; 0: unlimited")
	f.IntVar(&m.receive.Bitmap, "receive-bitmap", 0,
		"mrc: packets that may have arrived out of order; more are refused; 0: any number")
	f.IntVar(&m.receive.Packets, "receive-packets", 0,
		"mrc: packets that may wait to be consumed; more are refused; 0: any number")
	f.IntVar(&m.receive.Buffer, "receive-buffer", 1<<20,
		"mrc: octets that may wait to be consumed; more are refused")
	f.BoolVar(&m.noFlowControl, "no-flow-control", false,
		"mrc: do not slow peers down by penalties when octets wait")
	f.BoolVar(&m.receive.AdaptMPR, "adapt-mpr", false,
		"mrc: have max_psn_range follow the free share of --receive-buffer")
	m.set = f
	to.AddFlagSet(f)
}

// register adds the flags to those of the command.
func (m *mrcFlags) register(to *pflag.FlagSet) {
	f := pflag.NewFlagSet("mrc", pflag.ContinueOnError)
	m.nicFlags.register(f)
	f.Uint32Var(&m.immediate, "immediate", 0,
		"mrc: immediate data for the peer when the file is written")
	f.IntVar(&m.maxWIMM, "max-wimm", 32, "mrc: WRITEs with Immediate in flight, at both ends")
	f.IntVar(&m.maxMPR, "max-mpr", 8,
		"mrc: greatest max_psn_range in units of 128 packets, at both ends")
	f.IntVar(&m.settings.MPR, "mpr", 0, "mrc: initial max_psn_range (default --max-mpr)")
	f.Uint8Var(&m.settings.AckTimeout, "ack-timeout", 0,
		"mrc: Local ACK Timeout is 1.024 us x 2^N, 1 to 24 (default from the round trip)")
	f.DurationVar(&m.probeTimeout, "probe-timeout", 0,
		"mrc: silence after which a reliability probe is sent; with --ack-timeout (default a quarter "+
			"of that)")
	f.Uint8Var(&m.linear, "linear-retries", 7, "mrc: retries after that timeout, 0 to 7")
	f.Uint8Var(&m.expo, "exponential-retries", 25,
		"mrc: retries with doubling timeouts, 0 to 25; 25 is unlimited")
	f.BoolVar(&m.no.dynamicMPR, "no-dynamic-mpr", false,
		"mrc: max_psn_range does not change, at both ends")
	f.BoolVar(&m.no.trimNACK, "no-trim-nack", false,
		"mrc: trimmed packets are not answered by NACKs, at both ends")
	f.BoolVar(&m.no.serviceTime, "no-service-time", false,
		"mrc: service time is not reported, at both ends")
	f.BoolVar(&m.no.trim, "no-trim", false, "mrc: switches must not trim the data")
	f.BoolVar(&m.no.tseth, "no-timestamps", false, "mrc: requests carry no timestamps")
	m.set = f
	to.AddFlagSet(f)
}

// changed is the name of a flag that was given; empty: none was.
func (m *mrcFlags) changed() (name string) {
	m.set.VisitAll(func(f *pflag.Flag) {
		if f.Changed && name == "" {
			name = f.Name
		}
	})
	return name
}

// codepoints are the codepoints of --dscp.
func codepoints(d *mrchost.DSCPs) map[string]**uint8 {
	return map[string]**uint8{
		"noTrim": &d.NoTrim, "trimmable": &d.Trimmable, "trimmableRetx": &d.TrimmableRetx,
		"trimmed": &d.Trimmed, "trimmedLastHop": &d.TrimmedLastHop, "control": &d.Control,
	}
}

func dscpNames() []string { return slices.Sorted(maps.Keys(codepoints(&mrchost.DSCPs{}))) }

// over sets what the flags say in a configuration.
func (m *nicFlags) over(cfg *mrchost.Config) error {
	given := m.set.Changed
	cfg.RTT = api.Duration(m.rtt)
	if m.controller != (mrchost.Controller{}) {
		cfg.Controller = &m.controller
	}
	if given("udp-port") {
		cfg.Wire.UDPPort = &m.udpPort
	}
	by := codepoints(&cfg.Wire.DSCP)
	for _, name := range slices.Sorted(maps.Keys(m.dscp)) {
		to, known := by[name]
		switch value := m.dscp[name]; {
		case !known:
			return fmt.Errorf("--dscp: %q: want one of %s", name, strings.Join(dscpNames(), ", "))
		case value < 0 || value > math.MaxUint8:
			return fmt.Errorf("--dscp: %s=%d: want 0 to 63", name, value)
		default:
			*to = new(uint8)
			**to = uint8(value)
		}
	}
	cfg.PortUpdates, cfg.ShareCongestion = !m.noPortUpdates, m.shareCongestion
	cfg.Burst, cfg.Receive = m.burst, m.receive
	if m.noFlowControl {
		cfg.Receive.FlowControl = new(bool)
	}
	return nil
}

// over sets what the flags say in a configuration with one queue pair.
func (m *mrcFlags) over(cfg *mrchost.Config) error {
	given := m.set.Changed
	if err := m.nicFlags.over(cfg); err != nil {
		return err
	}
	off := new(bool)
	q := &cfg.QueuePairs[0]
	q.QPSettings = m.settings
	if given("max-wimm") {
		q.MaxWIMM = &m.maxWIMM
	}
	if given("max-mpr") {
		q.MaxMPR = &m.maxMPR
	}
	if given("probe-timeout") {
		pause := api.Duration(m.probeTimeout)
		q.ProbeTimeout = &pause
	}
	if given("linear-retries") {
		q.LinearRetries = &m.linear
	}
	if given("exponential-retries") {
		q.ExponentialRetries = &m.expo
	}
	for _, no := range []struct {
		flag bool
		of   **bool
	}{{m.no.dynamicMPR, &q.DynamicMPR}, {m.no.trimNACK, &q.TrimNACK},
		{m.no.serviceTime, &q.ServiceTime}, {m.no.trim, &q.Trimmable}, {m.no.tseth, &q.Timestamps}} {
		if no.flag {
			*no.of = off
		}
	}
	return nil
}
