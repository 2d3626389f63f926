// Package chart tests the chart of deploy/helm with Helm's own lint and engine, and with the types
// of Kubernetes. It is a module of its own, because these bring a hundred modules: make test-chart.
package chart

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files")

const folder = "../../deploy/helm/weft"

func load(t *testing.T) *chart.Chart {
	t.Helper()
	c, err := loader.LoadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render returns the manifests that values make, one after the other, by the names of their files.
func render(t *testing.T, values map[string]any) (string, error) {
	t.Helper()
	c := load(t)
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "weft",
		Namespace: "fabric", IsInstall: true, Revision: 1}, nil)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return "", err
	}
	var names []string
	for name := range files {
		if strings.HasSuffix(name, ".yaml") && strings.TrimSpace(files[name]) != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out strings.Builder
	for _, name := range names {
		out.WriteString("---\n# Source: " + name + "\n" + strings.TrimSpace(files[name]) + "\n")
	}
	return out.String(), nil
}

func values(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v := map[string]any{}
	if err := yaml.UnmarshalStrict(text, &v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}

// custom lists the kinds of manifests that are not Kubernetes' own.
var custom = []string{"cert-manager.io/v1 Issuer", "cert-manager.io/v1 Certificate",
	"monitoring.coreos.com/v1 ServiceMonitor"}

// TestTemplates: each file of values makes the manifests of its golden file, and Kubernetes knows
// all fields of each.
func TestTemplates(t *testing.T) {
	files, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			out, err := render(t, values(t, file))
			if err != nil {
				t.Fatal(err)
			}
			golden := strings.Replace(file, ".values.", ".golden.", 1)
			if *update {
				if err := os.WriteFile(golden, []byte(out), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil || string(want) != out {
				t.Errorf("%s is not what the chart makes (%v): make test-chart UPDATE=-update", golden, err)
			}
			if *update {
				record(t)
			}
			for _, document := range strings.Split(out, "\n---\n") {
				check(t, []byte(document))
			}
		})
	}
}

// record writes the checksums of the sources of the golden files. With these a test of the other
// module (test/deploy) finds outdated golden files.
func record(t *testing.T) {
	t.Helper()
	var out strings.Builder
	for _, dir := range []string{folder, "testdata"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || dir == "testdata" &&
				!strings.HasSuffix(path, ".values.yaml") {
				return err
			}
			text, err := os.ReadFile(path)
			fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(text), path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("testdata/sources.sha256", []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// check reads a manifest as the API server does that refuses unknown fields and fields that come
// twice, and looks at what its pods may do.
func check(t *testing.T, document []byte) {
	t.Helper()
	var kind runtime.TypeMeta
	if err := yaml.Unmarshal(document, &kind); err != nil {
		t.Fatalf("%v:\n%s", err, document)
	}
	if slices.Contains(custom, kind.APIVersion+" "+kind.Kind) {
		var any map[string]any
		if err := yaml.UnmarshalStrict(document, &any); err != nil {
			t.Errorf("%s: %v", kind.Kind, err)
		}
		return
	}
	codecs := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict)
	object, _, err := codecs.UniversalDeserializer().Decode(document, nil, nil)
	if err != nil {
		t.Errorf("%s: %v:\n%s", kind.Kind, err, document)
		return
	}
	var pod *corev1.PodSpec
	switch o := object.(type) {
	case *appsv1.StatefulSet:
		pod = &o.Spec.Template.Spec
		if s := pod.SecurityContext; s.RunAsNonRoot == nil || !*s.RunAsNonRoot {
			t.Error("a controller may run as root")
		}
		if n := len(pod.Containers[0].SecurityContext.Capabilities.Add); n > 0 {
			t.Errorf("a controller gets %d capabilities", n)
		}
	case *appsv1.DaemonSet:
		pod = &o.Spec.Template.Spec
		may := map[string][]corev1.Capability{"nic": {"NET_RAW"}, "agent": {"NET_ADMIN", "NET_RAW"}}
		for _, c := range pod.Containers[0].SecurityContext.Capabilities.Add {
			if name := pod.Containers[0].Name; !slices.Contains(may[name], c) {
				t.Errorf("container %s gets the capability %s: want %v at most", name, c, may[name])
			}
		}
	default:
		return
	}
	mounts := map[string]bool{}
	for _, v := range pod.Volumes {
		mounts[v.Name] = true
	}
	if set, ok := object.(*appsv1.StatefulSet); ok {
		for _, v := range set.Spec.VolumeClaimTemplates {
			mounts[v.Name] = true
		}
	}
	for _, c := range pod.Containers {
		s := c.SecurityContext
		if s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
			s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
			!slices.Contains(s.Capabilities.Drop, "ALL") {
			t.Errorf("container %s: want a root file system that is read-only, no escalation of rights, "+
				"and no capabilities", c.Name)
		}
		for _, m := range c.VolumeMounts {
			if !mounts[m.Name] {
				t.Errorf("container %s mounts %s, which is no volume", c.Name, m.Name)
			}
		}
	}
	if p := pod.SecurityContext.SeccompProfile; p == nil || p.Type != "RuntimeDefault" {
		t.Error("want the default profile of seccomp")
	}
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Error("the pod gets a token of the API server")
	}
}

// TestLint: Helm has nothing to say.
func TestLint(t *testing.T) {
	for _, file := range []string{"testdata/default.values.yaml", "testdata/full.values.yaml"} {
		for _, m := range lint.All(folder, values(t, file), "fabric", true).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", file, m)
			}
		}
	}
}

// TestRefused: values that cannot be meant are refused, by names that say which.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{"replicas: 2", "replicas"},
		{"replica: 3", "replica"},
		{"config: {api: {listen: \"0.0.0.0:80\"}}", "listen"},
		{"config: {cluster: {tls: {}}}", "tls"},
		{"persistence: {size: 8}", "size"},
		{"tokenSecret: \"\"", "tokenSecret"},
		{"bgpRouterIds: [192.0.2.1]", "want one for each of replicas"},
		{"nic: {enabled: true}", "nic.nodes: want the address"},
		{"nic: {enabled: true, nodes: {gpu1: {}}}", "address"},
		{"agent: {enabled: true}", "agent.controller: want host:port"},
		{"agent: {enabled: true, controller: here}", "controller"},
		{"agent: {enabled: true, controller: \"a:1\"}", "agent.interfaces: want"},
		{"agent: {enabled: true, controller: \"a:1\", interfaces: [e1], backend: seg6}",
			"agent.gateways: want one for each"},
		{"agent: {backend: nic}", "backend"},
	} {
		v := map[string]any{}
		if err := yaml.Unmarshal([]byte(c.values), &v); err != nil {
			t.Fatal(err)
		}
		if _, err := render(t, v); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v: want an error with %q", c.values, err, c.want)
		}
	}
}

// TestStrict: a manifest with a field that Kubernetes does not know is found, in case the types or
// the decoder change.
func TestStrict(t *testing.T) {
	codecs := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict)
	text := []byte("apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {typ: ClusterIP}\n")
	if _, _, err := codecs.UniversalDeserializer().Decode(text, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "spec.typ") {
		t.Errorf("%v: want a fault of spec.typ", err)
	}
}
