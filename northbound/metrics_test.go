package northbound

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestDocumentedMetrics: every metric is in docs/api.md.
func TestDocumentedMetrics(t *testing.T) {
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	own := make(chan *prometheus.Desc, 8)
	m := NewRequests()
	m.requests.Describe(own)
	m.duration.Describe(own)
	m.watchers.Describe(own)
	close(own)
	name := regexp.MustCompile(`fqName: "(\w+)"`)
	all := slices.Concat(controllerMetrics, losslessMetrics, fabricMetrics, clusterMetrics)
	for d := range own {
		all = append(all, d)
	}
	for _, m := range telemetryMetrics {
		all = append(all, m.desc)
	}
	for _, d := range all {
		if n := name.FindStringSubmatch(d.String())[1]; !strings.Contains(string(text), "`"+n+"`") {
			t.Errorf("docs/api.md: nothing about %s", n)
		}
	}
}
