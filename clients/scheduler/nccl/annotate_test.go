package nccl

import (
	"strings"
	"testing"
)

const dump = `<system version="1">
  <cpu host_hash="0x1" numaid="0" affinity="ffff" arch="x86_64" vendor="GenuineIntel">
    <pci busid="0000:17:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">
      <nic>
        <net name="mlx5_0" dev="0" latency="0.0" speed="400000" port="1" guid="0x1" gdr="1"/>
      </nic>
    </pci>
    <nic>
      <net name="mlx5_1" rail="7" dev="1" plane="9" speed="400000"></net>
      <net name="storage" dev="2"/>
    </nic>
  </cpu>
</system>
`

func TestAnnotate(t *testing.T) {
	got, err := Annotate([]byte(dump), map[string]NIC{"mlx5_0": {0, 0}, "mlx5_1": {1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(
		`<net name="mlx5_0"`, `<net rail="0" name="mlx5_0"`,
		`<net name="mlx5_1" rail="7" dev="1" plane="9"`,
		`<net rail="1" plane="2" name="mlx5_1" dev="1"`).Replace(dump)
	if string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	again, err := Annotate(got, map[string]NIC{"mlx5_0": {0, 0}, "mlx5_1": {1, 2}})
	if err != nil || string(again) != want {
		t.Errorf("once more: %s, %v", again, err)
	}
	for text, want := range map[string]string{
		dump[:200]:                  "no topology of NCCL",
		"<graphs/>":                 `its root is "graphs"`,
		"":                          `its root is ""`,
		`<system version="1"/>`:     `no net "mlx5_9"`,
		"<system><net name='x'/>\n": "no topology of NCCL",
	} {
		got, err := Annotate([]byte(text), map[string]NIC{"mlx5_9": {}})
		if err == nil || got != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v; want %s", text, got, err, want)
		}
	}
}

// FuzzAnnotate: what is annotated is XML again, and a second time changes nothing.
func FuzzAnnotate(f *testing.F) {
	f.Add(dump)
	f.Add(`<system><net name="mlx5_0" rail='1'/></system>`)
	f.Add(`<system><net rail="1" name="mlx5_0" x=" rail='2'"/></system>`)
	f.Add(`<system><!-- <net --><net name = "mlx5_0"/></system>`)
	f.Fuzz(func(t *testing.T, text string) {
		nics := map[string]NIC{"mlx5_0": {3, 1}}
		once, err := Annotate([]byte(text), nics)
		if err != nil {
			return
		}
		twice, err := Annotate(once, nics)
		if err != nil || string(twice) != string(once) {
			t.Errorf("%q becomes %q, and %q, %v", text, once, twice, err)
		}
	})
}
