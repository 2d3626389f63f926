package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func good() MulticastGroupSpec {
	return StandardGroupDefaults().Complete(MulticastGroupSpec{
		ProxyAddress: addr("2001:db8:ffff::1"), DesignatedQPN: 0xabc,
		Source: GroupSource{addr("2001:db8:1::1"), 0x100}, InitialPSN: 1<<24 - 1,
		Receivers: []GroupReceiver{{Address: addr("2001:db8:1::2"), QPN: 2},
			{Address: addr("2001:db8:1::3"), QPN: 1<<24 - 1}},
	})
}

func env() GroupEnv {
	return GroupEnv{
		Limits: StandardGroupLimits(),
		Host: func(a netip.Addr) (string, bool) {
			return "h", netip.MustParsePrefix("2001:db8:1::/64").Contains(a)
		},
		Taken: func(a netip.Addr) (string, bool) {
			return "in the locator of n4", netip.MustParsePrefix("fc00::/32").Contains(a)
		},
		OtherGroup: func(a netip.Addr) (string, bool) { return "other", a == addr("2001:db8:ffff::2") },
		OtherPair:  func(p QueuePair) (string, bool) { return "other", p.QPN == 0x999 },
	}
}

func TestValidate(t *testing.T) {
	s := good()
	if err := ValidateGroup(&s, env()); err != nil {
		t.Fatalf("a good spec: %v", err)
	}
	n := func(v uint32) *uint32 { return &v }
	for _, c := range []struct {
		name  string
		edit  func(*MulticastGroupSpec)
		code  Code
		field string
		value string
		limit int64 // 0: none
	}{
		{"no proxy", func(s *MulticastGroupSpec) { s.ProxyAddress = netip.Addr{} }, CodeInvalid,
			"spec.proxyAddress", "missing", 0},
		{"IPv4 multicast proxy", func(s *MulticastGroupSpec) { s.ProxyAddress = addr("224.0.0.1") },
			CodeInvalid, "spec.proxyAddress", "224.0.0.1", 0},
		{"mapped proxy", func(s *MulticastGroupSpec) { s.ProxyAddress = addr("::ffff:192.0.2.1") },
			CodeInvalid, "spec.proxyAddress", "::ffff:192.0.2.1", 0},
		{"multicast proxy", func(s *MulticastGroupSpec) { s.ProxyAddress = addr("ff0e::1") }, CodeInvalid,
			"spec.proxyAddress", "ff0e::1", 0},
		{"link-local proxy", func(s *MulticastGroupSpec) { s.ProxyAddress = addr("fe80::1") },
			CodeInvalid, "spec.proxyAddress", "fe80::1", 0},
		{"loopback proxy", func(s *MulticastGroupSpec) { s.ProxyAddress = addr("::1") }, CodeInvalid,
			"spec.proxyAddress", "::1", 0},
		{"unspecified proxy", func(s *MulticastGroupSpec) { s.ProxyAddress = addr("::") }, CodeInvalid,
			"spec.proxyAddress", "::", 0},
		{"proxy in a locator", func(s *MulticastGroupSpec) { s.ProxyAddress = addr("fc00::1") },
			CodeInvalid, "spec.proxyAddress", "fc00::1", 0},
		{"proxy of another group",
			func(s *MulticastGroupSpec) { s.ProxyAddress = addr("2001:db8:ffff::2") }, CodeConflict,
			"spec.proxyAddress", "2001:db8:ffff::2", 0},
		{"designated QPN 0", func(s *MulticastGroupSpec) { s.DesignatedQPN = 0 }, CodeInvalid,
			"spec.designatedQpn", "0", 0},
		{"designated QPN 1", func(s *MulticastGroupSpec) { s.DesignatedQPN = 1 }, CodeInvalid,
			"spec.designatedQpn", "1", 0},
		{"designated QPN of 25 bits", func(s *MulticastGroupSpec) { s.DesignatedQPN = 1 << 24 },
			CodeInvalid, "spec.designatedQpn", "16777216", 1<<24 - 1},
		{"unknown source", func(s *MulticastGroupSpec) { s.Source.Address = addr("2001:db8:2::1") },
			CodeInvalid, "spec.source.address", "2001:db8:2::1", 0},
		{"source QPN", func(s *MulticastGroupSpec) { s.Source.QPN = 1 << 24 }, CodeInvalid,
			"spec.source.qpn", "16777216", 1<<24 - 1},
		{"no receivers", func(s *MulticastGroupSpec) { s.Receivers = nil }, CodeInvalid, "spec.receivers",
			"empty", 0},
		{"unknown receiver",
			func(s *MulticastGroupSpec) { s.Receivers[1].Address = addr("2001:db8:2::1") }, CodeInvalid,
			"spec.receivers[1].address", "2001:db8:2::1", 0},
		{"receiver twice",
			func(s *MulticastGroupSpec) { s.Receivers[1].Address = s.Receivers[0].Address }, CodeInvalid,
			"spec.receivers[1].address", "2001:db8:1::2", 0},
		{"source as receiver", func(s *MulticastGroupSpec) { s.Receivers[0].Address = s.Source.Address },
			CodeInvalid, "spec.receivers[0].address", "2001:db8:1::1", 0},
		{"receiver QPN", func(s *MulticastGroupSpec) { s.Receivers[1].QPN = 1 << 24 }, CodeInvalid,
			"spec.receivers[1].qpn", "16777216", 1<<24 - 1},
		{"start PSN", func(s *MulticastGroupSpec) { s.Receivers[1].StartPSN = n(1 << 24) }, CodeInvalid,
			"spec.receivers[1].startPsn", "16777216", 1<<24 - 1},
		{"start MSN", func(s *MulticastGroupSpec) { s.Receivers[1].StartMSN = 1 << 24 }, CodeInvalid,
			"spec.receivers[1].startMsn", "16777216", 1<<24 - 1},
		{"PSN", func(s *MulticastGroupSpec) { s.Receivers[1].PSN = n(1 << 24) }, CodeInvalid,
			"spec.receivers[1].psn", "16777216", 1<<24 - 1},
		{"PSN in-band", func(s *MulticastGroupSpec) {
			s.Receivers[1].PSN, s.Mode = n(7), ModeInband
		}, CodeInvalid, "spec.receivers[1].psn", "7", 0},
		{"connect, source QPN", func(s *MulticastGroupSpec) { connects(s).Source.QPN = 9 }, CodeInvalid,
			"spec.source.qpn", "9", 0},
		{"connect, receiver QPN", func(s *MulticastGroupSpec) { connects(s).Receivers[1].QPN = 9 },
			CodeInvalid, "spec.receivers[1].qpn", "9", 0},
		{"connect, start PSN", func(s *MulticastGroupSpec) { connects(s).Receivers[1].StartPSN = n(9) },
			CodeInvalid, "spec.receivers[1].startPsn", "9", 0},
		{"connect, start MSN", func(s *MulticastGroupSpec) { connects(s).Receivers[1].StartMSN = 9 },
			CodeInvalid, "spec.receivers[1].startMsn", "9", 0},
		{"connect, PSN", func(s *MulticastGroupSpec) { connects(s).Receivers[1].PSN = n(9) },
			CodeInvalid, "spec.receivers[1].psn", "9", 0},
		{"connect, rkey", func(s *MulticastGroupSpec) { connects(s).Receivers[1].RKey = n(9) },
			CodeInvalid, "spec.receivers[1].rkey", "9", 0},
		{"connect, va", func(s *MulticastGroupSpec) {
			va := uint64(9)
			connects(s).Receivers[1].VA = &va
		}, CodeInvalid, "spec.receivers[1].va", "9", 0},
		{"connect, source", func(s *MulticastGroupSpec) { connects(s).Connect.Source = "some" },
			CodeInvalid, "spec.connect.source", `"some"`, 0},
		{"connect, any and an address", func(s *MulticastGroupSpec) {
			connects(s).Connect.Source = SourceAny
		}, CodeInvalid, "spec.source.address", good().Source.Address.String(), 0},
		{"connect, prefix with bits", func(s *MulticastGroupSpec) {
			connects(s).Connect.Receivers = []netip.Prefix{netip.MustParsePrefix("2001:db8::1/64")}
		}, CodeInvalid, "spec.connect.receivers[0]", "2001:db8::1/64", 0},
		{"connect, IPv4 prefix", func(s *MulticastGroupSpec) {
			connects(s).Connect.Receivers = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		}, CodeInvalid, "spec.connect.receivers[0]", "192.0.2.0/24", 0},
		{"connect, no receivers", func(s *MulticastGroupSpec) { connects(s).Receivers = nil },
			CodeInvalid, "spec.receivers", "empty", 0},
		{"connect, port 0", func(s *MulticastGroupSpec) { connects(s).Connect.Port = 0 }, CodeInvalid,
			"spec.connect.port", "0", 0},
		{"connect, port 65535", func(s *MulticastGroupSpec) { connects(s).Connect.Port = 65535 },
			CodeInvalid, "spec.connect.port", "65535", 0},
		{"connect, MTU", func(s *MulticastGroupSpec) { connects(s).Connect.MTU = 1500 }, CodeInvalid,
			"spec.connect.mtu", "1500", 0},
		{"connect, token", func(s *MulticastGroupSpec) {
			connects(s).Connect.Token = strings.Repeat("x", 33)
		}, CodeInvalid, "spec.connect.token", "33 octets", 0},
		{"connect, in-band", func(s *MulticastGroupSpec) { connects(s).Mode = ModeInband }, CodeInvalid,
			"spec.mode", `"inband"`, 0},
		{"connect, literal source", func(s *MulticastGroupSpec) {
			no := false
			connects(s).RewriteSource = &no
		}, CodeInvalid, "spec.rewriteSource", "false", 0},
		{"rkey alone", func(s *MulticastGroupSpec) { s.Receivers[0].RKey = n(1) }, CodeInvalid,
			"spec.receivers[0].va", "given without the other", 0},
		{"va in-band", func(s *MulticastGroupSpec) {
			s.Mode = ModeInband
			s.Receivers[0].VA, s.Receivers[0].RKey = new(uint64), n(1)
		}, CodeInvalid, "spec.receivers[0].va", "0", 0},
		{"initial PSN", func(s *MulticastGroupSpec) { s.InitialPSN = 1 << 24 }, CodeInvalid,
			"spec.initialPsn", "16777216", 1<<24 - 1},
		{"CNP window", func(s *MulticastGroupSpec) { s.CNPWindow = -1 }, CodeInvalid, "spec.cnpWindow",
			"-1ns", 0},
		{"long CNP window", func(s *MulticastGroupSpec) { s.CNPWindow = Duration(2 * time.Hour) },
			CodeInvalid, "spec.cnpWindow", "2h0m0s", 3600},
		{"CNP limit", func(s *MulticastGroupSpec) { s.CNPLimit = 1 << 24 }, CodeInvalid, "spec.cnpLimit",
			"16777216", 1<<24 - 1},
		{"hold-off", func(s *MulticastGroupSpec) { s.NackHoldoff = 1 }, CodeInvalid, "spec.nackHoldoff",
			"1ns", 0},
		{"mode", func(s *MulticastGroupSpec) { s.Mode = "both" }, CodeInvalid, "spec.mode", `"both"`, 0},
		{"objective", func(s *MulticastGroupSpec) { s.Objective = "fun" }, CodeInvalid, "spec.objective",
			`"fun"`, 0},
		{"eviction", func(s *MulticastGroupSpec) { s.EvictAfter = -1 }, CodeInvalid, "spec.evictAfter",
			"-1ns", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := good()
			c.edit(&s)
			var e *Error
			if !errors.As(ValidateGroup(&s, env()), &e) {
				t.Fatal("was not refused")
			}
			f := e.Fields[0]
			if e.Code != c.code || len(e.Fields) != 1 || f.Field != c.field || f.Value != c.value ||
				f.Want == "" {
				t.Errorf("refused with %s, %+v", e.Code, e.Fields)
			}
			if (f.Limit == nil) != (c.limit == 0) || f.Limit != nil && *f.Limit != c.limit {
				t.Errorf("limit %v, want %d", f.Limit, c.limit)
			}
			if !strings.Contains(e.Error(), c.field) {
				t.Errorf("text %q", e.Error())
			}
		})
	}
}

// The error lists all faults at once, in the order of the spec.
func TestValidateAll(t *testing.T) {
	s := good()
	s.DesignatedQPN, s.Receivers[1].QPN, s.ProxyAddress = 0, 0, addr("2001:db8:ffff::2")
	var e *Error
	if !errors.As(ValidateGroup(&s, env()), &e) || e.Code != CodeInvalid || len(e.Fields) != 3 {
		t.Fatalf("%+v", e)
	}
	for i, want := range []string{"spec.proxyAddress", "spec.designatedQpn", "spec.receivers[1].qpn"} {
		if e.Fields[i].Field != want {
			t.Errorf("field %d is %s, want %s", i, e.Fields[i].Field, want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, good := range map[string]bool{
		"g": true, "kv-cache.7_b": true, strings.Repeat("x", 63): true,
		"": false, strings.Repeat("x", 64): false, "-a": false, "a-": false, "a/b": false,
		"a:reset": false, "a b": false, "ä": false,
	} {
		if err := ValidateName(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestDecodeSpec(t *testing.T) {
	const text = `{"proxyAddress":"2001:db8:ffff::1","designatedQpn":2748,"source":{"address":"2001:db8:1::1","qpn":256},
		"receivers":[{"address":"2001:db8:1::2","qpn":257,"startPsn":0,"va":4096,"rkey":7}],"initialPsn":5,"cnpWindow":"50us",
		"mode":"inband","objective":"cost","rewriteSource":false,"evictAfter":"2s"}`
	s, err := decodeGroupSpec([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if s.CNPWindow.D() != 50*time.Microsecond || s.RewritesSource() || s.Receivers[0].Start(5) != 0 ||
		*s.Receivers[0].VA != 4096 {
		t.Errorf("%+v", s)
	}
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := decodeGroupSpec(b)
	if err != nil || !back.Equal(&s) {
		t.Errorf("came back as %s, %v", b, err)
	}
	for _, bad := range []string{
		`{"proxy":"2001:db8::1"}`, `{"cnpWindow":50}`, `{"cnpWindow":"50"}`, `{"proxyAddress":"x"}`,
		`{"designatedQpn":-1}`,
		`{"designatedQpn":4294967296}`, `[]`, `{`, ``,
	} {
		if _, err := decodeGroupSpec([]byte(bad)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// decodeGroupSpec reads a spec from JSON, with the fields that it has only.
func decodeGroupSpec(text []byte) (s MulticastGroupSpec, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err = dec.Decode(&s)
	return s, err
}

// connects makes the source and the receivers of a spec connect by themselves.
func connects(s *MulticastGroupSpec) *MulticastGroupSpec {
	s.Connect = &GroupConnect{Port: 4000, MTU: 4096, Source: SourceSpec, AtLeast: 1}
	s.Source.QPN = 0
	for i := range s.Receivers {
		s.Receivers[i] = GroupReceiver{Address: s.Receivers[i].Address}
	}
	return s
}

// TestConnects: a spec without queue pairs is right with connect, and with that alone.
func TestConnects(t *testing.T) {
	s := good()
	env := env()
	if err := ValidateGroup(connects(&s), env); err != nil {
		t.Error(err)
	}
	s.Connect.Source, s.Source, s.Receivers = SourceAny, GroupSource{}, nil
	s.Connect.Receivers = []netip.Prefix{netip.MustParsePrefix("2001:db8::/64")}
	if err := ValidateGroup(&s, env); err != nil {
		t.Errorf("any source, and receivers of a prefix: %v", err)
	}
	s = good()
	connects(&s)
	if s.Connect = nil; ValidateGroup(&s, env) == nil {
		t.Error("a spec without queue pairs and connect is taken")
	}
	c := GroupDefaults{}.Complete(*connects(&s))
	if c.Connect.MTU = 0; (GroupDefaults{}).Complete(c).Connect.MTU != 4096 {
		t.Error("no default of the path MTU")
	}
}

// Every field counts in Equal, and Clone shares nothing.
func TestEqualAndClone(t *testing.T) {
	full := good()
	full.Receivers[0].VA, full.Receivers[0].RKey, full.Receivers[0].StartPSN = new(uint64),
		new(uint32), new(uint32)
	c := full.Clone()
	if !c.Equal(&full) {
		t.Fatal("a clone differs")
	}
	*c.Receivers[0].VA, *c.RewriteSource = 9, !*c.RewriteSource
	if *full.Receivers[0].VA == 9 || *c.RewriteSource == *full.RewriteSource {
		t.Error("a clone shares memory")
	}
	change(t, reflect.ValueOf(&full).Elem(), "Spec", func(field string, restore func()) {
		if o := good(); o.Equal(&full) {
			t.Errorf("%s does not count", field)
		}
		restore()
	})
}

// change sets one field after the other to something else.
func change(t *testing.T, v reflect.Value, path string, check func(field string, restore func())) {
	base := good()
	for i := range v.NumField() {
		f, name := v.Field(i), path+"."+v.Type().Field(i).Name
		restore := func() { v.Set(reflect.ValueOf(base)) }
		v.Set(reflect.ValueOf(good()))
		switch f.Kind() {
		case reflect.Uint32, reflect.Uint64:
			f.SetUint(f.Uint() + 1)
		case reflect.Int64:
			f.SetInt(f.Int() + 1)
		case reflect.String:
			f.SetString("x")
		case reflect.Pointer:
			if f.IsNil() {
				f.Set(reflect.New(f.Type().Elem()))
			} else {
				f.SetZero()
			}
		case reflect.Slice:
			f.Set(f.Slice(0, 1))
		case reflect.Struct:
			f.SetZero()
		default:
			t.Fatalf("%s is a %s", name, f.Kind())
		}
		check(name, restore)
	}
}

func TestSRHSize(t *testing.T) {
	for _, c := range []struct {
		edges []int
		want  int
	}{
		{nil, 40},             // 8 + 2 x 16
		{[]int{1}, 88},        // 40 + 24 + 20 = 84
		{[]int{11}, 288},      // 40 + 24 + 220 = 284
		{[]int{12}, 328},      // 40 + 2 x 24 + 240
		{[]int{32, 32}, 1464}, // 40 + 2 x (3 x 24 + 640)
	} {
		if got := SRHSize(c.edges); got != c.want {
			t.Errorf("%v: %d octets, want %d", c.edges, got, c.want)
		}
	}
}

func TestConditions(t *testing.T) {
	var s MulticastGroupStatus
	t0 := time.Unix(1000, 0)
	if !s.Set(Programmed, false, ReasonInstalling, "", t0) ||
		s.Set(Programmed, false, ReasonInstalling, "", t0.Add(1)) {
		t.Error("a change that is none, or the other way round")
	}
	if !s.Set(Programmed, false, ReasonDisconnected, "n1", t0.Add(2)) ||
		!s.Condition(Programmed).LastTransition.Equal(t0) {
		t.Error("a new reason is no transition")
	}
	if !s.Set(Programmed, true, ReasonInstalled, "", t0.Add(3)) ||
		!s.Condition(Programmed).LastTransition.Equal(t0.Add(3)) || !s.Is(Programmed) || s.Is(Degraded) {
		t.Errorf("%+v", s)
	}
}

func FuzzDecodeSpec(f *testing.F) {
	b, _ := json.Marshal(good())
	f.Add(b)
	f.Add([]byte(`{"receivers":[{"address":"::","qpn":16777216,"va":1}],"mode":"inband"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := decodeGroupSpec(text)
		if err != nil {
			return
		}
		s = StandardGroupDefaults().Complete(s)
		if ValidateGroup(&s, env()) == nil && s.Connect == nil && (s.DesignatedQPN>>24 != 0 ||
			s.Source.QPN < 2 ||
			len(s.Receivers) == 0) {
			t.Errorf("accepted %+v", s)
		}
		if c := s.Clone(); !c.Equal(&s) {
			t.Error("a clone differs")
		}
	})
}

// TestGroupFamilies: proxy address, source and receivers are all of IPv6 or all of IPv4.
func TestGroupFamilies(t *testing.T) {
	s := good()
	s.ProxyAddress = addr("192.0.2.1")
	var e *Error
	if !errors.As(ValidateGroup(&s, env()), &e) || len(e.Fields) != 1+len(s.Receivers) ||
		e.Fields[0].Field != "spec.source.address" || e.Fields[1].Field != "spec.receivers[0].address" {
		t.Fatalf("IPv6 members behind an IPv4 address: %v", e)
	}
	known := env()
	known.Host = func(netip.Addr) (string, bool) { return "h", true }
	s.Source.Address = addr("10.0.0.1")
	for i := range s.Receivers {
		s.Receivers[i].Address = netip.AddrFrom4([4]byte{10, 0, 1, byte(i)})
	}
	if err := ValidateGroup(&s, known); err != nil {
		t.Errorf("IPv4 alone: %v", err)
	}
	connects(&s).Connect.Receivers = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}
	if err := ValidateGroup(&s, known); err != nil {
		t.Errorf("IPv4 with connect: %v", err)
	}
	s.Connect.Receivers[0] = netip.MustParsePrefix("2001:db8::/32")
	if !errors.As(ValidateGroup(&s, known), &e) || len(e.Fields) != 1 ||
		e.Fields[0].Field != "spec.connect.receivers[0]" {
		t.Errorf("an IPv6 prefix behind an IPv4 address: %v", e)
	}
}
