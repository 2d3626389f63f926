package run

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/service"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/topology/static"
)

// CheckCertificates returns the faults for which connections would refuse the inventory's
// certificates at a time. Connections read changed files again, so the start continues despite the
// faults.
func CheckCertificates(inv *inventory.Inventory, now time.Time) (faults inventory.Faults) {
	for _, c := range inv.Certificates().List() {
		if why := c.Unusable(now); why != "" && !c.Peer {
			field := c.Place + ".cert"
			if c.Authority {
				field = c.Place + ".ca"
			}
			faults = append(faults, inventory.Fault{Field: field, Message: why})
		}
	}
	var file *certs.FileError
	refused := func(field string, err error) {
		if errors.As(err, &file) {
			faults = append(faults, inventory.Fault{Field: field + "." + file.Field,
				Message: file.Err.Error()})
		}
	}
	refused("api.tls", inv.API.TLS.Server(certs.KindClient).CheckServes())
	refused("mrc.tls", inv.MRC.TLS.Server(certs.KindHost).CheckServes())
	// The controllers show each other certificates of the same authorities.
	refused("cluster.tls", inv.Cluster.TLS.Server(certs.KindController).CheckPeer(
		reachedAt(&inv.Cluster)...))
	return faults
}

// reachedAt returns the host names and addresses in the configuration at which other controllers
// reach this controller.
func reachedAt(c *inventory.Cluster) (hosts []string) {
	etcd, _, _ := net.SplitHostPort(c.Etcd.Members[c.Name]) // the inventory has been checked
	for _, host := range []string{c.Host(), etcd} {
		if host != "" && !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// CheckFiles reads the files that an inventory names. It returns inventory.Faults, or nil.
func CheckFiles(inv *inventory.Inventory) error {
	var faults inventory.Faults
	check := func(field string, err error) {
		if err == nil {
			return
		}
		var file *certs.FileError
		if errors.As(err, &file) {
			field, err = field+"."+file.Field, file.Err
		}
		faults = append(faults, inventory.Fault{Field: field, Message: err.Error()})
	}
	_, err := inv.API.TLS.Server(certs.KindClient).Config(tls.VersionTLS12)
	check("api.tls", err)
	_, err = inv.Cluster.TLS.Server(certs.KindController).Config(tls.VersionTLS13)
	check("cluster.tls", err)
	if inv.Topology.File != "" {
		_, err := static.Load(inv.Topology.File)
		check("topology.file", err)
	}
	if inv.MRC.On() {
		c := service.HostsConfig(&inv.MRC)
		c.Epoch = 1
		check("mrc.tls", c.Validate())
	}
	for i := range inv.Switches {
		sw := &inv.Switches[i]
		if sw.Managed() && sw.TLS != nil {
			check(fmt.Sprintf("switches[%d].tls", i),
				controller.SessionConfig(sw, southbound.ElectionID{Low: 1}).Validate())
		}
	}
	if len(faults) > 0 {
		return faults
	}
	return nil
}
