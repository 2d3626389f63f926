//go:build linux

package packages

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// reference is a descriptor of the OCI image specification.
type reference struct {
	Digest   string
	Size     int
	Platform struct{ OS, Architecture string }
}

// TestImage: the image is an OCI layout whose blobs are what they are called; each platform has one
// layer of a program and an empty folder, a user without rights, and labels. The image of this
// machine runs from a read-only root as user 65532, and its controller answers.
func TestImage(t *testing.T) {
	release(t, "deb", "unshare", "setpriv")
	found, err := filepath.Glob("../../bin/release/weft_*_image.tar")
	if err != nil || len(found) != 1 {
		t.Fatalf("bin/release has %v, %v: want one image: make release", found, err)
	}
	f, err := os.Open(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	files := make(map[string][]byte)
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	decode := func(name string, v any) {
		t.Helper()
		if err := json.Unmarshal(files[name], v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	blob := func(r reference) string {
		t.Helper()
		name := "blobs/" + strings.Replace(r.Digest, ":", "/", 1)
		sum := sha256.Sum256(files[name])
		if len(files[name]) != r.Size || r.Digest != "sha256:"+hex.EncodeToString(sum[:]) {
			t.Fatalf("%s has %d octets with the sum %x: want %+v", name, len(files[name]), sum, r)
		}
		return name
	}
	var marker struct{ ImageLayoutVersion string }
	if decode("oci-layout", &marker); marker.ImageLayoutVersion != "1.0.0" {
		t.Errorf("oci-layout: %s", files["oci-layout"])
	}
	var layout, index struct{ Manifests []reference }
	decode("index.json", &layout)
	decode(blob(layout.Manifests[0]), &index)
	var loads []struct{ Config string }
	decode("manifest.json", &loads)
	configs := make(map[string]string) // by platform
	root := t.TempDir()
	for _, r := range index.Manifests {
		at := r.Platform.OS + "/" + r.Platform.Architecture
		var manifest struct {
			Config reference
			Layers []reference
		}
		decode(blob(r), &manifest)
		configs[at] = blob(manifest.Config)
		var image struct {
			OS, Architecture string
			Config           struct {
				User            string
				Entrypoint, Env []string
				Labels          map[string]string
			}
			RootFS struct {
				Diffs []string `json:"diff_ids"`
			}
		}
		decode(configs[at], &image)
		c := image.Config
		if image.OS+"/"+image.Architecture != at || c.User != "65532:65532" ||
			!slices.Equal(c.Entrypoint, []string{"/weft"}) ||
			!slices.Equal(c.Env, []string{"WEFT_DATA_DIR=/var/lib/weft"}) {
			t.Errorf("%s: %s", at, files[configs[at]])
		}
		for _, label := range []string{"title", "version", "revision", "created", "source"} {
			if c.Labels["org.opencontainers.image."+label] == "" {
				t.Errorf("%s: no label %s: %v", at, label, c.Labels)
			}
		}
		if len(manifest.Layers) != 1 || len(image.RootFS.Diffs) != 1 {
			t.Fatalf("%s: layers are %v and %v: want one", at, manifest.Layers, image.RootFS.Diffs)
		}
		zipped, err := gzip.NewReader(bytes.NewReader(files[blob(manifest.Layers[0])]))
		if err != nil {
			t.Fatal(err)
		}
		layer, err := io.ReadAll(zipped)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(layer); image.RootFS.Diffs[0] != "sha256:"+hex.EncodeToString(sum[:]) {
			t.Errorf("%s: the layer has the sum %x: want %s", at, sum, image.RootFS.Diffs[0])
		}
		if len(layer) > 60e6 || manifest.Layers[0].Size > 25e6 {
			t.Errorf("%s: the program has %d octets, %d compressed: want at most 60 MB and 25 MB", at,
				len(layer), manifest.Layers[0].Size)
		}
		if at != "linux/"+runtime.GOARCH {
			continue
		}
		if loads[0].Config != configs[at] {
			t.Errorf("docker load takes %s: want the image for %s, %s", loads[0].Config, at, configs[at])
		}
		file := filepath.Join(t.TempDir(), "layer.tar")
		if err := os.WriteFile(file, layer, 0o600); err != nil {
			t.Fatal(err)
		}
		run(t, "tar", "--numeric-owner", "-xpf", file, "-C", root)
	}
	if got := slices.Sorted(maps.Keys(configs)); !slices.Contains(got, "linux/"+runtime.GOARCH) ||
		len(got) != len(index.Manifests) {
		t.Errorf("platforms: %v", got)
	}
	t.Log(slices.Sorted(maps.Keys(configs)))
	t.Log(run(t, "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-ec", `
		ip link set lo up
		mkdir "$1/proc" "$1/dev" && touch "$1/dev/null" # as a container engine does
		mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"
		mount -t proc proc "$1/proc"
		mount --bind /dev/null "$1/dev/null"
		mount -t tmpfs -o mode=700,uid=65532,gid=65532 records "$1/var/lib/weft"
		weft() { chroot --userspec=65532:65532 --groups= "$root" /weft "$@"; }
		root=$1
		weft version
		timeout 60 chroot --userspec=65532:65532 --groups= "$root" \
			/weft controller --data-dir /var/lib/weft >"$2" 2>&1 &
		until weft get switches; do
			kill -0 $! || { cat "$2"; exit 1; }
			sleep 0.2
		done
		kill $! && wait $!`, "sh", root, filepath.Join(t.TempDir(), "log")))
}
