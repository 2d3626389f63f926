package api

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The severities of events; the first three are those of causes.
const (
	eventFault   = EventSeverity(SeverityFault)
	eventWarning = EventSeverity(SeverityWarning)
	eventWork    = EventSeverity(SeverityWork)
	eventOK      = EventSeverity("ok")
	eventQuiet   = EventSeverity("quiet")
)

// families maps each family of event types to the kind of the named object and its noun.
var families = map[string]struct{ kind, noun string }{
	"group":        {"multicast-group", "Group"},
	"receiver":     {"multicast-group", "Receiver"},
	"connection":   {"multicast-group", "Group"},
	"switch":       {"switch", "Switch"},
	"bgp-peer":     {"bgp-peer", "BGP-LS peer"},
	"srv6-policy":  {"srv6-policy", "SRv6 policy"},
	"tenant":       {"tenant", "Tenant"},
	"project":      {"project", "Project"},
	"job":          {"job", "Job"},
	"lease":        {"lease", "Lease"},
	"maintenance":  {"maintenance", "Maintenance"},
	"silence":      {"silence", "Silence"},
	"notification": {"notification", "Notification"},
	"pfc-policy":   {"pfc-policy", "PFC policy"},
	"pfc":          {"pfc-policy", "Pfc"},
	"ev-profile":   {"ev-profile", "EV profile"},
	"host":         {"host", "Host"},
	"port":         {"port", "Port"},
	"controller":   {"controller", "Controller"},
	"certificate":  {"certificate", "Certificate"},
	"orphan":       {"orphan", "Orphan"},
	"network":      {"network", "Network"},
	"balance":      {"switch", "Leaf"},
	"link":         {"link", "Link"},
	"suspect":      {"link", "Link"},
	"drain":        {"link", "Drain"},
	"cause":        {"cause", "Cause"},
	"entries":      {"entries", "Entries"},
	"store":        {"store", ""},
	"topology":     {"topology", ""},
	"fabric":       {"fabric", ""},
	"gap":          {"gap", ""},
}

// objectKinds has the kind of Object for types whose kind differs from their family.
var objectKinds = map[EventType]string{
	EventTunnelLost: "tunnel", EventTunnelRecovered: "tunnel", EventWatermarksChanged: "tunnel",
	EventStorm: "queue", EventStormEnded: "queue", EventOverflow: "queue",
	EventHostRefused: "address",
}

// About completes the objects of an event: where nobody has said more, it is about Object.
func (e *Event) About() {
	if len(e.Objects) > 0 || e.Object == "" {
		return
	}
	family, _, _ := strings.Cut(string(e.Type), ".")
	e.Objects = []EventObject{{Kind: cmp.Or(objectKinds[e.Type], families[family].kind), ID: e.Object}}
}

// Has reports whether an event is about an object with a name or id.
func (e *Event) Has(object string) bool {
	if e.Object == object {
		return true
	}
	for i := range e.Objects {
		if e.Objects[i].ID == object {
			return true
		}
	}
	return false
}

// Say completes an event by its objects, its severity and its sentence. Only Say makes sentences of
// events.
func (e *Event) Say() {
	e.About()
	e.Severity, e.Sentence = e.say()
}

func (e *Event) say() (EventSeverity, string) {
	family, verb, _ := strings.Cut(string(e.Type), ".")
	noun := families[family].noun
	what := strings.TrimSpace(noun + " " + e.Object)
	if family == "receiver" || family == "connection" {
		return e.sayMember(verb)
	}
	switch family {
	case "gap":
		return eventWarning, "Events were lost: everything has been read again."
	case "silence":
		switch e.State {
		case StateWritten:
			return eventQuiet, fmt.Sprintf("A cause is silent until %s (silence %s).",
				e.Until.Format(time.RFC3339), e.Object)
		case StateDeleted:
			return eventQuiet, fmt.Sprintf("Silence %s was ended.", e.Object)
		}
		return eventQuiet, fmt.Sprintf("Silence %s is over.", e.Object)
	case "notification":
		switch verb {
		case "failing":
			return eventWarning, fmt.Sprintf("The receiver of %s takes no messages: %s.", small(what),
				e.Message)
		case "recovered":
			return eventOK, fmt.Sprintf("%s: %s.", what, e.Message)
		}
		return eventQuiet, fmt.Sprintf("%s was %s.", what, e.Message)
	case "cause":
		if verb == "ended" {
			return eventOK, "No longer: " + small(e.Reason)
		}
		return cmp.Or(e.Severity, eventFault), e.Message
	case "job":
		switch verb {
		case "ready":
			return eventOK, fmt.Sprintf("The fabric is ready for %s: GO.", small(what))
		case "blocked":
			return eventFault, fmt.Sprintf("The fabric is not ready for %s: %s.", small(what), e.Message)
		case "deleted":
			return eventQuiet, what + " is deleted."
		}
		return eventQuiet, fmt.Sprintf("%s: %s.", what, e.Message)
	case "bgp-peer":
		if e.State == StateUp {
			return eventOK, fmt.Sprintf("The BGP-LS session with %s is established.", e.Object)
		}
		return eventFault, join("There is no BGP-LS session with "+e.Object, Sentence(e.Reason))
	case "topology":
		return e.sayTopology()
	case "switch":
		if e.State == StateConnected {
			return eventOK, what + " is connected."
		}
		return eventFault, what + ": " + cmp.Or(small(Sentence(e.Message)), "its state has changed.")
	case "link":
		name := "Link " + e.label(0)
		if e.State == StateUsed {
			return eventOK, name + " is used again."
		}
		why := e.Reason
		if e.State == StateProbed {
			why = "probed before it is used: " + why
		}
		return eventFault, join(name+" is out of use", Sentence(why))
	case "suspect":
		return e.saySuspect()
	case "drain":
		return e.sayDrain()
	case "ev-profile":
		if e.State == StateDegraded {
			return eventWarning, join(what+" is degraded", Sentence(e.Reason))
		}
		return eventOK, what + " is as it should be."
	case "host":
		return e.sayHost(verb, what)
	case "fabric":
		if e.Message != "" {
			return eventFault, join("There is no MRC fabric of the present topology", Sentence(e.Message))
		}
		return eventOK, "The MRC fabric is that of the present topology."
	case "port":
		switch {
		case verb != "changed":
		case e.State == StateDown:
			return eventFault, what + " is down: its link is not used."
		case e.State == StateUp:
			return eventOK, what + " is up: its link is used again."
		case e.State == StateDrifted:
			return eventWarning, join(what+" has other settings than wanted", Sentence(e.Reason))
		}
	}
	if verb == "deleted" {
		return eventQuiet, what + " is deleted."
	}
	switch e.State {
	case StateRefused:
		if verb == "changed" && family != "port" {
			return eventFault, fmt.Sprintf("%s is not accepted: %s.", what, e.Reason)
		}
	case StateDegraded:
		return eventFault, fmt.Sprintf("%s is degraded: %s.", what, e.Reason)
	case StateInstalling:
		if e.Reason == "" {
			return eventQuiet, what + " is being programmed."
		}
		return eventQuiet, fmt.Sprintf("%s is not programmed: %s.", what, e.Reason)
	case StateProgrammed:
		return eventOK, what + " is programmed."
	}
	return severityOf(verb), e.sayOther(noun, what, verb)
}

var (
	grave  = regexp.MustCompile(`lost|failed|refused|expired|overflow|^storm$`)
	uneasy = regexp.MustCompile(`risk|expiring|miscabled|alarm|uneven`)
	better = regexp.MustCompile(`recovered|renewed|ended|cabled`)
)

// severityOf returns how serious what the second part of a type says is.
func severityOf(verb string) EventSeverity {
	switch {
	case grave.MatchString(verb):
		return eventFault
	case uneasy.MatchString(verb):
		return eventWarning
	case better.MatchString(verb):
		return eventOK
	}
	return eventQuiet
}

// sayOther puts the message of an event behind the event's object, unless the message names the
// object.
func (e *Event) sayOther(noun, what, verb string) string {
	text := Sentence(e.Message)
	switch {
	case text == "":
		return what + ": " + strings.ReplaceAll(verb, "-", " ") + "."
	case e.Object != "" && strings.Contains(text, e.Object), e.Object == "" && noun == "":
		return text
	}
	return what + ": " + small(text)
}

func (e *Event) sayTopology() (EventSeverity, string) {
	n := e.Numbers
	if n == nil || n.Nodes == nil || n.Links == nil || n.Prefixes == nil {
		return eventQuiet, "The topology has changed."
	}
	text := fmt.Sprintf("The topology has %d nodes, %d links and %d prefixes", *n.Nodes, *n.Links,
		*n.Prefixes)
	if e.Reason != "" {
		return eventWarning, text + ", and may be old: " + e.Reason + "."
	}
	return eventQuiet, text + "."
}

// sayMember returns what became of a receiver, or of the connection of an application.
func (e *Event) sayMember(verb string) (EventSeverity, string) {
	role, name := "host", ""
	if len(e.Objects) > 1 {
		role, name = e.Objects[1].Kind, e.Objects[1].Label()
	}
	who := strings.TrimSpace(capital(role) + " " + name)
	switch e.Type {
	case EventReceiverStalled:
		return eventFault, fmt.Sprintf("%s stalls group %s.", who, e.Object)
	case EventReceiverRecovered:
		return eventOK, fmt.Sprintf("%s no longer stalls group %s.", who, e.Object)
	case EventReceiverEvicted:
		return eventWarning, fmt.Sprintf("%s was taken out of the tree of group %s.", who, e.Object)
	case EventConnectionUp:
		return eventOK, fmt.Sprintf("%s is connected to group %s.", who, e.Object)
	case EventConnectionDown:
		return eventQuiet, fmt.Sprintf("%s has left group %s.", who, e.Object)
	}
	text := fmt.Sprintf("%s is not connected to group %s", who, e.Object)
	if e.State == StateRefused { // by the host
		text = fmt.Sprintf("%s refuses the connection of group %s", who, e.Object)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return eventWarning, text + "."
}

func (e *Event) saySuspect() (EventSeverity, string) {
	name := fmt.Sprintf("One of %d links", len(e.Objects))
	if len(e.Objects) == 1 {
		name = e.thing()
	}
	n := e.Numbers
	if n == nil || n.Loss == nil || n.Confidence == nil {
		return eventWarning, name + " loses packets."
	}
	loss, _ := strconv.ParseFloat(fmt.Sprintf("%.2g", *n.Loss*100), 64)
	return eventWarning, fmt.Sprintf(
		"%s loses %s %% of its packets, with a confidence of %.0f %%.", name,
		strconv.FormatFloat(loss, 'f', -1, 64), math.Floor(math.Round(*n.Confidence*1e4)/100))
}

func (e *Event) sayDrain() (EventSeverity, string) {
	switch name := e.thing(); e.State {
	case StateUsed:
		return eventOK, name + " is in use again."
	case StateDraining:
		return eventWork, name + " is being drained."
	default:
		return eventWork, name + " is drained."
	}
}

// thing names the first object of an event by its kind, as a sentence begins.
func (e *Event) thing() string {
	if len(e.Objects) == 0 {
		return capital(e.Object)
	}
	switch o := &e.Objects[0]; o.Kind {
	case "node":
		return "Switch " + o.Label()
	case "host-port":
		host, port := o.ID, ""
		if at := strings.LastIndexByte(o.ID, '/'); at >= 0 {
			host, port = o.ID[:at], o.ID[at+1:]
		}
		return fmt.Sprintf("Host %s port %s", host, port)
	default:
		return capital(o.Kind) + " " + o.Label()
	}
}

func (e *Event) sayHost(verb, what string) (EventSeverity, string) {
	address, mac, at, from := e.of("address"), e.of("mac"), e.of("port"), e.of("former-port")
	switch {
	case verb == "bound" && at != "":
		return eventOK, fmt.Sprintf("%s is at %s: %s, MAC %s.", what, at, address, mac)
	case verb == "moved" && from != "":
		return eventQuiet, fmt.Sprintf("%s has moved from %s to %s: %s.", what, from, at, address)
	case verb == "moved" && at != "":
		return eventQuiet, fmt.Sprintf("%s at %s has another MAC for %s: %s.", what, at, address, mac)
	case verb == "gone" && at != "" && e.Reason == "":
		return eventWarning, fmt.Sprintf("%s at %s does not answer: %s.", what, at, address)
	case verb == "refused" && at != "":
		return eventWarning, fmt.Sprintf("MAC %s at %s may not have %s: %s.", mac, at, e.Object, e.Reason)
	case e.State == StateRefused:
		return eventFault, join(what+" refuses its configuration", Sentence(e.Reason))
	case e.State == StateWhole:
		return eventOK, fmt.Sprintf("%s %s.", what, e.Message)
	}
	return eventWarning, what + ": " + cmp.Or(small(Sentence(e.Message)), "its state has changed.")
}

// of returns the id of the object of a kind, "" without one.
func (e *Event) of(kind string) string {
	for i := range e.Objects {
		if e.Objects[i].Kind == kind {
			return e.Objects[i].ID
		}
	}
	return ""
}

// label returns what people call an object of an event.
func (e *Event) label(i int) string {
	if i < len(e.Objects) {
		return e.Objects[i].Label()
	}
	return e.Object
}

// Sentence returns a phrase as a sentence: with a capital at its begin and a full stop, exclamation
// mark or question mark at its end. The sentence of no phrase is empty.
func Sentence(phrase string) string {
	text := capital(strings.TrimSpace(phrase))
	if text == "" || strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!") ||
		strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

func capital(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	if n == 0 {
		return text
	}
	return strings.ToUpper(string(r)) + text[n:]
}

var word = regexp.MustCompile(`^[A-Z][a-z]+( |:|$)`)

// small lets a sentence after a colon begin small, unless with a name.
func small(text string) string {
	if word.MatchString(text) {
		return strings.ToLower(text[:1]) + text[1:]
	}
	return text
}

func join(head, why string) string {
	if why == "" {
		return head + "."
	}
	return head + ": " + small(why)
}
