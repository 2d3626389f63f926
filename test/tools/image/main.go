// Command image makes the container image of Weft for some architectures: one static program, and
// an empty folder for its records. It takes no container engine, and equal programs make an equal
// file.
//
//	image OUT TAG DIR...
//
// OUT is a tar archive with an OCI image layout. DIR, as bin/release/linux_amd64, has the program
// weft, which says its version. The archive also has a manifest.json with the image of the first
// DIR as TAG, for docker load, which reads no OCI layout before Docker 25.
//
// The image says nothing of its health: OCI has no word for that, and Docker's would ask switches
// and hosts of the same image, too, what only a controller answers.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// user owns the records, and has no rights: a controller needs none. Switches and hosts on
// interfaces of a container need CAP_NET_RAW, and so root: docker run --user 0:0 --cap-add NET_RAW.
const user = 65532

func main() {
	log.SetFlags(0)
	log.SetPrefix("image: ")
	if len(os.Args) < 4 {
		log.Fatal("usage: image OUT TAG DIR...")
	}
	tag := os.Args[2]
	if !strings.Contains(path.Base(tag), ":") {
		tag += ":latest"
	}
	b := &builder{labels: map[string]string{
		"org.opencontainers.image.title":         "Weft",
		"org.opencontainers.image.description":   "SDN controller for RDMA and AI fabrics",
		"org.opencontainers.image.source":        "https://github.com/weft-sdn/weft",
		"org.opencontainers.image.documentation": "https://github.com/weft-sdn/weft/tree/main/docs",
	}}
	if err := b.describe(filepath.Join(os.Args[3], "weft")); err != nil {
		log.Fatal(err)
	}
	if err := b.write(os.Args[1], tag, os.Args[3:]); err != nil {
		log.Fatal(err)
	}
}

type builder struct {
	created time.Time
	labels  map[string]string
}

// describe takes version, commit and time from a program.
func (b *builder) describe(program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	b.labels["org.opencontainers.image.version"] = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.labels["org.opencontainers.image.revision"] = s.Value
		case "vcs.time":
			if b.created, err = time.Parse(time.RFC3339, s.Value); err != nil {
				return err
			}
		}
	}
	b.labels["org.opencontainers.image.created"] = b.created.Format(time.RFC3339)
	return nil
}

// write writes the archive.
func (b *builder) write(out, tag string, dirs []string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var loads []map[string]any
	for _, dir := range dirs {
		system, arch, _ := strings.Cut(filepath.Base(dir), "_")
		at := v1.Platform{OS: system, Architecture: arch}
		image, err := b.image(at, filepath.Join(dir, "weft"))
		if err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &at}})
		m, err := image.Manifest()
		if err != nil {
			return err
		}
		if loads == nil {
			loads = []map[string]any{{"Config": blob(m.Config.Digest), "RepoTags": []string{tag},
				"Layers": []string{blob(m.Layers[0].Digest)}}}
		}
	}
	tmp, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	// Tools name an image of a layout by this annotation; the index in it is for all architectures.
	p, err := layout.Write(tmp, empty.Index)
	if err != nil {
		return err
	}
	if err := p.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": b.labels["org.opencontainers.image.version"]})); err != nil {
		return err
	}
	if index, err = p.ImageIndex(); err != nil {
		return err
	}
	if err := validate.Index(index); err != nil {
		return err
	}
	text, err := json.Marshal(loads)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, "manifest.json"), text, 0o600); err != nil {
		return err
	}
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	defer f.Close()
	w := tar.NewWriter(f)
	if err := b.add(w, tmp); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}

func blob(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }

// image makes the image of a program.
func (b *builder) image(at v1.Platform, file string) (v1.Image, error) {
	program, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, h := range []*tar.Header{
		{Name: "var/", Mode: 0o755}, {Name: "var/lib/", Mode: 0o755},
		{Name: "var/lib/weft/", Mode: 0o755, Uid: user, Gid: user},
		{Name: "weft", Mode: 0o755, Size: int64(len(program))},
	} {
		h.ModTime = b.created
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
	}
	if _, err := w.Write(program); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(text.Bytes())), nil
	}, tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching,
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
		types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer,
		History: v1.History{CreatedBy: "make release", Created: v1.Time{Time: b.created}}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = at.OS, at.Architecture, v1.Time{Time: b.created}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", user, user), Entrypoint: []string{"/weft"},
		Env: []string{"WEFT_DATA_DIR=/var/lib/weft"}, Labels: b.labels,
	}
	if image, err = mutate.ConfigFile(image, config); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, b.labels).(v1.Image), nil
}

// add adds the files of a folder.
func (b *builder) add(w *tar.Writer, dir string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644,
			Size: int64(len(text)), ModTime: b.created}); err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
}
