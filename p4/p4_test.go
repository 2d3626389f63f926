package p4

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// TestArtifactsFresh fails when a .p4 source has changed since "make p4" last ran.
func TestArtifactsFresh(t *testing.T) {
	want, err := os.ReadFile("fabric.digest")
	if err != nil {
		t.Fatal(err)
	}
	got, err := SourceDigest(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	if got != string(bytes.TrimSpace(want)) {
		t.Errorf("digest of the P4 sources is %s, fabric.json was compiled from %s: run make p4", got,
			want)
	}
}

// TestDefaultActions: the default actions that a controller may change do nothing before, as
// entry.NoAction has it.
func TestDefaultActions(t *testing.T) {
	files, err := fs.Glob(os.DirFS("."), "include/*.p4")
	if err != nil {
		t.Fatal(err)
	}
	changeable, n := regexp.MustCompile(`(?m)^\s*default_action = (\w+)`), 0
	for _, file := range append(files, "fabric.p4") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range changeable.FindAllStringSubmatch(string(text), -1) {
			if n++; m[1] != ActionNoAction {
				t.Errorf("%s: %s", file, m[0])
			}
		}
	}
	if n < 3 {
		t.Errorf("found %d default actions that a controller may change", n)
	}
}

// TestPacked: what the program has is the committed compiled program.
func TestPacked(t *testing.T) {
	want, err := os.ReadFile("fabric.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(JSON(), want) {
		t.Error("fabric.json.gz is not fabric.json: run go generate ./p4")
	}
}

func TestProgramAndP4InfoAgree(t *testing.T) {
	var program struct {
		Pipelines []struct {
			Tables []struct {
				Name string
			}
		}
	}
	if err := json.Unmarshal(JSON(), &program); err != nil {
		t.Fatal(err)
	}
	compiled := map[string]bool{}
	for _, pipeline := range program.Pipelines {
		for _, table := range pipeline.Tables {
			compiled[table.Name] = true
		}
	}
	tables := P4Info().GetTables()
	if len(tables) == 0 {
		t.Fatal("P4Info lists no tables")
	}
	aliases := map[string]uint32{}
	for _, table := range tables {
		p := table.GetPreamble()
		if !compiled[p.GetName()] {
			t.Errorf("table %s of P4Info is not in the program", p.GetName())
		}
		if other, ok := aliases[p.GetAlias()]; ok {
			t.Errorf("tables %#x and %#x share the alias %s", other, p.GetId(), p.GetAlias())
		}
		aliases[p.GetAlias()] = p.GetId()
	}
	if id := aliases[TableMtGroup]; id != TableMtGroupID {
		t.Errorf("%s has id %#x in P4Info, %#x in ids_gen.go: run make p4", TableMtGroup, id,
			TableMtGroupID)
	}
}

// TestOwnPorts: no link and no host uses a port that the program reserves for itself.
func TestOwnPorts(t *testing.T) {
	for name, port := range map[string]int{"PFC": PfcPort, "recirculation": RecirculationPort,
		"CPU": CpuPort, "drop": DropPort} {
		if port <= MaxLinkPort || port >= Ports {
			t.Errorf("the %s port is %d, want more than %d and less than %d", name, port, MaxLinkPort, Ports)
		}
	}
}

// TestDropReasonsFit: every reason has its counter cell.
func TestDropReasonsFit(t *testing.T) {
	for _, counter := range P4Info().GetCounters() {
		alias := counter.GetPreamble().GetAlias()
		if alias != CounterIngressDrops && alias != CounterEgressDrops {
			continue
		}
		for reason, name := range namesDropReason {
			if int64(reason) >= counter.GetSize() {
				t.Errorf("%s has %d cells, too few for %s = %d", alias, counter.GetSize(), name, reason)
			}
		}
	}
}

func TestCellName(t *testing.T) {
	for _, c := range []struct {
		counter string
		index   int64
		want    string
	}{
		{CounterIngressDrops, int64(DropReasonIcrc), "ICRC"},
		{CounterEgressDrops, int64(DropReasonMtReplica), "MT_REPLICA"},
		{CounterMtEvents, int64(MtEventCnpSent), "CNP_SENT"},
		{CounterIcmpEvents, int64(IcmpEventLimited), "LIMITED"},
		{CounterClassTrims, ClassCell(510, 7), "port 510 class 7"},
		{CounterNdEvents, int64(NdEventEcho), "ECHO"},
		{CounterIngressDrops, 0, DropReasonNone.String()},
		{CounterClassTrims, Queues, ""},
		{CounterClassDrops, Queues - 1, "port 511 class 7"},
		{CounterClassTx, 0, "port 0 class 0"},
		{CounterPfcXonTx, ClassCell(3, 5), "port 3 priority 5"},
		{CounterPfcXoffTx, Queues - 1, "port 511 priority 7"},
		{CounterPfcXoffRx, Queues, ""},
		{CounterClassTx, -1, ""},
		{CounterPortRx, 1, ""},
		{CounterIngressDrops, 63, ""},
		{CounterIngressDrops, -1, ""},
		{CounterIngressDrops, 256, ""},
	} {
		if got := CellName(c.counter, c.index); got != c.want {
			t.Errorf("cell %d of %s is %q, want %q", c.index, c.counter, got, c.want)
		}
	}
}

// TestIdsInOneFile: only include/p4runtime_ids.p4 contains the ids of P4Runtime. Each id is named
// after its object in P4Info, and no source has a number in an @id.
func TestIdsInOneFile(t *testing.T) {
	const file = "include/p4runtime_ids.p4"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	defined := make(map[string]uint32)
	for _, m := range regexp.MustCompile(`(?m)^#define (\w+)_ID +(0x[0-9a-f]{8})$`).FindAllSubmatch(
		text, -1) {
		id, err := strconv.ParseUint(string(m[2]), 0, 32)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := defined[string(m[1])]; ok {
			t.Errorf("%s defines %s_ID twice", file, m[1])
		}
		defined[string(m[1])] = uint32(id)
	}
	if lines := bytes.Count(text, []byte("\n#define ")); lines != len(defined) {
		t.Errorf("%s: %d of %d definitions have the form \"#define TABLE_NAME_ID 0x02000001\"", file,
			len(defined), lines)
	}
	info := P4Info()
	check := func(kind string, p *p4config.Preamble) {
		name := kind + "_" + strings.ToUpper(p.GetAlias())
		if id, ok := defined[name]; !ok || id != p.GetId() {
			t.Errorf("%s has id %#08x in P4Info: want it as %s_ID in %s", p.GetName(), p.GetId(), name, file)
		}
		delete(defined, name)
	}
	for _, o := range info.GetTables() {
		check("TABLE", o.GetPreamble())
	}
	for _, o := range info.GetActions() {
		if o.GetPreamble().GetName() != "NoAction" { // core.p4 has it, and the compiler gives it an id
			check("ACTION", o.GetPreamble())
		}
	}
	for _, o := range info.GetActionProfiles() {
		check("SELECTOR", o.GetPreamble())
	}
	for _, o := range info.GetCounters() {
		check("COUNTER", o.GetPreamble())
	}
	for name := range defined {
		t.Errorf("%s defines %s_ID, which no object of P4Info has", file, name)
	}
	inline := regexp.MustCompile(`@id\(\s*[0-9]`)
	err = fs.WalkDir(os.DirFS("."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".p4") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(source), "\n") {
			if inline.MatchString(line) {
				t.Errorf("%s:%d: %q: define the number in %s", path, i+1, strings.TrimSpace(line), file)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
