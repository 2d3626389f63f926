package dataplane

import (
	"os"
	"testing"
)

func TestLoadFabric(t *testing.T) {
	b, err := os.ReadFile("../p4/fabric.json")
	if err != nil {
		t.Fatal(err)
	}
	p, err := LoadProgram(b)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(p.layout.size, p.layout.metaSize, len(p.layout.headers), p.keyWords)
	for i, ti := range p.Tables() {
		if !ti.Hidden {
			t.Log(i, ti)
		}
	}
}
