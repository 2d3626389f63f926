package notification

import (
	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Kind describes notifications. Reading takes the scope of writing: paths of URLs may be secrets.
var Kind = kind.New[api.NotificationSpec, api.Notification](kind.About{
	Names:   kind.Names{One: "notification", Noun: "notification"},
	Prefix:  "notifications/",
	Creates: true, Heading: kind.HeadingAccess, Reads: access.Administer, Writes: access.Administer,
	Example: map[string]any{"severities": []string{"fault"}},
	Created: "The receiver is told of each cause that begins, changes or is over, those that there " +
		"are included: a POST of a CauseMessage with the headers of Standard Webhooks (webhook-id, " +
		"webhook-timestamp, webhook-signature).",
	Deleted: "The receiver is told nothing more, and what waits is not sent.",
	Help:    "notifications: webhooks that are told of causes", Events: []string{"notification"},
})
