package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
)

// revisionBump is how far a restored store's revisions are ahead of its backup's, so that none that
// a watcher or a cache has seen since the backup is given again.
const revisionBump = 1 << 30

// Restore makes a data directory from a backup. The directory must not have data yet.
func Restore(c Config, backup string) error {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	held, err := lock(c.Dir)
	if err != nil {
		return err
	}
	return errors.Join(restore(&c, backup), held.Close())
}

func restore(c *Config, backup string) error {
	data := filepath.Join(c.Dir, "etcd")
	if _, err := os.Stat(data); err == nil {
		return fmt.Errorf("data directory %s: it has data already; want an empty one", c.Dir)
	}
	log := newCore(c.Log)
	e := c.embedded(log)
	err := snapshot.NewV3(zap.New(log)).Restore(snapshot.RestoreConfig{
		SnapshotPath: backup, Name: e.Name, OutputDataDir: data,
		PeerURLs:       []string{e.AdvertisePeerUrls[0].String()},
		InitialCluster: e.InitialCluster, InitialClusterToken: e.InitialClusterToken,
		RevisionBump: revisionBump, MarkCompacted: true,
	})
	if err != nil {
		return errors.Join(fmt.Errorf("backup %s: %w", backup, err), os.RemoveAll(data))
	}
	return writeFormat(c.Dir, c.Release)
}
