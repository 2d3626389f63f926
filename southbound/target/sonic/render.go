// Package sonic turns the model of a switch into SONiC's CONFIG_DB. The agent of a Linux kernel
// takes the same database.
//
// The document contains Weft's rows only, to be merged with the rows of the switch: platform,
// management and buffer pools belong to the switch. Weft's named rows are called "weft".
//
// Sources: the YANG modules of sonic-buildimage (sonic-srv6, sonic-static-route, sonic-trimming,
// sonic-wred-profile, sonic-port-qos-map and the modules used by these), and the high level designs
// of static SRv6 and of packet trimming of github.com/sonic-net/SONiC, of August 2026.
package sonic

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/target"
)

// own is the name of Weft's rows in tables with named rows.
const own = "weft"

// trimProfile is the buffer profile of queues with trimming.
const trimProfile = own + "_trim"

// lossyPool is the buffer pool of lossy egress queues, by its name in the templates of SONiC.
const lossyPool = "egress_lossy_pool"

// Render returns the rows of a device as config_db.json.
func Render(d *target.Device, m *api.SwitchModel) ([]byte, error) {
	c := Config(d, m)
	return c.AppendJSON(make([]byte, 0, 64<<10)), nil
}

// Config returns the rows of a device, without those that it cannot hold.
func Config(d *target.Device, m *api.SwitchModel) Document {
	w := work{d: d, m: m, can: func(f target.Feature) bool { ok, _ := d.Can(f); return ok }}
	w.interfaces()
	w.locator()
	w.routes()
	w.qos()
	w.trimming()
	w.hash()
	slices.SortFunc(w.out, func(a, b Table) int { return cmp.Compare(a.Name, b.Name) })
	return w.out
}

type work struct {
	d   *target.Device
	m   *api.SwitchModel
	can func(target.Feature) bool
	out Document
}

func (w *work) table(name string, rows ...Row) {
	if len(rows) > 0 {
		w.out = append(w.out, Table{name, rows})
	}
}

func row(key string, fields ...Field) Row { return Row{Key: key, Fields: fields} }

func field(name, value string) Field { return Field{Name: name, Value: value} }

func number[N uint8 | uint16 | uint32 | uint64 | int](name string, n N) Field {
	return Field{Name: name, Value: strconv.FormatUint(uint64(n), 10)}
}

// interfaces makes the ports routed, and sets what clients want of them. A port whose link has
// advertised addresses gets these; other ports route by their link-local address.
func (w *work) interfaces() {
	var ports, interfaces []Row
	for i := range w.m.Ports {
		p := &w.m.Ports[i]
		name := w.d.Interface(p.Port)
		if f := settings(&p.Settings); len(f) > 0 {
			ports = append(ports, row(name, f...))
		}
		if len(p.Addresses) == 0 {
			interfaces = append(interfaces, row(name, field("ipv6_use_link_local_only", "enable")))
		}
	}
	w.table("PORT", ports...)
	w.table("INTERFACE", interfaces...)
}

func settings(s *api.PortSpec) (out []Field) {
	if s.Enabled != nil {
		out = append(out, field("admin_status", map[bool]string{true: "up", false: "down"}[*s.Enabled]))
	}
	if s.Speed != nil {
		out = append(out, number("speed", *s.Speed/1_000_000)) // Mb/s
	}
	if s.MTU != nil {
		out = append(out, number("mtu", *s.MTU))
	}
	if s.Description != nil {
		out = append(out, field("description", *s.Description))
	}
	return out
}

// locator adds the locator and its SIDs. SONiC ends an IPv6 tunnel by uDT46. The inner packet gets
// the DSCP of the outer header (uniform), because a switch marks trimmed packets there.
func (w *work) locator() {
	l := w.m.Locator
	if l == nil || !w.can(target.UN) {
		return
	}
	w.table("SRV6_MY_LOCATORS", row(own, field("prefix", l.Prefix.Addr().String()),
		number("block_len", l.BlockBits), number("node_len", l.NodeBits), number("func_len", 16),
		number("arg_len", 0)))
	var rows []Row
	for _, s := range w.d.SIDs(w.m) {
		key, mode := own+"|"+s.Prefix.String(), field("decap_dscp_mode", "uniform")
		switch s.Behavior {
		case api.BehaviorUN:
			rows = append(rows, row(key, field("action", "uN"), mode))
		case api.BehaviorUA:
			rows = append(rows, row(key, field("action", "uA"), mode,
				field("interface", w.d.Interface(s.Hop.Port)), field("adj", s.Hop.Address.String())))
		case api.BehaviorUDT6:
			rows = append(rows, row(key, field("action", "uDT46"), mode, field("decap_vrf", "default")))
		}
	}
	w.table("SRV6_MY_SIDS", rows...)
}

// routes has static routes. "::" is the next hop of what is on the link itself.
func (w *work) routes() {
	var rows []Row
	for i := range w.m.Routes {
		r := &w.m.Routes[i]
		var hops, ports strings.Builder
		for j, h := range r.Hops {
			if j > 0 {
				hops.WriteByte(',')
				ports.WriteByte(',')
			}
			if h.Address.IsValid() {
				hops.WriteString(h.Address.String())
			} else {
				hops.WriteString("::")
			}
			ports.WriteString(w.d.Interface(h.Port))
		}
		rows = append(rows, row("default|"+r.Prefix.String(), field("nexthop", hops.String()),
			field("ifname", ports.String())))
	}
	w.table("STATIC_ROUTE", rows...)
}

// qos has classes and queues. The traffic class of a DSCP has the number of its queue.
func (w *work) qos() {
	if len(w.m.Classes) == 0 || !w.can(target.QoS) {
		return
	}
	var dscps, queues []Field
	strict := uint8(0)
	known := make(map[uint8]bool)
	for _, c := range w.m.Classes {
		dscps = append(dscps, number(strconv.Itoa(int(c.DSCP)), c.Queue))
		if !known[c.Queue] {
			known[c.Queue] = true
			queues = append(queues, number(strconv.Itoa(int(c.Queue)), c.Queue))
		}
		strict = max(strict, c.Queue)
	}
	trims, ownClass := w.trims(), target.FreeClass(w.m)
	if trims && w.marksByPort() {
		queues = append(queues, number(strconv.Itoa(int(ownClass)), w.m.Trimming.Queue))
	}
	slices.SortFunc(queues, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	w.table("DSCP_TO_TC_MAP", row(own, dscps...))
	w.table("TC_TO_QUEUE_MAP", row(own, queues...))
	w.table("SCHEDULER", row(own+"_strict", field("type", "STRICT")))
	var profiles, marked, bound []Row
	marks := w.can(target.ECN)
	for _, q := range w.m.Queues {
		if q.ECN != nil && marks {
			profiles = append(profiles, wred(profile(q.Queue), q.ECN))
		}
	}
	for i := range w.m.Ports {
		p := &w.m.Ports[i]
		name := w.d.Interface(p.Port)
		binding := []Field{field("dscp_to_tc_map", own), field("tc_to_queue_map", own)}
		if trims && w.marksByPort() {
			binding = append(binding, field("tc_to_dscp_map", own+"_"+p.Faces))
		}
		bound = append(bound, row(name, binding...))
		for _, q := range w.m.Queues {
			var fields []Field
			if q.Queue == strict {
				fields = append(fields, field("scheduler", own+"_strict"))
			}
			if q.ECN != nil && marks {
				fields = append(fields, field("wred_profile", profile(q.Queue)))
			}
			if len(fields) > 0 {
				marked = append(marked, row(name+"|"+strconv.Itoa(int(q.Queue)), fields...))
			}
		}
	}
	w.table("WRED_PROFILE", profiles...)
	w.table("QUEUE", marked...)
	w.table("PORT_QOS_MAP", bound...)
}

func profile(queue uint8) string { return own + "_" + strconv.Itoa(int(queue)) }

// wred marks and drops nothing: with ECN, the drop probability is the probability of a mark for
// ECN-capable packets.
func wred(name string, e *api.ModelECN) Row {
	fields := []Field{field("ecn", "ecn_all")}
	for _, color := range []string{"green", "yellow", "red"} {
		fields = append(fields, field("wred_"+color+"_enable", "true"),
			number(color+"_min_threshold", e.MinOctets), number(color+"_max_threshold", e.MaxOctets),
			field(color+"_drop_probability", "100"))
	}
	return row(name, fields...)
}

func (w *work) trims() bool { return w.m.Trimming != nil && w.can(target.Trimming) }

// marksByPort reports whether packets trimmed at the last hop get a separate DSCP.
func (w *work) marksByPort() bool {
	t := w.m.Trimming
	return t.DSCP != t.DSCPLastHop && w.can(target.TrimLastHop)
}

func (w *work) trimming() {
	if !w.trims() {
		return
	}
	t := w.m.Trimming
	global := []Field{number("size", t.Octets)}
	if w.marksByPort() {
		tc := target.FreeClass(w.m)
		global = append(global, field("dscp_value", "from-tc"), number("tc_value", tc))
		class := strconv.Itoa(int(tc))
		w.table("TC_TO_DSCP_MAP", row(own+"_"+api.FacesFabric, number(class, t.DSCP)),
			row(own+"_"+api.FacesHost, number(class, t.DSCPLastHop)))
	} else {
		global = append(global, number("dscp_value", t.DSCP))
	}
	w.table("SWITCH_TRIMMING", row("GLOBAL", append(global, number("queue_index", t.Queue))...))
	w.table("BUFFER_PROFILE", row(trimProfile, field("dynamic_th", "0"), field("pool", lossyPool),
		field("size", "0"), field("packet_discard_action", "trim")))
	var queues []uint8
	for _, c := range w.m.Classes {
		if c.Trimming && !slices.Contains(queues, c.Queue) {
			queues = append(queues, c.Queue)
		}
	}
	var rows []Row
	for i := range w.m.Ports {
		for _, q := range queues {
			rows = append(rows, row(fmt.Sprintf("%s|%d", w.d.Interface(w.m.Ports[i].Port), q),
				field("profile", trimProfile)))
		}
	}
	w.table("BUFFER_QUEUE", rows...)
}

// hashFields are the names of fields of a packet in SWITCH_HASH.
var hashFields = map[string]string{
	"ipv6-source": "SRC_IP", "ipv6-destination": "DST_IP", "ipv6-flow-label": "IPV6_FLOW_LABEL",
	"ipv6-next-header": "IP_PROTOCOL", "udp-source": "L4_SRC_PORT", "udp-destination": "L4_DST_PORT",
}

func (w *work) hash() {
	if len(w.m.Hash) == 0 || !w.can(target.FlowHash) {
		return
	}
	list := []string{}
	for _, f := range w.m.Hash {
		list = append(list, hashFields[f])
	}
	w.table("SWITCH_HASH", row("GLOBAL", Field{Name: "ecmp_hash", List: list}))
}
