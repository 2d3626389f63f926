import { useQuery } from '@tanstack/react-query';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import { Form, type Choice, type Field } from '../components/form';
import { formatBitRate } from '../domain/format';
import { covers } from '../domain/project';
import type { Spec } from '../domain/spec';
import { useAssigned } from '../store/assigned';
import { go } from '../store/place';

export type Kind = 'srv6-policies' | 'tenants' | 'pfc-policies';

export interface Edited {
  kind: Kind;
  /** Absent: a new one. */
  of?: { name: string; version: number; spec: unknown };
}

export function Edit({ of, close }: { of: Edited; close: () => void }) {
  const reads = useMay('read');
  const switches = useQuery({ ...ask.switches, enabled: reads }),
    tenants = useQuery(ask.tenants),
    policies = useQuery({ ...ask.srv6Policies, enabled: reads });
  const assigned = useAssigned();
  const nodes: Choice[] = (switches.data ?? []).filter((s) => s.managed).map((s) => ({ value: s.name }));
  const named = (list: { name: string }[] | undefined): Choice[] => (list ?? []).map((x) => ({ value: x.name }));
  const modes: Choice[] = [
    { value: 'policy', label: 'policy: an SRH with all segments' },
    { value: 'best-effort', label: 'best-effort: the last SID alone' },
  ];
  const fieldsFor = (name: string): Record<Kind, Field[]> => {
    const has = of.kind === 'srv6-policies' ? undefined : assigned.of(of.of?.name ?? name);
    const number = (field: string, label: string, from: Choice[] | undefined, hint: string): Field =>
      from
        ? { kind: 'choice', name: field, label, number: true, required: true, from, hint }
        : { kind: 'number', name: field, label, required: true, hint };
    // The tenant of a PFC policy is of the policy's project.
    const own = has ? (tenants.data ?? []).filter((t) => has.projects.some((p) => covers(p, t.name))) : tenants.data;
    return {
      'srv6-policies': [
        { kind: 'choice', name: 'headend', label: 'From', required: true, from: nodes },
        { kind: 'choice', name: 'endpoint', label: 'To', required: true, from: nodes },
        {
          kind: 'list',
          name: 'segments',
          label: 'Segment',
          plural: 'Segments',
          add: 'Add a segment',
          hint: 'Empty: the shortest path. A segment is a switch or a SID.',
          first: () => ({}),
          item: [
            { kind: 'choice', name: 'node', label: 'Switch', empty: 'a SID', from: nodes },
            { kind: 'text', name: 'sid', label: 'SID' },
          ],
        },
        {
          kind: 'choice',
          name: 'metric',
          label: 'Shortest by',
          empty: 'igp (default)',
          from: [{ value: 'igp' }, { value: 'delay' }],
        },
        { kind: 'choice', name: 'mode', label: 'Encapsulation', empty: 'policy (default)', from: modes },
      ],
      tenants: [
        number('slice', 'Slice', has?.slices, "Id of its slice (NRP), no other tenant's."),
        number('priority', 'Priority', has?.priorities, 'Queue of its packets at every switch, 0 to 7.'),
        {
          kind: 'number',
          name: 'rate',
          label: 'Rate',
          hint:
            has?.bandwidth === undefined
              ? 'bit/s of its queue. Empty: what other queues leave.'
              : `bit/s of its queue, of ${formatBitRate(has.bandwidth)} that are left.`,
        },
        {
          kind: 'list',
          name: 'sites',
          label: 'Site',
          plural: 'Sites',
          add: 'Add a site',
          first: () => (has ? {} : { switch: nodes[0]?.value ?? '' }),
          item: [
            ...(has
              ? [{ kind: 'port', name: 'switch', label: 'Port', required: true, from: has.ports } as const]
              : [
                  { kind: 'choice', name: 'switch', label: 'Switch', required: true, from: nodes } as const,
                  { kind: 'number', name: 'port', label: 'Port', required: true, at: 'switch' } as const,
                ]),
            { kind: 'texts', name: 'prefixes', label: 'Prefix', plural: 'Prefixes', add: 'Add a prefix' },
          ],
        },
        {
          kind: 'texts',
          name: 'policies',
          label: 'SRv6 policy',
          plural: 'SRv6 policies',
          add: 'Add an SRv6 policy',
          from: has?.srv6Policies ?? named(policies.data),
          hint: 'Those that carry it between its sites; elsewhere it takes the shortest path.',
        },
      ],
      'pfc-policies': [
        {
          kind: 'choice',
          name: 'srv6Policy',
          label: 'SRv6 policy',
          required: true,
          from: has?.srv6Policies ?? named(policies.data),
        },
        { kind: 'choice', name: 'tenant', label: 'Tenant', required: true, from: named(own) },
        {
          kind: 'choice',
          name: 'scenario',
          label: 'Scenario',
          number: true,
          empty: '1 (default)',
          from: [
            { value: '1', label: '1: tunnels are made in advance' },
            { value: '2', label: '2: tunnels are made on the first packet' },
          ],
        },
        { kind: 'choice', name: 'tunnel', label: 'Tunnels', empty: 'policy (default)', from: modes },
        { kind: 'number', name: 'buffer', label: 'Buffer', hint: 'octets of the queue at each node' },
        { kind: 'number', name: 'xoff', label: 'XOFF', hint: 'octets; empty: from the measured round trip' },
        { kind: 'number', name: 'xon', label: 'XON', hint: 'octets; empty: three quarters of XOFF' },
        {
          kind: 'text',
          name: 'maxPause',
          label: 'Longest pause',
          hint: 'A queue that is paused for longer is taken for a storm, such as 500ms.',
        },
        {
          kind: 'flag',
          name: 'allowCycle',
          label: 'Accept a circle of queues that wait for each other',
          fallback: false,
        },
      ],
    };
  };
  const first: Record<Kind, Spec> = { 'srv6-policies': {}, tenants: { sites: [] }, 'pfc-policies': {} };
  return (
    <Form
      collection={of.kind}
      of={of.of}
      first={first[of.kind]}
      fields={(name) => fieldsFor(name)[of.kind]}
      within={assigned.within}
      close={close}
      done={(name) => {
        if (of.kind === 'pfc-policies') go(['pfc', name]);
      }}
    />
  );
}
