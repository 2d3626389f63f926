import { plain } from './controller';
import { linkFindings } from './link';
import { names, type Finding, type Known } from './finding';

export function switchFindings(known: Known): Finding[] {
  const { switches = [], peers = [] } = known;
  const settling = switches.filter((s) => s.managed && s.connected && s.settling);
  const found: Finding[] =
    settling.length === 0
      ? []
      : [
          {
            id: 'settling',
            kind: 'switch',
            severity: 'warning',
            what: 'Switches keep old routes',
            detail: `${names(settling.map((s) => s.name))}: the topology may be incomplete, or was until just now.`,
            means: 'Traffic goes on by the routes that there were.',
            todo: 'Wait some seconds. If it stays, bring the BGP-LS peers up.',
            path: ['switches'],
            because: peers.filter((p) => p.state !== 'established').map((p) => `peer/${p.name}`),
          },
        ];
  for (const s of switches.filter((x) => x.managed)) {
    const at = {
      id: `switch/${s.name}`,
      kind: 'switch' as const,
      path: ['switches', s.name],
      since: s.since,
      because: [],
    };
    if (!s.connected)
      found.push({
        ...at,
        severity: 'fault',
        what: `Switch ${s.name} is not connected`,
        detail: plain(s.reason ?? s.errors?.[0] ?? ''),
        means:
          'The controller cannot program it or see its ports. If it forwards still, its traffic goes on as it was programmed last.',
        todo: `See that ${s.name} has power and runs, and that its P4Runtime server is reached${s.address ? ` at ${s.address}` : ''}.`,
      });
    else if (s.errors?.length)
      found.push({
        ...at,
        severity: 'fault',
        what: `Switch ${s.name} refuses updates`,
        detail: plain(s.errors[0]!),
        means: 'Resources that need these entries do not carry all of their traffic.',
        todo: 'See the reason, and whether a table of the switch is full. The controller goes on trying.',
      });
  }
  const busy = switches.filter((s) => s.managed && s.connected && !s.synced && !s.errors?.length);
  if (busy.length > 0)
    found.push({
      id: 'programming',
      kind: 'switch',
      severity: 'warning',
      what: 'Switches are being programmed',
      detail: `${names(busy.map((s) => s.name))}: ${busy.reduce((n, s) => n + s.pending, 0)} updates are pending.`,
      means: 'Traffic of what changed goes on by the former entries.',
      todo: 'Wait: it takes some seconds.',
      path: ['switches'],
      // What fails has the controller program others anew.
      because: [
        ...switches.filter((s) => s.managed && !s.connected).map((s) => `switch/${s.name}`),
        ...linkFindings(known).map((f) => f.id),
      ],
    });
  return found;
}
