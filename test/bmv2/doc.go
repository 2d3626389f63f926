// Package bmv2 starts networks of BMv2 switches (simple_switch_grpc) for tests: it makes a private
// network namespace with veth pairs, one simple_switch_grpc a switch, and taps on the ports that
// face hosts.
//
// A [Network] is started from a [Topology] and speaks P4Runtime on loopback addresses of the
// caller's namespace, so that any controller can program it. [Require] says whether the machine can
// do all this; a test that needs it calls that first and is skipped otherwise. Nothing outlives
// Close: the namespace has no name, and the switches die with the thread that started them.
//
// [Network.Record] sees every frame on every cable, and [Network.Inject] has one arrive at any
// port.
//
// A BMv2 switch has limits of its own. It takes for received what others send out of its
// interfaces, too. Its ports lose frames when some 30 arrive before it looks (libpcap's ring);
// queues are made 4,096 packets deep; multicast group ids end at 4,095, and 4,096 replicas in all
// its groups are the most it holds. Multicast groups and clone sessions outlive a new pipeline.
//
// The package is Linux only and for tests only; it does not look into what the switches run.
package bmv2
