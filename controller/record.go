package controller

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/store"
)

// Keys of the store.
const (
	groupPrefix = "groups/"
	epochPrefix = "epochs/"
	versionsKey = "versions"
)

func (c *Core) load(r store.Record) error {
	if ok, err := c.versions.Load(r); ok {
		return err
	}
	if ok, err := c.lossless.load(r); ok {
		return err
	}
	name, isGroup := strings.CutPrefix(r.Key, groupPrefix)
	index, isEpoch := strings.CutPrefix(r.Key, epochPrefix)
	switch {
	case isEpoch:
		i, err := strconv.ParseUint(index, 10, 16)
		if err != nil {
			return err
		}
		epoch, err := strconv.ParseUint(string(r.Value), 10, 32)
		if err != nil {
			return err
		}
		c.epochs[uint16(i)] = max(c.epochs[uint16(i)], uint32(epoch))
	case isGroup:
		g, err := decodeGroup(name, r.Value)
		if err != nil {
			return err
		}
		if other := c.byIndex[g.index]; other != nil {
			return fmt.Errorf("index %d is that of %q too", g.index, other.name)
		}
		g.loaded = true
		c.groups[name], c.byIndex[g.index] = g, g
	}
	return nil
}

func (c *Core) takeSaves() []store.Op {
	out := c.versions.Changes()
	for _, i := range slices.Sorted(maps.Keys(c.raised)) {
		out = append(out, store.Op{Key: epochKey(i), Value: resource.Encode(c.epochs[i])})
	}
	clear(c.raised)
	for _, key := range c.gone {
		out = append(out, store.Op{Key: key})
	}
	c.gone = nil
	for _, name := range slices.Sorted(maps.Keys(c.saves)) {
		if g := c.groups[name]; g != nil {
			out = append(out, store.Op{Key: groupPrefix + name, Value: g.encode()})
		}
	}
	clear(c.saves)
	return append(out, c.lossless.changes()...)
}

func epochKey(index uint16) string { return epochPrefix + strconv.Itoa(int(index)) }
