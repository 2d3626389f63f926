package service

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls"
)

// bgpPeer returns a peer of the inventory as the speaker takes it. Errors name the field.
func bgpPeer(b *inventory.BGP, p *inventory.Peer) (bgpls.Peer, error) {
	asn := p.ASN
	if asn == 0 {
		asn = b.ASN
	}
	scope, err := topology.ParseScope(p.Nodes)
	if err != nil {
		return bgpls.Peer{}, fmt.Errorf("nodes: %w", err)
	}
	password := p.Password
	if p.PasswordFile != "" {
		if password, err = firstLine(p.PasswordFile); err != nil {
			return bgpls.Peer{}, fmt.Errorf("passwordFile: %w", err)
		}
	}
	l := p.Limits
	return bgpls.Peer{
		Address: p.Address, Port: p.Port, ASN: asn, Passive: p.Passive, LocalAddress: p.LocalAddress,
		Password: password, Scope: scope,
		Limits: bgpls.Limits{Nodes: l.Nodes, Links: l.Links, Prefixes: l.Prefixes, SIDs: l.SIDs,
			Octets: l.Octets},
	}, nil
}

// firstLine reads the first line of a file that others cannot use.
func firstLine(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", err
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 {
		return "", fmt.Errorf("%s has mode %#o: want one that others cannot use, such as 0600", file,
			mode)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if line == "" {
		return "", errors.New("the first line of " + file + " is empty")
	}
	return line, nil
}
