package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// jobEnv knows hosts n0 and so on, each with NICs 0 to 7, and takes layouts whose product is right.
func jobEnv() JobEnv {
	return JobEnv{
		Expand: func(list string, most int) ([]string, error) {
			var from, to int
			if n, err := fmt.Sscanf(list, "n[%d-%d]", &from, &to); n != 2 || err != nil {
				return nil, errors.New("no list")
			}
			if to-from+1 > most {
				return nil, errors.New("too many")
			}
			var out []string
			for ; from <= to; from++ {
				out = append(out, fmt.Sprintf("n%d", from))
			}
			return out, nil
		},
		HasNIC: func(name string) bool { return strings.HasPrefix(name, "n") },
		Layout: func(l *JobLayout, ranks int) []FieldError {
			if l.TP*l.CP*l.DP*l.PP != ranks {
				return []FieldError{{Field: "spec.layout", Code: CodeInvalid}}
			}
			return nil
		},
	}
}

func TestJobRules(t *testing.T) {
	good := func() JobSpec {
		return JobSpec{Hosts: "n[0-3]", NICsPerHost: 2, Layout: &JobLayout{TP: 2, DP: 4}}
	}
	talk := func(ranks string, p JobPattern) func(*JobSpec) {
		return func(s *JobSpec) {
			s.Layout = nil
			s.Communicators = []JobCommunicator{{Name: "a", Ranks: ranks, Pattern: p}}
		}
	}
	const group = "spec.communicators[0].multicast"
	multicast := func(change func(*JobCommunicator)) func(*JobSpec) {
		return func(s *JobSpec) {
			c := JobCommunicator{Name: "a", Ranks: "0-2", Pattern: PatternBroadcast,
				Multicast: &JobMulticast{ProxyAddress: netip.MustParseAddr("2001:db8::ff"),
					DesignatedQPN: 2, QPN: 2}}
			change(&c)
			s.Layout, s.Communicators = nil, []JobCommunicator{c}
		}
	}
	make9 := func() []JobQueuePair { return slices.Repeat([]JobQueuePair{{QPN: 9}}, 9) }
	for _, c := range []struct {
		field  string // "": it is valid
		change func(*JobSpec)
	}{
		{"", func(*JobSpec) {}},
		{"spec.hosts", func(s *JobSpec) { s.Hosts = "" }},
		{"spec.hosts", func(s *JobSpec) { s.Hosts = "n[0-" }},
		{"spec.hosts", func(s *JobSpec) { s.Hosts, s.NICsPerHost = "n[0-131071]", 2 }},
		{"spec.ranks", func(s *JobSpec) { s.Ranks = []JobRank{{"n1", 0}} }},
		{"spec.nicsPerHost", func(s *JobSpec) { s.NICsPerHost = 65 }},
		{"spec.nicsPerHost", func(s *JobSpec) { s.Hosts, s.Ranks = "", []JobRank{{"n1", 0}} }},
		{"spec.nic", func(s *JobSpec) { s.NIC = "{host}" }},
		{"spec.nic", func(s *JobSpec) { s.NIC = "n-{nic}" }},
		{"spec.hosts", func(s *JobSpec) { s.NIC = "x{host}-{nic}" }},
		{"spec.ranks", func(s *JobSpec) {
			s.Hosts, s.NICsPerHost, s.Layout.TP, s.Layout.DP = "", 0, 1, 2
			s.Ranks = []JobRank{{"n1", 1}, {"n1", 1}}
		}},
		{"", func(s *JobSpec) {
			s.Hosts, s.NICsPerHost, s.Layout.TP, s.Layout.DP = "", 0, 1, 2
			s.Ranks = []JobRank{{"n1", 1}, {"n1", 0}}
		}},
		{"spec.layout", func(s *JobSpec) { s.Layout = nil }},
		{"spec.layout", func(s *JobSpec) { s.Layout.DP = 5 }},
		{"spec.layout.pp", func(s *JobSpec) { s.Layout.PP = -1 }},
		{"spec.communicators", func(s *JobSpec) { s.Communicators = []JobCommunicator{{Name: "a"}} }},
		{"", talk("0-7", PatternRing)},
		{"", talk("7,0-6:2", PatternTree)},
		{"spec.communicators[0].ranks", talk("0-8", PatternRing)},
		{"spec.communicators[0].ranks", talk("0,0", PatternRing)},
		{"spec.communicators[0].ranks", talk("0", PatternRing)},
		{"spec.communicators[0].ranks", talk("0-2", PatternPairwise)},
		{"spec.communicators[0].ranks", talk("0-7:0", PatternRing)},
		{"spec.communicators[0].ranks", talk("", PatternRing)},
		{"spec.communicators[0].ranks", talk("5-1", PatternRing)},
		{"spec.communicators[0].pattern", talk("0-7", "star")},
		{"spec.communicators[1].name", func(s *JobSpec) {
			s.Layout = nil
			c := JobCommunicator{Name: "a", Ranks: "0-7", Pattern: PatternRing}
			s.Communicators = []JobCommunicator{c, c}
		}},
		{"", func(s *JobSpec) { s.QPsPerPeer = MaxQPsPerPeer }},
		{"spec.qpsPerPeer", func(s *JobSpec) { s.QPsPerPeer = MaxQPsPerPeer + 1 }},
		{"spec.qpsPerPeer", func(s *JobSpec) { s.QPsPerPeer = -1 }},
		{"", multicast(func(*JobCommunicator) {})},
		{"", multicast(func(c *JobCommunicator) { c.Multicast.QPN = 0 })},
		{"", multicast(func(c *JobCommunicator) {
			c.Multicast.QPN, c.Multicast.QueuePairs = 0, make9()[:3]
		})},
		{"", multicast(func(c *JobCommunicator) {
			c.Pattern, c.Multicast.QPN, c.Multicast.QueuePairs = PatternAllGather, 0, make9()
		})},
		{group, multicast(func(c *JobCommunicator) { c.Pattern = PatternRing })},
		{group + ".designatedQpn", multicast(func(c *JobCommunicator) { c.Multicast.DesignatedQPN = 1 })},
		{group + ".qpn", multicast(func(c *JobCommunicator) { c.Multicast.QPN = 1 })},
		{group + ".qpn", multicast(func(c *JobCommunicator) {
			c.Pattern, c.Multicast.QPN = PatternAllGather, 1<<24-2
		})},
		{group + ".queuePairs", multicast(func(c *JobCommunicator) {
			c.Multicast.QueuePairs = make9()[:3]
		})},
		{group + ".queuePairs", multicast(func(c *JobCommunicator) {
			c.Multicast.QPN, c.Multicast.QueuePairs = 0, make9()
		})},
		{group + ".queuePairs[1].va", multicast(func(c *JobCommunicator) {
			va := uint64(0)
			c.Multicast.QPN, c.Multicast.QueuePairs = 0, make9()[:3]
			c.Multicast.QueuePairs[1].VA = &va
		})},
		{group + ".proxyAddress", multicast(func(c *JobCommunicator) {
			c.Multicast.ProxyAddress = netip.Addr{}
		})},
		{group + ".nic", multicast(func(c *JobCommunicator) { c.Multicast.NIC = "x{host}" })},
		{"spec.lease", func(s *JobSpec) { s.Lease = Duration(time.Millisecond) }},
		{"spec.lease", func(s *JobSpec) { s.Lease = Duration(-time.Hour) }},
		{"spec.priority", func(s *JobSpec) { s.Priority = MaxJobPriority + 1 }},
		{"spec.state", func(s *JobSpec) { s.State = "over" }},
	} {
		s := good()
		c.change(&s)
		s = s.Complete()
		err := s.Validate(jobEnv())
		var refused *Error
		errors.As(err, &refused)
		switch {
		case c.field == "" && err != nil:
			t.Errorf("%+v: %v", s, err)
		case c.field != "" && (refused == nil || len(refused.Fields) != 1 ||
			refused.Fields[0].Field != c.field):
			t.Errorf("%+v: %v, want a fault of %s", s, err, c.field)
		}
	}
}

func TestJobDefaults(t *testing.T) {
	s := JobSpec{Hosts: "n[0-3]", Layout: &JobLayout{DP: 4}}.Complete()
	if s.NICsPerHost != 1 || s.NIC != "{host}" || s.Layout.TP != 1 ||
		s.Layout.Order != DefaultJobOrder ||
		s.State != JobPlaced {
		t.Errorf("complete is %+v, %+v", s, s.Layout)
	}
	many := JobSpec{Hosts: "n[0-3]", NICsPerHost: 8}.Complete()
	if got := many.NICOf("n1", 7); got != "n1-7" {
		t.Errorf("a NIC is %s", got)
	}
	many.NIC = "{host}-rail{rail}"
	if got := many.NICOf("n1", 7); got != "n1-rail8" {
		t.Errorf("a NIC is %s", got)
	}
}

// TestJobMembers: ranks of a communicator keep their order.
func TestJobMembers(t *testing.T) {
	c := JobCommunicator{Ranks: "6,0-4:2,7"}
	if got, err := c.Members(8); err != nil || !slices.Equal(got, []int{6, 0, 2, 4, 7}) {
		t.Errorf("members are %v, %v", got, err)
	}
}

// TestJobOfAllRanksIsSmall: a body for the most ranks fits into a request.
func TestJobOfAllRanksIsSmall(t *testing.T) {
	s := JobSpec{Hosts: "n[0-16383]", NICsPerHost: 8, Layout: &JobLayout{TP: 8, DP: 16384}}.Complete()
	if err := s.Validate(jobEnv()); err != nil {
		t.Fatal(err)
	}
	places, err := s.Places(jobEnv().Expand)
	if err != nil || len(places) != MaxJobRanks {
		t.Errorf("%d places, %v", len(places), err)
	}
	body, err := json.Marshal(Request[JobSpec]{Name: "j", Spec: s})
	if err != nil || len(body) > 1024 {
		t.Errorf("a body of %d octets, %v", len(body), err)
	}
}
