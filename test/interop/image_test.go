//go:build linux

package interop

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed guest.py
var guestProgram []byte

//go:embed init.sh
var guestInit []byte

// packages are the packages of a guest, and what they depend on.
const packages = "linux-image-amd64,rdma-core,ibverbs-providers,librdmacm1,python3-pyverbs,python3," +
	"iproute2,kmod,busybox-static,libc-bin"

// modules of the kernel that a guest keeps, as patterns of find.
var modules = []string{
	"*/net/core/*", "*/net/ipv4/*", "*/net/ipv6/*", "*/kernel/lib/*", "*/crypto/*",
	"*/drivers/virtio/*", "*/drivers/infiniband/*",
	"*/virtio_console.ko", "*/virtio_net.ko", "*/net_failover.ko",
	"*/fs/configfs/*", // of rdma_cm
}

// An image is what a guest boots.
type image struct{ kernel, initrd string }

// makeImage returns the guest's image, and makes it where it is missing.
func makeImage(t *testing.T) image {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	fmt.Fprint(sum, packages, modules, buildScript)
	dir := filepath.Join(cache, "weft", fmt.Sprintf("interop-%x", sum.Sum(nil)[:8]))
	i := image{filepath.Join(dir, "vmlinuz"), filepath.Join(dir, "initrd")}
	if _, err := os.Stat(i.initrd); err == nil {
		return i
	}
	t.Log("making the guest from packages of Debian 12")
	work := t.TempDir()
	var keep []string
	for _, m := range modules {
		keep = append(keep, "! -path '"+m+"'")
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "sh", "-ec",
		fmt.Sprintf(buildScript, packages, strings.Join(keep, " ")))
	cmd.Dir = work
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("making the guest: %v: %s", err, out)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"vmlinuz", "initrd"} { // the file that is looked for comes last
		text, err := os.ReadFile(filepath.Join(work, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

// withPrograms returns the image with the guests' programs in a second archive after the archive of
// packages. The kernel unpacks the archives in order.
func withPrograms(t *testing.T, i image) image {
	t.Helper()
	root, out := t.TempDir(), t.TempDir()
	write := func(name string, text []byte) {
		if err := os.WriteFile(filepath.Join(root, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("guest.py", guestProgram)
	write("init", guestInit)
	clients := filepath.Join("..", "..", "clients")
	for _, name := range []string{"weft.py", "weights.py"} {
		text, err := os.ReadFile(filepath.Join(clients, "python", name))
		if err != nil {
			t.Fatal(err)
		}
		write(name, text)
	}
	// Guests have the C library of Debian 12, as the machine should.
	if text, err := exec.CommandContext(t.Context(), "cc", "-O1", "-o", filepath.Join(root, "relay"),
		"-I"+filepath.Join(clients, "c"), filepath.Join("testdata", "relay.c"),
		filepath.Join(clients, "c", "weft.c"), "-lrdmacm", "-libverbs").CombinedOutput(); err != nil {
		t.Fatalf("building the client in C (apt-get install gcc librdmacm-dev): %v: %s", err, text)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-ec",
		`{ cat "$1"; find . | cpio --quiet -o -H newc | gzip -1; } >"$2"`, "sh", i.initrd,
		filepath.Join(out, "initrd"))
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("adding the programs: %v: %s", err, text)
	}
	return image{i.kernel, filepath.Join(out, "initrd")}
}

// buildScript makes vmlinuz and initrd of packages in its folder, with the modules of an
// expression.
const buildScript = `
mmdebstrap --quiet --variant=extract --include=%s bookworm root.tar
mkdir root
tar -C root -xf root.tar
rm root.tar
version=$(ls root/lib/modules)
cp root/boot/vmlinuz-"$version" vmlinuz
rm -rf root/boot root/usr/share/doc root/usr/share/man root/usr/share/locale root/usr/share/info root/usr/share/perl* root/usr/lib/*/perl*
find root/lib/modules/*/kernel -type f %s -delete
chroot root /sbin/depmod "$version"
ln -sf busybox root/bin/sh
cd root
find . | cpio --quiet -o -H newc | gzip -1 >../initrd
`
