//go:build linux

package uverbs

import (
	"encoding/binary"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
)

// TestLayout: messages and shared memory have the layout of host/libmrc/src/nic.h.
func TestLayout(t *testing.T) {
	cc, err := exec.LookPath("gcc")
	if err != nil {
		if cc, err = exec.LookPath("clang"); err != nil {
			t.Skip("no C compiler")
		}
	}
	bin := filepath.Join(t.TempDir(), "layout")
	out, err := exec.Command(cc, "-o", bin, "../libmrc/src/layout.c").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err = exec.Command(bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	sizes, values := make(map[string]int), make(map[string]int)
	offsets, fields := make(map[string]int), make(map[string][][2]int)
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		f := strings.Fields(line)
		var a, b int
		switch {
		case len(f) == 2:
			fmt.Sscan(f[1], &a)
			values[f[0]] = a
		case len(f) == 3:
			fmt.Sscan(f[2], &a)
			sizes[f[1]] = a
		case len(f) == 5 && !strings.Contains(f[2], "."):
			fmt.Sscan(f[3]+" "+f[4], &a, &b)
			offsets[f[1]+" "+f[2]] = a
			fields[f[1]] = append(fields[f[1]], [2]int{a, b})
		}
	}
	for name, is := range map[string]any{"nic_request": request{}, "nic_answer": answer{},
		"nic_object": object{}, "nic_hello": hello{}, "nic_device": device{}, "nic_port": port{},
		"nic_mr": memoryRegion{}, "nic_cq": cqRequest{}, "nic_qp": qpRequest{},
		"nic_qp_attr": qpAttr{}, "nic_hint": hint{}, "nic_async": asyncEvent{}, "nic_sge": sge{},
		"nic_ctl_device": ctlDevice{}, "nic_ctl_port": ctlPort{}, "nic_format": ctlFormat{},
		"nic_ev_field": ctlField{}, "nic_ev_entry": ctlEntry{}, "nic_evs": ctlEVs{}, "nic_cc": ctlCC{},
		"nic_ev_event": evEvent{}, "nic_endpoint": endpointHead{}, "nic_ep_request": endpointRequest{},
		"nic_ep_answer": endpointAnswer{}} {
		if got, want := binary.Size(is), sizes[name]; got != want {
			t.Errorf("%s: %d octets, in C %d", name, got, want)
		}
		var got [][2]int
		typ, at := reflect.TypeOf(is), 0
		for i := range typ.NumField() {
			size := binary.Size(reflect.Zero(typ.Field(i).Type).Interface())
			got, at = append(got, [2]int{at, size}), at+size
		}
		if !reflect.DeepEqual(got, fields[name]) {
			t.Errorf("%s: offsets and sizes %v, in C %v", name, got, fields[name])
		}
	}
	for name, got := range map[string]int{"nic_doorbell sleeping": bellSleeping,
		"nic_doorbell gone": bellGone, "nic_doorbell dirty": bellDirty, "nic_cq_ring depth": cqDepth,
		"nic_cq_ring entry": cqEntry, "nic_cq_ring head": cqHead, "nic_cq_ring overflow": cqOverflow,
		"nic_cq_ring tail": cqTail, "nic_cq_ring armed": cqArmed, "nic_qp_ring sq_depth": qpSQDepth,
		"nic_qp_ring sq_entry": qpSQEntry, "nic_qp_ring rq_depth": qpRQDepth,
		"nic_qp_ring rq_entry": qpRQEntry, "nic_qp_ring rq_offset": qpRQOffset,
		"nic_qp_ring sq_head": qpSQHead, "nic_qp_ring rq_head": qpRQHead,
		"nic_qp_ring sq_tail": qpSQTail, "nic_qp_ring rq_tail": qpRQTail,
		"nic_qp_ring state": qpState} {
		if want, ok := offsets[name]; !ok || got != want {
			t.Errorf("%s: offset %d, in C %d", name, got, want)
		}
	}
	for name, got := range map[string]int{"NIC_VERSION": version, "NIC_MAX_MESSAGE": maxMessage,
		"NIC_DOORBELL_SIZE": doorbellSize, "NIC_DIRTY_WORDS": dirtyWords,
		"NIC_RING_ENTRIES": ringEntries, "NIC_MAX_SGE": maxSGEs, "NIC_MAX_INLINE": maxInlineLen,
		"NIC_HELLO": int(opHello), "NIC_QUERY_PORT": int(opQueryPort), "NIC_REG_MR": int(opRegMR),
		"NIC_CREATE_CHANNEL": int(opCreateChannel), "NIC_CREATE_CQ": int(opCreateCQ),
		"NIC_CREATE_QP": int(opCreateQP), "NIC_QUERY_QP": int(opQueryQP),
		"NIC_DESTROY_HINT": int(opDestroyHint),
		"NIC_CTL_DEVICE":   int(opCtlDevice), "NIC_CTL_QUERY_CC": int(opCtlQueryCC),
		"NIC_CTL_ENDPOINT": int(opCtlEndpoint), "NIC_MAX_ENTRIES": maxEntries,
		"NIC_MAX_FIELDS": hostapi.MaxFields} {
		if want, ok := values[name]; !ok || got != want {
			t.Errorf("%s: %d, in C %d", name, got, want)
		}
	}
	entry := make([]byte, entryHead)
	(&cqe{id: 1, status: 2, opcode: 3, octets: 4, immediate: 5, qpn: 6, flags: 7, index: 8}).put(entry)
	for i, name := range []string{"wr_id", "status", "opcode", "byte_len", "imm", "qpn", "flags",
		"index"} {
		if at := offsets["nic_cqe "+name]; entry[at] != byte(i+1) && entry[at+3] != byte(i+1) {
			t.Errorf("nic_cqe %s: not at %d", name, at)
		}
	}
	for _, name := range []string{"nic_cqe", "nic_sqe", "nic_rqe"} {
		if sizes[name] != entryHead {
			t.Errorf("%s: %d octets, want %d", name, sizes[name], entryHead)
		}
	}
}
