package main

import (
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/northbound/northboundtest"
	"github.com/weft-sdn/weft/store/etcd"
	"github.com/weft-sdn/weft/topology"
)

var update = flag.Bool("update", false, "write the outputs the scripts expect")

func TestMain(m *testing.M) {
	if etcd.IsServer() {
		os.Exit(etcd.Serve())
	}
	command := func() { os.Exit(weft()) }
	testscript.Main(m, map[string]func(){
		"weft": command, bmv2Name: command, "pcap": captures, "probe": probe,
	})
}

type (
	apiKey    struct{}
	fabricKey struct{}
)

// bmv2 returns the path of BMv2's switch, empty without BMv2. If weft lies in the same directory,
// the program is Weft's own under that name.
func bmv2() string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, bmv2Name)
		if _, err := exec.LookPath(path); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "weft")); err != nil {
			return path
		}
	}
	return ""
}

// TestScripts runs the stories of testdata/script. WEFT_SERVER names the API of a fake controller,
// WEFT_LOCKED an API that wants the token "letmein", WEFT_FABRIC an API with the MRC fabric from
// northboundtest.NewFabric; WEFT_RECORDED and WEFT_RECORDED_FABRIC are the first and the last of
// these with an audit log. FABRIC is the fabric program without .json and .p4info.txtpb, PROGRAMS
// the folder of the embedded switch's test programs. Besides testscript's commands there are
//
//	status N COMMAND…   runs a command that must end with that status
//	switch up|down NAME connects or disconnects a switch of the fake
//	event TYPE OBJECT MESSAGE publishes an event of the fake
//	fabric pass DURATION, stop HOST, start HOST, lossy LINK: see northboundtest.Multipath
//
// the program pcap, which makes and shows captures (capture_test.go),
// and the conditions [namespace]: network namespaces can be made here, and [bmv2]:
// $BMV2 is BMv2's simple_switch_grpc.
func TestScripts(t *testing.T) {
	processes(t)
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update, RequireExplicitExec: true,
		Condition: func(name string) (bool, error) {
			switch name {
			case "namespace":
				return exec.Command("unshare", "-n", "ip", "link").Run() == nil, nil
			case "bmv2":
				return bmv2() != "", nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
		Setup: func(e *testscript.Env) error {
			open, err := newFakeAPI()
			if err != nil {
				return err
			}
			tokens := e.WorkDir + "/tokens"
			if err := os.WriteFile(tokens, []byte("letmein\n"), 0o600); err != nil {
				return err
			}
			locked, err := newFakeAPI(func(c *northbound.Config) { c.TokenFile = tokens })
			if err != nil {
				return err
			}
			multipath, snap := northboundtest.NewFabric(ev.ModeStructured)
			fabric, err := newFakeAPI(func(c *northbound.Config) { c.Multipath = multipath })
			if err != nil {
				return err
			}
			fabric.Snapshot = snap
			e.Values[fabricKey{}] = multipath
			for name, api := range map[string]*fakeAPI{"WEFT_SERVER": open, "WEFT_LOCKED": locked,
				"WEFT_FABRIC": fabric} {
				s := httptest.NewServer(api.handler)
				e.Defer(s.Close)
				e.Setenv(name, s.URL)
			}
			for name, path := range map[string]string{"FABRIC": "../../p4/fabric",
				"PROGRAMS": "../../dataplane/testdata", "DEPLOY": "../../deploy"} {
				if path, err = filepath.Abs(path); err != nil {
					return err
				}
				e.Setenv(name, path)
			}
			// One with an audit log, and one of a network with an MRC fabric.
			for name, api := range map[string]*fakeAPI{"WEFT_RECORDED": open,
				"WEFT_RECORDED_FABRIC": fabric} {
				s := httptest.NewServer(&recorded{Handler: api.handler})
				e.Defer(s.Close)
				e.Setenv(name, s.URL)
			}
			gone := httptest.NewServer(nil)
			gone.Close()
			e.Setenv("WEFT_GONE", gone.URL)
			e.Setenv("WEFT_SERVER_ALONE", e.Getenv("WEFT_SERVER"))
			e.Setenv("BMV2", bmv2())
			data, err := filepath.Abs("testdata")
			if err != nil {
				return err
			}
			e.Setenv("TESTDATA", data)
			e.Values[apiKey{}] = open
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"status": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: status N COMMAND…")
				}
				err := ts.Exec(args[1], args[2:]...)
				var exit *exec.ExitError
				got := 0
				if errors.As(err, &exit) {
					got = exit.ExitCode()
				} else if err != nil {
					ts.Fatalf("%v", err)
				}
				if strconv.Itoa(got) != args[0] {
					ts.Fatalf("exit status %d, want %s\n%s%s", got, args[0], ts.ReadFile("stdout"),
						ts.ReadFile("stderr"))
				}
			},
			"fabric": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: fabric pass|stop|start|lossy WHAT")
				}
				f := ts.Value(fabricKey{}).(*northboundtest.Multipath)
				switch args[0] {
				case "pass":
					d, err := time.ParseDuration(args[1])
					ts.Check(err)
					f.Pass(d)
				case "stop":
					f.Stop(args[1])
				case "start":
					f.Start(args[1])
				case "lossy":
					ts.Check(f.Lossy(topology.LinkID(args[1])))
				default:
					ts.Fatalf("the fabric knows no %s", args[0])
				}
			},
			"event": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 3 {
					ts.Fatalf("usage: event TYPE OBJECT MESSAGE")
				}
				ts.Value(apiKey{}).(*fakeAPI).events.Publish(api.Event{
					Type: api.EventType(args[0]), Object: args[1], Message: args[2], Time: began,
				})
			},
			"orphan": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 3 {
					ts.Fatalf("usage: orphan KIND INDEX SWITCH")
				}
				index, err := strconv.ParseUint(args[1], 10, 32)
				ts.Check(err)
				f := ts.Value(apiKey{}).(*fakeAPI)
				f.Mu.Lock()
				defer f.Mu.Unlock()
				f.Strays = append(f.Strays, api.Orphan{
					Name: args[0] + "-" + args[1] + "@" + args[2], Switch: args[2], Kind: api.OrphanKind(args[0]),
					Index:  uint32(index),
					Detail: "proxy address 2001:db8:ffff::5", Entries: 9, Since: began,
					Reason: "the controller has put no such thing there", Connected: args[2] != "n6",
				})
			},
			"switch": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: switch up|down NAME")
				}
				ts.Check(ts.Value(apiKey{}).(*fakeAPI).set(args[0], args[1]))
			},
		},
	})
}
