package device

import (
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
)

// TestPorts: each port has its state, the GIDs from its interface's RDMA port, and the nonzero
// error counters. Interfaces and devices may be missing.
func TestPorts(t *testing.T) {
	root := t.TempDir()
	if got := Ports(root, []string{"eth0"}); len(got) != 1 || got[0].State != "absent" ||
		len(got[0].RDMA)+len(got[0].Errors) != 0 {
		t.Errorf("nothing is there: %+v", got)
	}
	for name, text := range map[string]string{
		"net/eth0/operstate": "up", "net/eth1/operstate": "down",
		"net/eth0/statistics/rx_crc_errors":                     "7",
		"net/eth0/statistics/rx_packets":                        "900",
		"net/eth0/statistics/tx_errors":                         "0",
		"infiniband/mlx5_0/ports/1/state":                       "4: ACTIVE",
		"infiniband/mlx5_0/ports/1/gids/0":                      "fe80::00ff:fe00:0001",
		"infiniband/mlx5_0/ports/1/gids/1":                      "2001:0db8::0001",
		"infiniband/mlx5_0/ports/1/gids/2":                      "2001:0db8::0001",
		"infiniband/mlx5_0/ports/1/gids/3":                      "0000::0000",
		"infiniband/mlx5_0/ports/1/gid_attrs/ndevs/0":           "eth0",
		"infiniband/mlx5_0/ports/1/gid_attrs/ndevs/1":           "eth0",
		"infiniband/mlx5_0/ports/1/gid_attrs/ndevs/2":           "eth0",
		"infiniband/mlx5_0/ports/1/counters/symbol_error":       "3",
		"infiniband/mlx5_0/ports/1/hw_counters/lifespan":        "12",
		"infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence": "5",
		"infiniband/mlx5_9/ports/1/gids/0":                      "fe80::ff:fe00:9",
		"infiniband/mlx5_9/ports/1/gid_attrs/ndevs/0":           "eth9",
	} {
		file := filepath.Join(root, "class", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []PortFacts{
		{Port: 1, Interface: "eth1", State: "down", RDMA: []RDMAPort{}, Errors: []ErrorFact{}},
		{Port: 2, Interface: "eth0", State: "up", RDMA: []RDMAPort{{Device: "mlx5_0", Port: 1,
			State: "4: ACTIVE", GIDs: []netip.Addr{netip.MustParseAddr("fe80::ff:fe00:1"),
				netip.MustParseAddr("2001:db8::1")}}},
			Errors: []ErrorFact{{"eth0", "rx_crc_errors", 7}, {"mlx5_0/1", "symbol_error", 3},
				{"mlx5_0/1", "out_of_sequence", 5}}},
	}
	got := Ports(root, []string{"eth1", "eth0"})
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	got[1].Errors = append(got[1].Errors, ErrorFact{"eth 0", "rx_errors", 1},
		ErrorFact{"mlx5_0/1", "symbol_error", 4})
	if e := PortErrors(got).Errors; !reflect.DeepEqual(e, []hostapi.PortError{{Port: 2, Source: "eth0",
		Counter: "rx_crc_errors", Count: 7}, {Port: 2, Source: "mlx5_0/1", Counter: "symbol_error",
		Count: 3}, {Port: 2, Source: "mlx5_0/1", Counter: "out_of_sequence", Count: 5}}) {
		t.Errorf("%+v for the controller", e)
	}
}
