package etcd

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// revisionBump is the distance of a restored store's revisions from its backup's: the store must
// reuse no revision that a watcher or a cache has seen since the backup.
const revisionBump = 1 << 30

// Restore makes a data directory from a backup, and returns the backup's SHA-256. The directory
// must not have data yet. Only members restored from the same backup form one etcd.
func Restore(c Config, backup string) (sum string, err error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	held, err := lock(c.Dir)
	if err != nil {
		return "", err
	}
	sum, err = restore(&c, backup)
	return sum, errors.Join(err, held.Close())
}

// checksum returns the SHA-256 at the end of a backup. The error reports a fault of the file.
func checksum(backup string) (string, error) {
	f, err := os.Open(backup)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	// The database before it is a whole number of sectors.
	size := info.Size() - sha256.Size
	if size <= 0 || size%512 != 0 {
		return "", fmt.Errorf("backup %s: %w: its %d octets do not end with a checksum: it is cut "+
			"short, or no backup", backup, ErrDamaged, info.Size())
	}
	h, want := sha256.New(), make([]byte, sha256.Size)
	if _, err := io.CopyN(h, f, size); err != nil {
		return "", fmt.Errorf("backup %s: %w", backup, err)
	}
	if _, err := io.ReadFull(f, want); err != nil {
		return "", fmt.Errorf("backup %s: %w", backup, err)
	}
	if got := h.Sum(nil); !bytes.Equal(got, want) {
		return "", fmt.Errorf("backup %s: %w: its SHA-256 is %x, and the one at its end %x: take "+
			"another copy, or another backup", backup, ErrDamaged, got, want)
	}
	return hex.EncodeToString(want), nil
}

func restore(c *Config, backup string) (sum string, err error) {
	data := filepath.Join(c.Dir, "etcd")
	if _, err := os.Stat(data); err == nil {
		return "", fmt.Errorf("data directory %s: it has data already; want an empty one", c.Dir)
	}
	if sum, err = checksum(backup); err != nil {
		return "", err
	}
	log := newCore(c.Log)
	s := c.member(log)
	err = snapshot.NewV3(zap.New(log)).Restore(snapshot.RestoreConfig{
		SnapshotPath: backup, Name: s.Name, OutputDataDir: data,
		PeerURLs: []string{s.PeerURLs[0].String()},
		// etcd derives the numbers of the cluster and its members from the token.
		InitialCluster: s.InitialPeerURLsMap.String(), InitialClusterToken: "backup-" + sum,
		RevisionBump: revisionBump, MarkCompacted: true,
	})
	if err != nil {
		return "", errors.Join(fmt.Errorf("backup %s: %w", backup, err), os.RemoveAll(data))
	}
	return sum, writeFormat(c.Dir, c.Release, sum)
}
