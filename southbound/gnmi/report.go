package gnmi

// Report is what a switch answers by gNMI.
type Report struct {
	// Dialect is the name of the dialect that the switch is asked in; "" before it was asked.
	Dialect string
	// Version is the version of gNMI, and Models are the names and versions of the models, that the
	// switch's Capabilities name. Both are empty when it answers none.
	Version string
	Models  []Model
	// Encoding is the encoding that the controller requests for values.
	Encoding string
	// Paths lists the requested paths, in the order of the dialect.
	Paths []PathReport
}

// Model is a data model that a switch has.
type Model struct{ Name, Organization, Version string }

// PathReport is how a switch answers a subscription to a path.
type PathReport struct {
	Stream string
	Path   string
	// Mode is the mode of the accepted subscription; "": the switch accepted no subscription.
	Mode string
	// Error is why the switch accepted no subscription; "": nobody has asked yet.
	Error string
}

// maxModels bounds the models of a report.
const maxModels = 256

// clip shortens a text of a switch.
func clip(text string) string {
	const most = 200
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
