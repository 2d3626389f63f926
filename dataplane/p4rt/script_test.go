package p4rt

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

var update = flag.Bool("update", false, "write what the scripts print into them")

// TestScripts runs testdata/*.script. A script is a sequence of commands; each command is a line,
// its input, a line of four dashes and its output. Ids are written @name (the alias of the object
// in the P4Info); an action is @action.name if a table has the same alias. Names refer to the
// program "entities", or to the program in a first line "#names <stem>".
//
//	time <duration>            sets the clock
//	pipeline <action> [<stem>] SetForwardingPipelineConfig with testdata/<stem>.json
//	get <response type>        GetForwardingPipelineConfig
//	write [<atomicity>]        input: updates of a WriteRequest
//	read                       input: entities of a ReadRequest
//	packet-out                 input: a PacketOut
//	ack                        input: a DigestListAck
//	frame <port>               input: hexadecimal octets
//	advance                    runs what is due
//	open <name>                opens a stream
//	arbitrate <name>           input: a MasterArbitrationUpdate
//	stream <name>              input: a StreamMessageRequest
//	close <name>               closes the stream
//	stats                      prints Device.Stats
//	session-write              input: a WriteRequest, checked by arbitration
//	session-read               input: a ReadRequest with a role
//	session-pipeline           input: a SetForwardingPipelineConfigRequest
//
// Frames sent, notifications and stream messages are printed after the result.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".script"), func(t *testing.T) { runScript(t, f) })
	}
}

func runScript(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	stem := "entities"
	if name, ok := strings.CutPrefix(string(data), "#names "); ok {
		stem, _, _ = strings.Cut(name, "\n")
	}
	e := newScriptEnv(t, stem)
	var out bytes.Buffer
	lines := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	for i := 0; i < len(lines); {
		line := lines[i]
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			fmt.Fprintln(&out, line)
			i++
			continue
		}
		at := i + 1
		cmd := strings.Fields(line)
		fmt.Fprintln(&out, line)
		var input []string
		for i++; i < len(lines) && lines[i] != "----"; i++ {
			input = append(input, lines[i])
			fmt.Fprintln(&out, lines[i])
		}
		fmt.Fprintln(&out, "----")
		var want []string
		for i++; i < len(lines) && lines[i] != ""; i++ {
			want = append(want, lines[i])
		}
		got := strings.Split(strings.TrimRight(e.run(t, cmd, strings.Join(input, "\n")), "\n"), "\n")
		fmt.Fprintln(&out, strings.Join(got, "\n"))
		if !*update && !slices.Equal(got, want) {
			t.Errorf("%s:%d: %s\n got:\n%s\nwant:\n%s", file, at, line, strings.Join(got, "\n"),
				strings.Join(want, "\n"))
		}
	}
	if *update {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// scriptEnv is the device a script plays with.
type scriptEnv struct {
	now      time.Duration
	dev      *Device
	sessions *Sessions
	streams  map[string]*Session
	events   []string

	ids   map[string]uint32
	names map[string]string // decimal id -> @name
}

func newScriptEnv(t testing.TB, stem string) *scriptEnv {
	e := &scriptEnv{streams: make(map[string]*Session), ids: make(map[string]uint32),
		names: make(map[string]string)}
	info := loadInfo(t, stem)
	add := func(prefix string, p *configv1.Preamble) {
		name := p.GetAlias()
		if _, dup := e.ids[name]; dup {
			name = prefix + "." + name
		}
		e.ids[name] = p.GetId()
		e.names[strconv.FormatUint(uint64(p.GetId()), 10)] = "@" + name
	}
	for _, x := range info.GetTables() {
		add("table", x.GetPreamble())
	}
	for _, x := range info.GetActions() {
		add("action", x.GetPreamble())
	}
	for _, x := range info.GetActionProfiles() {
		add("profile", x.GetPreamble())
	}
	for _, x := range info.GetCounters() {
		add("counter", x.GetPreamble())
	}
	for _, x := range info.GetMeters() {
		add("meter", x.GetPreamble())
	}
	for _, x := range info.GetRegisters() {
		add("register", x.GetPreamble())
	}
	for _, x := range info.GetValueSets() {
		add("valueset", x.GetPreamble())
	}
	for _, x := range info.GetDigests() {
		add("digest", x.GetPreamble())
	}
	e.dev = newTestDevice(t, Config{
		Ports: []uint32{1, 2, 3, 4},
		Transmit: func(_ time.Duration, port uint32, frame []byte) {
			e.events = append(e.events, fmt.Sprintf("frame %d: %x", port, frame))
		},
		Notify: func(_ time.Duration, m *p4v1.StreamMessageResponse) {
			e.events = append(e.events, "notify: "+e.text(m))
		},
	})
	e.sessions = NewSessions(e.dev)
	return e
}

func newTestDevice(t testing.TB, cfg Config) *Device {
	t.Helper()
	if cfg.ID == 0 {
		cfg.ID = 1
	}
	d, err := NewDevice(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func loadInfo(t testing.TB, stem string) *configv1.P4Info {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", stem+".p4info.txtpb"))
	if err != nil {
		t.Fatal(err)
	}
	info := &configv1.P4Info{}
	if err := prototext.Unmarshal(b, info); err != nil {
		t.Fatal(err)
	}
	return info
}

func loadConfig(t testing.TB, stem string) *p4v1.ForwardingPipelineConfig {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", stem+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return &p4v1.ForwardingPipelineConfig{P4Info: loadInfo(t, stem), P4DeviceConfig: b}
}

var (
	idPattern    = regexp.MustCompile(`@[A-Za-z_][A-Za-z0-9_.]*`)
	spacePattern = regexp.MustCompile(`\s+`)
	numPattern   = regexp.MustCompile(`\b[0-9]{7,10}\b`)
	tightPattern = regexp.MustCompile(`:\s+`)
)

// parse reads a message in text form with @names for ids.
func (e *scriptEnv) parse(t testing.TB, text string, m proto.Message) {
	t.Helper()
	text = idPattern.ReplaceAllStringFunc(text, func(s string) string {
		id, ok := e.ids[s[1:]]
		if !ok {
			t.Fatalf("no object %s", s)
		}
		return strconv.FormatUint(uint64(id), 10)
	})
	if err := prototext.Unmarshal([]byte(text), m); err != nil {
		t.Fatalf("%v in:\n%s", err, text)
	}
}

// text is the inverse of parse, on one line.
func (e *scriptEnv) text(m proto.Message) string {
	b, err := prototext.Marshal(m)
	if err != nil {
		return err.Error()
	}
	s := tightPattern.ReplaceAllString(spacePattern.ReplaceAllString(string(b), " "), ":")
	return numPattern.ReplaceAllStringFunc(s, func(n string) string {
		if name, ok := e.names[n]; ok {
			return name
		}
		return n
	})
}

// result describes the outcome of a request.
func (e *scriptEnv) result(err error) string {
	if err == nil {
		return "OK\n"
	}
	st := status.Convert(err)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", st.Code(), st.Message())
	for i, d := range st.Details() {
		if pe, ok := d.(*p4v1.Error); ok {
			fmt.Fprintf(&b, "  %d %s", i, codes.Code(pe.GetCanonicalCode()))
			if pe.GetMessage() != "" {
				fmt.Fprintf(&b, ": %s", pe.GetMessage())
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func (e *scriptEnv) run(t *testing.T, cmd []string, input string) string {
	t.Helper()
	arg := func(i int) string {
		if i < len(cmd) {
			return cmd[i]
		}
		return ""
	}
	var b strings.Builder
	switch cmd[0] {
	case "time":
		d, err := time.ParseDuration(arg(1))
		if err != nil {
			t.Fatal(err)
		}
		e.now = d
		b.WriteString("OK\n")
	case "pipeline":
		req := &p4v1.SetForwardingPipelineConfigRequest{
			DeviceId: 1,
			Action: p4v1.SetForwardingPipelineConfigRequest_Action(
				p4v1.SetForwardingPipelineConfigRequest_Action_value[arg(1)]),
		}
		if arg(2) != "" {
			req.Config = loadConfig(t, arg(2))
			if len(cmd) > 3 {
				n, _ := strconv.Atoi(arg(3))
				req.Config.Cookie = &p4v1.ForwardingPipelineConfig_Cookie{Cookie: uint64(n)}
			}
		}
		b.WriteString(e.result(e.dev.SetPipeline(e.now, req)))
	case "get":
		resp, err := e.dev.GetPipeline(&p4v1.GetForwardingPipelineConfigRequest{
			DeviceId: 1,
			ResponseType: p4v1.GetForwardingPipelineConfigRequest_ResponseType(
				p4v1.GetForwardingPipelineConfigRequest_ResponseType_value[arg(1)]),
		})
		b.WriteString(e.result(err))
		if c := resp.GetConfig(); c != nil {
			fmt.Fprintf(&b, "p4info %t, device config %t, cookie %s\n", c.P4Info != nil,
				len(c.P4DeviceConfig) > 0, e.text(c.GetCookie()))
		} else {
			b.WriteString("no config\n")
		}
	case "write":
		req := &p4v1.WriteRequest{}
		e.parse(t, input, req)
		req.DeviceId, req.Atomicity = 1,
			p4v1.WriteRequest_Atomicity(p4v1.WriteRequest_Atomicity_value[arg(1)])
		b.WriteString(e.result(e.dev.Write(e.now, req)))
	case "read":
		req := &p4v1.ReadRequest{}
		e.parse(t, input, req)
		req.DeviceId = 1
		err := e.dev.Read(e.now, req, func(r *p4v1.ReadResponse) {
			for _, x := range r.GetEntities() {
				fmt.Fprintf(&b, "%s\n", e.text(x))
			}
		})
		b.WriteString(e.result(err))
	case "packet-out":
		p := &p4v1.PacketOut{}
		e.parse(t, input, p)
		b.WriteString(e.result(e.dev.PacketOut(e.now, p)))
	case "ack":
		a := &p4v1.DigestListAck{}
		e.parse(t, input, a)
		b.WriteString(e.result(e.dev.AckDigest(a)))
	case "frame":
		port, _ := strconv.Atoi(arg(1))
		frame, err := hex.DecodeString(spacePattern.ReplaceAllString(input, ""))
		if err != nil {
			t.Fatal(err)
		}
		e.dev.Receive(e.now, uint32(port), frame)
		e.dev.Advance(e.now)
		b.WriteString("OK\n")
	case "advance":
		next, pending := e.dev.Advance(e.now)
		if pending {
			fmt.Fprintf(&b, "next %s\n", next)
		} else {
			b.WriteString("nothing pending\n")
		}
	case "open":
		name := arg(1)
		e.streams[name] = e.sessions.Open(func(m *p4v1.StreamMessageResponse) {
			e.events = append(e.events, name+": "+e.text(m))
		})
		b.WriteString("OK\n")
	case "arbitrate":
		m := &p4v1.MasterArbitrationUpdate{}
		e.parse(t, input, m)
		b.WriteString(e.stream(arg(1),
			&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: m}}))
	case "stream":
		m := &p4v1.StreamMessageRequest{}
		e.parse(t, input, m)
		b.WriteString(e.stream(arg(1), m))
	case "close":
		e.streams[arg(1)].Close()
		b.WriteString("OK\n")
	case "stats":
		fmt.Fprintf(&b, "%+v\n", e.dev.Stats())
	case "session-write":
		req := &p4v1.WriteRequest{}
		e.parse(t, input, req)
		b.WriteString(e.result(e.sessions.Write(e.now, req)))
	case "session-read":
		req := &p4v1.ReadRequest{}
		e.parse(t, input, req)
		err := e.sessions.Read(e.now, req, func(r *p4v1.ReadResponse) {
			for _, x := range r.GetEntities() {
				fmt.Fprintf(&b, "%s\n", e.text(x))
			}
		})
		b.WriteString(e.result(err))
	case "session-pipeline":
		req := &p4v1.SetForwardingPipelineConfigRequest{}
		e.parse(t, input, req)
		if req.GetConfig() != nil {
			req.Config = loadConfig(t, "entities")
		}
		b.WriteString(e.result(e.sessions.SetPipeline(e.now, req)))
	default:
		t.Fatalf("no command %q", cmd[0])
	}
	for _, ev := range e.events {
		fmt.Fprintln(&b, ev)
	}
	e.events = nil
	return b.String()
}

// stream hands a session a message; an error ends it, as a server would.
func (e *scriptEnv) stream(name string, m *p4v1.StreamMessageRequest) string {
	x := e.streams[name]
	err := x.Receive(e.now, m)
	out := e.result(err)
	if err != nil {
		x.Close()
		out += "stream " + name + " ends\n"
	}
	return out
}
