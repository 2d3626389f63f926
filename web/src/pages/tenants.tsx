import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { coded, counted, linked } from '../components/columns';
import { Facts } from '../components/facts';
import { Names, Resources } from '../components/link';
import { listOr, Resource } from '../components/resource';
import { Table } from '../components/table';
import { formatBitRate } from '../domain/format';
import { Lossless } from './pfc';
import { Edit } from './policies';

export const Tenants = listOr(Lossless, One);

function One({ name }: { name: string }) {
  return (
    <Resource
      collection="tenants"
      name={name}
      of={useQuery(ask.tenant(name))}
      form={(t, close) => <Edit of={{ kind: 'tenants', of: t }} close={close} />}
    >
      {(t) => (
        <>
          <h2>Sites</h2>
          <Table<NonNullable<Schemas['Tenant']['status']['sites']>[number]>
            rows={t.status.sites ?? []}
            id={(s) => `${s.switch} ${s.port}`}
            label={`Sites of ${name}`}
            empty="It has no site: no packet is the tenant's."
            columns={[
              linked('Switch', 'switches', (s) => s.switch),
              counted('Port', (s) => s.port, 0.4),
              { name: 'Prefixes', key: (s) => s.prefixes.join(', '), width: 2 },
              coded('SID', (s) => s.sid, 1.4),
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
        </>
      )}
    </Resource>
  );
}
