import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { coded, counted, linked } from '../components/columns';
import { Facts, made } from '../components/facts';
import { Names, Resources } from '../components/link';
import { pagesOf } from '../components/resource';
import { Table } from '../components/table';
import { formatBitRate } from '../domain/format';
import { Lossless } from './pfc';
import { tenantForm } from './policies';

export const Tenants = pagesOf<Schemas['Tenant']>({ ...tenantForm, one: ask.tenant, List: Lossless, Page: One });

function One({ of: t }: { of: Schemas['Tenant'] }) {
  return (
    <>
      <h2>Sites</h2>
      <Table<NonNullable<Schemas['Tenant']['status']['sites']>[number]>
        rows={t.status.sites ?? []}
        id={(s) => `${s.switch} ${s.port}`}
        label={`Sites of ${t.name}`}
        empty="It has no site: no packet is the tenant's."
        columns={[
          linked('Switch', 'switches', (s) => s.switch),
          counted('Port', (s) => s.port, 0.4),
          { name: 'Prefixes', key: (s) => s.prefixes.join(', '), width: 2 },
          coded('SID', (s) => s.sid, 1.4),
        ]}
      />
      <Facts
        label={`Tenant ${t.name}`}
        of={[
          ['Slice', t.spec.slice],
          ['Priority', t.spec.priority],
          ['Rate', t.spec.rate ? formatBitRate(Number(t.spec.rate)) : 'what other queues leave'],
          ['SRv6 policies', t.spec.policies?.length && <Names of={t.spec.policies} page="srv6-policies" />],
          ['Used by', t.status.usedBy?.length && <Resources of={t.status.usedBy} />],
          ['VRF', t.status.vrf],
          ...made(t),
        ]}
      />
    </>
  );
}
