import { useQuery } from '@tanstack/react-query';
import * as ask from '../api/queries';
import { Conditions, Messages } from '../components/badge';
import { Delete } from '../components/delete';
import { Documented } from '../components/documented';
import { Facts, Heading } from '../components/facts';
import { Open } from '../components/form';
import { Names, Resources, To } from '../components/link';
import { Answer } from '../components/states';
import { Table } from '../components/table';
import { formatBitRate } from '../domain/format';
import { useEditing } from '../store/draft';
import { Lossless } from './pfc';
import { Edit } from './policies';

export function Tenants({ path }: { path: string[] }) {
  return path[0] === undefined ? <Lossless /> : <One name={path[0]} />;
}

function One({ name }: { name: string }) {
  const tenant = useQuery(ask.tenant(name));
  const [editing, setEditing] = useEditing('form', 'tenants', name);
  return (
    <Answer of={tenant} what={`tenant ${name}`} gone={<Documented collection="tenants" name={name} />}>
      {(t) => (
        <>
          <Heading title={`Tenant ${name}`} state={<Conditions of={t.status.conditions} />}>
            <Open scope="tenant:write" on={name} label="Change…" open={() => setEditing(true)} />
            <Delete collection="tenants" name={name} />
          </Heading>
          <Messages of={t.status.conditions} />
          <h2>Sites</h2>
          <Table
            rows={t.status.sites ?? []}
            id={(s) => `${s.switch} ${s.port}`}
            label={`Sites of ${name}`}
            empty="It has no site: no packet is the tenant's."
            columns={[
              { name: 'Switch', key: (s) => s.switch, cell: (s) => <To path={['switches', s.switch]}>{s.switch}</To> },
              { name: 'Port', key: (s) => s.port, number: true, width: 0.4 },
              { name: 'Prefixes', key: (s) => s.prefixes.join(', '), width: 2 },
              { name: 'SID', key: (s) => s.sid, cell: (s) => <code>{s.sid}</code>, width: 1.4 },
            ]}
          />
          <Facts
            label={`Tenant ${name}`}
            of={[
              ['Slice', t.spec.slice],
              ['Priority', t.spec.priority],
              ['Rate', t.spec.rate ? formatBitRate(Number(t.spec.rate)) : 'what other queues leave'],
              ['SRv6 policies', t.spec.policies?.length && <Names of={t.spec.policies} page="srv6-policies" />],
              ['Used by', t.status.usedBy?.length && <Resources of={t.status.usedBy} />],
              ['VRF', t.status.vrf],
              ['Version', t.version],
              ['Created', t.created],
            ]}
          />
          <Documented collection="tenants" name={name} of={t} />
          {editing && <Edit of={{ kind: 'tenants', of: t }} close={() => setEditing(false)} />}
        </>
      )}
    </Answer>
  );
}
