import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import * as act from '../api/actions';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { useMay } from '../api/session';
import { Badge, Summary } from '../components/badge';
import { actions, leading, rated, shown } from '../components/columns';
import { CutOff } from '../components/cutoff';
import { Folded } from '../components/documented';
import { Confirm, Form, Open } from '../components/form';
import { PortHistory } from '../components/history';
import { To } from '../components/link';
import { Table, type Column } from '../components/table';
import * as field from '../domain/fields';
import { formatAge, formatBitRate } from '../domain/format';
import { useNow } from '../store/now';
import { useParam } from '../store/place';
import { Section } from '../components/facts';

type Port = Schemas['Port'];

const rates = [10e6, 100e6, 1e9, 2.5e9, 5e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 600e9, 800e9, 1600e9];
const speeds = rates.map((r) => ({ value: String(r), label: formatBitRate(r) }));
const fields = [
  field.flag('enabled', 'in service', { fallback: true }),
  field.choice('speed', 'Speed', speeds, { number: true, empty: 'as it is on the switch' }),
  field.number('mtu', 'MTU', { hint: 'octets, 1280 to 65535; empty: as it is on the switch' }),
  field.text('description', 'Description'),
];

/** The ports of a switch, what is wanted of them, and what they are; they are taken out of service here. */
export function Ports({ name }: { name: string }) {
  const ports = useQuery(ask.ports(name)),
    gnmi = useQuery(ask.gnmi(name));
  const [editing, setEditing] = useState<Port>();
  const names = useQuery({ ...ask.nodes, enabled: useMay('read') });
  const neighbour = (link: string) => {
    const [node = '', port = ''] = (link.split('~')[1] ?? '').split(',');
    return `${names.data?.find((n) => n.id === node)?.status.name ?? node} port ${port}`;
  };
  const now = useNow();
  const [port] = useParam('port');
  const chosen = ports.data?.find((p) => String(p.status.port) === port);
  if (!ports.data?.length) return null;
  const columns: Column<Port>[] = [
    leading(
      'Port',
      (p) => p.status.port,
      (p) => ({ path: ['switches', name], query: { port: String(p.status.port) } }),
      0.35,
    ),
    {
      name: 'Interface',
      key: (p) => p.status.interface ?? '',
      cell: (p) => <span title={p.status.mac}>{p.status.interface}</span>,
      width: 0.8,
    },
    {
      name: 'State',
      key: (p) => p.status.oper ?? '',
      width: 1.1,
      cell: (p) => <State of={p} now={now} silent={gnmi.data?.error !== undefined} />,
    },
    rated('Speed', (p) => p.status.speed, 0.7),
    shown('MTU', (p) => p.status.config.mtu, String, { number: true, width: 0.5, none: '' }),
    {
      name: 'Link to',
      key: (p) => p.status.link ?? '',
      cell: (p) =>
        p.status.link && (
          <To path={['fabric']} query={{ link: p.status.link }}>
            <span title={p.status.link}>{neighbour(p.status.link)}</span>
          </To>
        ),
      width: 1.2,
    },
    {
      name: 'Wanted',
      key: (p) => (p.version > 0 ? 1 : 0),
      width: 1.1,
      cell: (p) =>
        p.version === 0 ? (
          <span className="quiet">as it is</span>
        ) : (
          <span
            title={p.status.drift && `changed ${formatAge(p.status.drift.time, now)} ago: ${p.status.drift.message}`}
          >
            <Summary of={p.status.conditions} />
            {p.status.drift && ', drifted'}
          </span>
        ),
    },
    actions(2.2, (p) => {
      const out = p.status.config.enabled === false || p.spec.enabled === false;
      const label = out ? 'Enable' : 'Disable';
      const enable = (dry: boolean) =>
        act.replace('ports', `${name}/${p.status.port}`, { ...p.spec, enabled: out }, p.version, dry);
      return (
        <span className="buttons">
          <Confirm
            scope="operate"
            label={label}
            danger={!out}
            title={`${label} port ${p.name}?`}
            act={() => enable(false)}
            dry={() => enable(true)}
          >
            {out ? (
              <p>The switch takes the port into service again.</p>
            ) : (
              <>
                <p>
                  The switch takes the port out of service. Trees, tunnels and EVs leave{' '}
                  {p.status.link ? 'its link' : 'it'} at once; what is on its way there is lost. To lose nothing, drain
                  the link before.
                </p>
                <CutOff port={p} />
              </>
            )}
          </Confirm>
          <Open scope="operate" label="Change…" name={`Change port ${p.name}`} open={() => setEditing(p)} />
          {p.version > 0 && (
            <Confirm
              scope="operate"
              label="Forget"
              title={`Forget what is wanted of port ${p.name}?`}
              act={() => act.remove('ports', `${name}/${p.status.port}`, false)}
            >
              <p>The switch keeps the settings that it has.</p>
            </Confirm>
          )}
        </span>
      );
    }),
  ];
  return (
    <Section title="Ports">
      {gnmi.data?.error && (
        <p>
          <Badge tone="warning">no reports by gNMI</Badge> {gnmi.data.error}
        </p>
      )}
      {gnmi.data?.differs?.map((d) => (
        <p key={d.field}>
          <Badge tone="warning">differs</Badge> <code>{d.field}</code> is {d.want}, and the switch says {d.got}.
        </p>
      ))}
      {chosen && (
        <PortHistory name={chosen.name}>
          <Folded key={chosen.name} collection="ports" name={chosen.name} of={chosen} />
        </PortHistory>
      )}
      <Table rows={ports.data} columns={columns} id={(p) => p.name} label="Ports" selected={chosen?.name} />
      {editing && <Form collection="ports" of={editing} fields={fields} close={() => setEditing(undefined)} />}
    </Section>
  );
}

function State({ of: p, now, silent }: { of: Port; now: number; silent: boolean }) {
  const d = p.status.damping;
  if (silent && p.status.oper) return <Badge tone="quiet">not known, {p.status.oper} before</Badge>;
  if (p.status.config.enabled === false) return <Badge tone="work">out of service</Badge>;
  if (p.status.oper === 'down') return <Badge tone="fault">down</Badge>;
  if (d?.out)
    return (
      <Badge tone="warning" title={`${d.failures} failures, ${d.flaps} flaps`}>
        up, not used{d.until ? ` for ${formatAge(new Date(2 * now - Date.parse(d.until)).toISOString(), now)}` : ''}
      </Badge>
    );
  return p.status.oper ? <Badge tone="ok">up</Badge> : <Badge tone="quiet">unknown</Badge>;
}
