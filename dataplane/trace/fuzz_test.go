package trace_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-sdn/weft/dataplane/trace"
)

// FuzzWrite: whatever a switch says it has traced, it can be shown.
func FuzzWrite(f *testing.F) {
	names, err := filepath.Glob("../testdata/traces/*-json.txt")
	if err != nil || len(names) == 0 {
		f.Fatal("no traces", err)
	}
	for _, n := range names {
		text, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"outcome":{"result":"transmitted"},"steps":[{"replicate":{}},` +
		`{"stage":{"name":"parser"},"steps":[{"checksum":{}},{}]}]}`))
	f.Add([]byte(`{"copies":[null,` +
		`{"steps":[{"table":{"key":[{"value":"0x00000000000000000000000000000000",` +
		`"entry":{"prefix":999}}]}}]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := &trace.Record{}
		if json.Unmarshal(text, r) != nil {
			t.Skip()
		}
		for v := range 3 {
			if err := trace.Write(io.Discard, r, trace.Options{Verbose: v}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
