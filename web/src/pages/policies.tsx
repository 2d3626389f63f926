import { useQuery } from '@tanstack/react-query';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import type { Described } from '../components/form';
import * as field from '../domain/fields';
import { formatBitRate } from '../domain/format';
import { covers } from '../domain/project';
import { useAssigned } from '../store/assigned';

type Kind = 'srv6-policies' | 'tenants' | 'pfc-policies';
type Of = { name: string } | undefined;

// The form of each kind, as its pages need it.
const formed = (collection: Kind) => ({ collection, useForm: (of: Of) => usePolicyForm(collection, of) });
export const srv6Form = formed('srv6-policies'),
  tenantForm = formed('tenants'),
  pfcForm = formed('pfc-policies');

function usePolicyForm(kind: Kind, of: Of): Described {
  const reads = useMay('read');
  const switches = useQuery({ ...ask.switches, enabled: reads }),
    tenants = useQuery(ask.tenants),
    policies = useQuery({ ...ask.srv6Policies, enabled: reads });
  const assigned = useAssigned();
  const nodes = field.names(switches.data?.filter((s) => s.managed));
  const modes = [
    { value: 'policy', label: 'policy: an SRH with all segments' },
    { value: 'best-effort', label: 'best-effort: the last SID alone' },
  ];
  const required = true;
  const fieldsFor = (name: string): Record<Kind, field.Field[]> => {
    const has = kind === 'srv6-policies' ? undefined : assigned.of(of?.name ?? name);
    const number = (name: string, label: string, from: field.Choice[] | undefined, hint: string) =>
      from
        ? field.choice(name, label, from, { number: true, required, hint })
        : field.number(name, label, { required, hint });
    // The tenant of a PFC policy is of the policy's project.
    const own = has ? (tenants.data ?? []).filter((t) => has.projects.some((p) => covers(p, t.name))) : tenants.data;
    const srv6 = has?.srv6Policies ?? field.names(policies.data);
    return {
      'srv6-policies': [
        field.choice('headend', 'From', nodes, { required }),
        field.choice('endpoint', 'To', nodes, { required }),
        field.list(
          'segments',
          'Segment',
          'Segments',
          [field.choice('node', 'Switch', nodes, { empty: 'a SID' }), field.text('sid', 'SID')],
          { hint: 'Empty: the shortest path. A segment is a switch or a SID.' },
        ),
        field.choice('metric', 'Shortest by', ['igp', 'delay'], { empty: 'igp (default)' }),
        field.choice('mode', 'Encapsulation', modes, { empty: 'policy (default)' }),
      ],
      tenants: [
        number('slice', 'Slice', has?.slices, "Id of its slice (NRP), no other tenant's."),
        number('priority', 'Priority', has?.priorities, 'Queue of its packets at every switch, 0 to 7.'),
        field.number('rate', 'Rate', {
          hint:
            has?.bandwidth === undefined
              ? 'bit/s of its queue. Empty: what other queues leave.'
              : `bit/s of its queue, of ${formatBitRate(has.bandwidth)} that are left.`,
        }),
        field.list(
          'sites',
          'Site',
          'Sites',
          [
            ...(has
              ? [field.port('switch', 'Port', has.ports, { required })]
              : [
                  field.choice('switch', 'Switch', nodes, { required }),
                  field.number('port', 'Port', { required, at: 'switch' }),
                ]),
            field.texts('prefixes', 'Prefix', 'Prefixes'),
          ],
          { first: () => (has ? {} : { switch: nodes[0]?.value ?? '' }) },
        ),
        field.texts('policies', 'SRv6 policy', 'SRv6 policies', {
          add: 'Add an SRv6 policy',
          from: srv6,
          hint: 'Those that carry it between its sites; elsewhere it takes the shortest path.',
        }),
      ],
      'pfc-policies': [
        field.choice('srv6Policy', 'SRv6 policy', srv6, { required }),
        field.choice('tenant', 'Tenant', field.names(own), { required }),
        field.choice(
          'scenario',
          'Scenario',
          [
            { value: '1', label: '1: tunnels are made in advance' },
            { value: '2', label: '2: tunnels are made on the first packet' },
          ],
          { number: true, empty: '1 (default)' },
        ),
        field.choice('tunnel', 'Tunnels', modes, { empty: 'policy (default)' }),
        field.number('buffer', 'Buffer', { hint: 'octets of the queue at each node' }),
        field.number('xoff', 'XOFF', { hint: 'octets; empty: from the measured round trip' }),
        field.number('xon', 'XON', { hint: 'octets; empty: three quarters of XOFF' }),
        field.text('maxPause', 'Longest pause', {
          hint: 'A queue that is paused for longer is taken for a storm, such as 500ms.',
        }),
        field.flag('allowCycle', 'Accept a circle of queues that wait for each other'),
      ],
    };
  };
  return {
    first: kind === 'tenants' ? { sites: [] } : {},
    fields: (name) => fieldsFor(name)[kind],
    within: assigned.within,
  };
}
