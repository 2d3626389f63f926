package sonic

import (
	"context"
	"encoding/json"
	"maps"
	"net/netip"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/entry"
)

// held is what a switch holds.
type held struct {
	config database
	// sids and routes are those that have got to APPL_DB, sids by address, routes by prefix.
	sids   map[netip.Addr]bool
	routes map[netip.Prefix]bool
}

// look reads what the switch holds.
func (s *Session) look(ctx context.Context, client gpb.GNMIClient) (h held, err error) {
	// look reads the whole database, because a Get of several tables fails if any table has no row.
	text, err := s.get(ctx, client, path(configDB))
	if err != nil {
		return h, err
	}
	if h.config, err = decode[database](text); err != nil {
		return h, err
	}
	keys, err := s.keys(ctx, client, "SRV6_MY_SID_TABLE")
	if err != nil {
		return h, err
	}
	h.sids = make(map[netip.Addr]bool)
	for k := range keys {
		if a, err := netip.ParseAddr(sidKey(k)); err == nil {
			h.sids[a] = true
		}
	}
	if keys, err = s.keys(ctx, client, "ROUTE_TABLE"); err != nil {
		return h, err
	}
	h.routes = make(map[netip.Prefix]bool)
	for k := range keys {
		if p, ok := prefixOf(k); ok {
			h.routes[p] = true
		}
	}
	return h, nil
}

// keys returns the rows of a table of APPL_DB.
func (s *Session) keys(
	ctx context.Context, client gpb.GNMIClient, table string,
) (map[string]json.RawMessage, error) {
	text, err := s.get(ctx, client, path(applDB, table))
	if err != nil {
		return nil, err
	}
	return decode[map[string]json.RawMessage](text)
}

// tableLLDP has what lldpd hears, by interface.
const tableLLDP = "LLDP_ENTRY_TABLE"

// heard returns what the switch hears by LLDP. Nothing is an empty map.
func (s *Session) heard(ctx context.Context, client gpb.GNMIClient) (southbound.Neighbors, error) {
	text, err := s.get(ctx, client, path(applDB, tableLLDP))
	if err != nil {
		return nil, err
	}
	rows, err := decode[map[string]map[string]string](text)
	out := make(southbound.Neighbors, len(rows))
	for iface, r := range rows {
		out[iface] = southbound.Neighbor{System: r["lldp_rem_sys_name"],
			Chassis: r["lldp_rem_chassis_id"], Port: r["lldp_rem_port_id"],
			PortText: r["lldp_rem_port_desc"]}
	}
	return out, err
}

// prefixOf returns a prefix as APPL_DB writes it: a host route has no length there.
func prefixOf(text string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p.Masked(), true
	}
	a, err := netip.ParseAddr(text)
	return netip.PrefixFrom(a, a.BitLen()), err == nil
}

// lost returns the part of a row that the switch has not applied, although CONFIG_DB has the row;
// "": nothing is missing.
func (h *held) lost(r entry.Row) string {
	_, key, _ := strings.Cut(r.Name, "|") // behind a locator, or a VRF
	p, ok := prefixOf(key)
	switch {
	case !ok:
	case r.Table == tableSIDs && !h.sids[p.Addr()]:
		return "APPL_DB has no such SID: the switch's log has the reason (bgpcfgd, FRR)"
	case r.Table == tableRoutes && strings.HasPrefix(r.Name, "default|") && !h.routes[p]:
		return "APPL_DB has no such route: the switch's log has the reason (bgpcfgd, FRR)"
	}
	return ""
}

// contents returns what the switch holds and has taken.
func (h *held) contents() (out entry.Contents) {
	for _, r := range h.config.rows() {
		if h.lost(r) == "" {
			out.Entities = append(out.Entities, r)
		}
	}
	return out
}

// taken is what a switch holds and has taken, as text by key.
type taken map[entry.Key]string

func (h *held) taken() taken {
	out := make(taken)
	for _, e := range h.contents().Entities {
		out[e.Key()] = e.String()
	}
	return out
}

// Read returns the rows in the tables that Weft writes, whoever has written them. Read leaves out
// local SIDs and routes that APPL_DB lacks.
func (s *Session) Read(ctx context.Context) (entry.Contents, error) {
	client, err := s.connected()
	if err != nil {
		return entry.Contents{}, err
	}
	h, err := s.look(ctx, client)
	if err != nil {
		return entry.Contents{}, err
	}
	s.saw(&h)
	return h.contents(), nil
}

// saw keeps what was found, and reports whether it is something else than before.
func (s *Session) saw(h *held) (changed bool) {
	found := h.taken()
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = !maps.Equal(s.seen, found)
	s.seen = found
	return changed
}

// done records the values found under the keys of the updates that were carried out. Nobody has
// compared the other values with the wanted state yet: [Session.compare] must still notice changes
// by others that came with the updates.
func (s *Session) done(h *held, updates []entry.Update) {
	found := h.taken()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		return // nothing has been read yet
	}
	for i := range updates {
		k := updates[i].Entity.Key()
		if text, holds := found[k]; holds {
			s.seen[k] = text
		} else {
			delete(s.seen, k)
		}
	}
}
