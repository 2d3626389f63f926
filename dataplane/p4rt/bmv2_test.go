package p4rt

import (
	"context"
	"errors"
	"io"
	"net"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/test/speech"
)

// Updates on which BMv2's server and this one agree. (Where they do not, BMv2
// answers UNKNOWN or accepts what the specification refuses.)
var sameAsBMv2 = []struct {
	update string
	code   codes.Code
}{
	{`type: INSERT entity { table_entry { table_id: @station match { field_id: 1 exact {
		value: "\x00\x0a\x0b" } } action { action { action_id: @station_forward params { param_id: 2
		value: "\x00\x0f" } params { param_id: 1 value: "\x00\x03" } } } metadata: "m"
		controller_metadata: 5 counter_data { packet_count: 5 byte_count: 50 } meter_config { cir: 1
		cburst: 2 pir: 3 pburst: 4 } } }`, codes.OK},
	{`type: INSERT entity { table_entry { table_id: @station match { field_id: 1 exact {
		value: "\x0a\x0b" } } action { action { action_id: @station_forward params { param_id: 2
		value: "\x01" } params { param_id: 1 value: "\x01" } } } } }`, codes.AlreadyExists},
	{`type: MODIFY entity { table_entry { table_id: @station match { field_id: 1 exact {
		value: "\x0c" } } action { action { action_id: @station_forward params { param_id: 2
		value: "\x01" } params { param_id: 1 value: "\x01" } } } } }`, codes.NotFound},
	{`type: DELETE entity { table_entry { table_id: @station match { field_id: 1 exact {
		value: "\x0c" } } } }`, codes.NotFound},
	{`type: INSERT entity { table_entry { table_id: @station match { field_id: 2 exact {
		value: "\x0c" } } action { action { action_id: @station_forward } } } }`, codes.InvalidArgument},
	{`type: INSERT entity { table_entry { table_id: @station match { field_id: 1 exact {
		value: "\x0c" } } action { action { action_id: @drop } } } }`, codes.InvalidArgument},
	{`type: INSERT entity { table_entry { table_id: @station match { field_id: 1 exact {
		value: "\x0c" } } action { action_profile_member_id: 1 } } }`, codes.InvalidArgument},
	{`type: INSERT entity { table_entry { table_id: @station } }`, codes.InvalidArgument},
	{`type: INSERT entity { table_entry { } }`, codes.InvalidArgument},
	{`type: INSERT entity { table_entry { table_id: @route match { field_id: 1 lpm {
		value: "\x20\x01\x0d\xb8\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" prefix_len: 32 } }
		action { action { action_id: @forward params { param_id: 1 value: "\x01" } } } } }`, codes.OK},
	{`type: INSERT entity { table_entry { table_id: @route action { action { action_id: @forward
		params { param_id: 1 value: "\x02" } } } } }`, codes.OK},
	{`type: INSERT entity { table_entry { table_id: @route match { field_id: 1 lpm { value: "\x01"
		prefix_len: 127 } } action { action { action_id: @drop } } } }`, codes.InvalidArgument},
	{`type: INSERT entity { table_entry { table_id: @route match { field_id: 1 lpm { value: "\x00"
		prefix_len: 0 } } action { action { action_id: @drop } } } }`, codes.InvalidArgument},
	{`type: INSERT entity { table_entry { table_id: @acl priority: 10 match { field_id: 4 exact {
		value: "\x01" } } match { field_id: 3 optional { value: "\x08\x00" } } match { field_id: 1
		ternary { value: "\x00\x10" mask: "\x00\xf0" } } match { field_id: 2 range { low: "\x01"
		high: "\x00\x03" } } action { action { action_id: @drop } } } }`, codes.OK},
	{`type: INSERT entity { table_entry { table_id: @acl match { field_id: 4 exact { value: "\x01" } }
		action { action { action_id: @drop } } } }`, codes.InvalidArgument},
	{`type: INSERT entity { table_entry { table_id: @acl priority: 1 match { field_id: 1 ternary {
		value: "\x00" mask: "\x00" } } match { field_id: 4 exact { value: "\x01" } } action { action {
		action_id: @drop } } } }`, codes.InvalidArgument},
	{`type: INSERT entity { table_entry { table_id: @acl priority: 1 match { field_id: 1 ternary {
		value: "\x01\x01" mask: "\x10" } } match { field_id: 4 exact { value: "\x01" } } action {
		action { action_id: @drop } } } }`, codes.InvalidArgument},
	{`type: MODIFY entity { table_entry { table_id: @miss is_default_action: true action { action {
		action_id: @forward params { param_id: 1 value: "\x00\x04" } } } } }`, codes.OK},
	{`type: INSERT entity { table_entry { table_id: @miss is_default_action: true action { action {
		action_id: @drop } } } }`, codes.InvalidArgument},
	{`type: MODIFY entity { table_entry { table_id: @fixed is_default_action: true action { action {
		action_id: @drop } } } }`, codes.PermissionDenied},
	{`type: MODIFY entity { table_entry { table_id: @route is_default_action: true action { action {
		action_id: @forward_tag params { param_id: 1 value: "\x01" } params { param_id: 2
		value: "\x01" } } } } }`, codes.PermissionDenied},
	{`type: INSERT entity { table_entry { table_id: @source match { field_id: 1 exact {
		value: "\x02" } } action { action { action_id: @NoAction } }
		idle_timeout_ns: 1000000000 } }`, codes.OK},
	{`type: INSERT entity { table_entry { table_id: @spread match { field_id: 1 exact {
		value: "\x08\x00" } } action { action_profile_action_set { action_profile_actions { action {
		action_id: @forward params { param_id: 1 value: "\x00\x01" } } weight: 2 }
		action_profile_actions { action { action_id: @drop } weight: 1 } } } } }`, codes.OK},
	{`type: INSERT entity { action_profile_member { action_profile_id: @ways member_id: 1 action {
		action_id: @drop } } }`, codes.InvalidArgument},
	{`type: INSERT entity { action_profile_member { action_profile_id: @hops member_id: 1 action {
		action_id: @forward params { param_id: 1 value: "\x00\x02" } } } }`, codes.OK},
	{`type: INSERT entity { action_profile_member { action_profile_id: @hops member_id: 1 action {
		action_id: @drop } } }`, codes.AlreadyExists},
	{`type: DELETE entity { action_profile_member { action_profile_id: @hops member_id: 2 } }`,
		codes.NotFound},
	{`type: INSERT entity { table_entry { table_id: @hop match { field_id: 1 exact { value: "\x01" } }
		action { action_profile_member_id: 1 } } }`, codes.OK},
	{`type: INSERT entity { packet_replication_engine_entry { multicast_group_entry {
		multicast_group_id: 7 replicas { port: "\x02" instance: 1 } replicas { port: "\x03"
		instance: 2 } } } }`, codes.OK},
	{`type: INSERT entity { packet_replication_engine_entry { multicast_group_entry {
		multicast_group_id: 7 } } }`, codes.AlreadyExists},
	{`type: INSERT entity { packet_replication_engine_entry { multicast_group_entry { } } }`,
		codes.InvalidArgument},
	{`type: INSERT entity { packet_replication_engine_entry { multicast_group_entry {
		multicast_group_id: 65536 } } }`, codes.OutOfRange},
	{`type: MODIFY entity { packet_replication_engine_entry { multicast_group_entry {
		multicast_group_id: 8 } } }`, codes.NotFound},
	{`type: INSERT entity { packet_replication_engine_entry { clone_session_entry { session_id: 5
		replicas { port: "\x01\xfe" instance: 1 } } } }`, codes.OK},
	{`type: DELETE entity { packet_replication_engine_entry { clone_session_entry {
		session_id: 6 } } }`, codes.NotFound},
	{`type: MODIFY entity { counter_entry { counter_id: @rx index { index: 2 } data { packet_count: 3
		byte_count: 300 } } }`, codes.OK},
	{`type: MODIFY entity { counter_entry { counter_id: @rx index { index: -1 } data { } } }`,
		codes.InvalidArgument},
	{`type: INSERT entity { counter_entry { counter_id: @rx index { index: 2 } } }`,
		codes.InvalidArgument},
	{`type: MODIFY entity { meter_entry { meter_id: @police index { index: 1 } config { cir: 10
		cburst: 20 pir: 30 pburst: 40 } } }`, codes.OK},
	{`type: MODIFY entity { digest_entry { digest_id: @learn_t config { } } }`, codes.NotFound},
	{`type: INSERT entity { digest_entry { digest_id: @learn_t config { max_timeout_ns: 1000000
		max_list_size: 2 ack_timeout_ns: 5000000 } } }`, codes.OK},
}

// Reads that must give the same on both.
var readSameAsBMv2 = []string{
	`table_entry { }`,
	`table_entry { table_id: @station counter_data { } meter_config { } }`,
	`table_entry { table_id: @miss is_default_action: true }`,
	`table_entry { table_id: @station match { field_id: 1 exact { value: "\x77" } } }`,
	`action_profile_member { action_profile_id: @hops }`,
	`action_profile_member { action_profile_id: @hops member_id: 77 }`,
	`packet_replication_engine_entry { multicast_group_entry { } }`,
	`packet_replication_engine_entry { multicast_group_entry { multicast_group_id: 77 } }`,
	`packet_replication_engine_entry { clone_session_entry { } }`,
	`packet_replication_engine_entry { clone_session_entry { session_id: 77 } }`,
	`counter_entry { counter_id: @rx }`,
	`meter_entry { meter_id: @police index { index: 1 } }`,
	`direct_counter_entry { table_entry { table_id: @station } }`,
	`direct_meter_entry { table_entry { table_id: @station } }`,
	`digest_entry { digest_id: @learn_t }`,
	`table_entry { table_id: 77 }`,
}

// The same requests to BMv2's own P4Runtime server, where it is installed.
func TestAgainstBMv2(t *testing.T) {
	bin, err := exec.LookPath("simple_switch_grpc")
	if err != nil {
		t.Skip("simple_switch_grpc is not on the PATH")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	client := startBMv2(ctx, t, bin)
	env := newScriptEnv(t, "entities")
	cfg := loadConfig(t, "entities")
	primary := &p4v1.Uint128{Low: 1}
	if _, err := client.SetForwardingPipelineConfig(ctx, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: 1, ElectionId: primary,
		Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, Config: cfg,
	}); err != nil {
		t.Fatal(err)
	}
	var cache Cache
	ours := newChecker(t, &cache).dev

	for _, c := range sameAsBMv2 {
		req := &p4v1.WriteRequest{}
		env.parse(t, "updates { "+c.update+" }", req)
		req.DeviceId, req.ElectionId = 1, primary
		_, err := client.Write(ctx, proto.Clone(req).(*p4v1.WriteRequest))
		if got := onlyCode(err); got != c.code {
			t.Errorf("BMv2: %s, want %s: %s", got, c.code, c.update)
		}
		if got := onlyCode(ours.Write(0, req)); got != c.code {
			t.Errorf("Weft: %s, want %s: %s", got, c.code, c.update)
		}
	}
	for _, q := range readSameAsBMv2 {
		req := &p4v1.ReadRequest{}
		env.parse(t, "entities { "+q+" }", req)
		req.DeviceId = 1
		var mine, theirs []string
		add := func(to *[]string) func(*p4v1.ReadResponse) {
			return func(r *p4v1.ReadResponse) {
				for _, e := range r.GetEntities() {
					*to = append(*to, env.text(leveled(e)))
				}
			}
		}
		myCode := onlyCode(ours.Read(0, req, add(&mine)))
		theirCode := onlyCode(readAll(ctx, client, req, add(&theirs)))
		slices.Sort(mine)
		slices.Sort(theirs)
		if myCode != theirCode || !slices.Equal(mine, theirs) {
			t.Errorf("%s\nWeft: %s\n  %s\nBMv2: %s\n  %s", q, myCode, strings.Join(mine, "\n  "), theirCode,
				strings.Join(theirs, "\n  "))
		}
	}
}

// leveled removes what BMv2 is known to do otherwise: it neither marks const
// entries nor keeps the order of replicas. (It also gives back ranges that are
// don't care, and takes no metadata on multicast groups and no packet length
// on clone sessions; nothing here has those.)
func leveled(e *p4v1.Entity) *p4v1.Entity {
	if t := e.GetTableEntry(); t != nil {
		t.IsConst = false
	}
	if g := e.GetPacketReplicationEngineEntry().GetMulticastGroupEntry(); g != nil {
		slices.SortFunc(g.Replicas, func(a, b *p4v1.Replica) int {
			return int(a.GetInstance()) - int(b.GetInstance())
		})
	}
	return e
}

// onlyCode is the code of a request with one element.
func onlyCode(err error) codes.Code {
	st := status.Convert(err)
	if st.Code() == codes.Unknown && len(st.Details()) == 1 {
		if e, ok := st.Details()[0].(*p4v1.Error); ok {
			return codes.Code(e.GetCanonicalCode())
		}
	}
	return st.Code()
}

func readAll(ctx context.Context, c p4v1.P4RuntimeClient, req *p4v1.ReadRequest,
	emit func(*p4v1.ReadResponse)) error {
	s, err := c.Read(ctx, req)
	if err != nil {
		return err
	}
	for {
		r, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		emit(r)
	}
}

// startBMv2 runs simple_switch_grpc without ports and becomes its primary.
func startBMv2(ctx context.Context, t *testing.T, bin string) p4v1.P4RuntimeClient {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.CommandContext(ctx, bin, "--no-p4", "--device-id", "1", "--log-level", "off",
		"--thrift-port", "0",
		"--", "--grpc-server-addr", addr, "--cpu-port", "510")
	speech.Of(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	client := p4v1.NewP4RuntimeClient(conn)
	s, err := client.StreamChannel(ctx, grpc.WaitForReady(true))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{
		Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: 1, ElectionId: &p4v1.Uint128{Low: 1}},
	}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); err != nil {
		t.Fatal(err)
	}
	return client
}
