import type { Schemas } from '../api/client';
import * as ask from '../api/queries';
import { coded, linked } from '../components/columns';
import { Facts, made } from '../components/facts';
import { Names, Resources, To } from '../components/link';
import { pagesOf } from '../components/resource';
import { Table } from '../components/table';
import { Lossless } from './pfc';
import { srv6Form } from './policies';

export const Srv6Policies = pagesOf<Schemas['Srv6Policy']>({
  ...srv6Form,
  one: ask.srv6Policy,
  List: Lossless,
  Page: One,
});

function One({ of: p }: { of: Schemas['Srv6Policy'] }) {
  return (
    <>
      <p>
        From <To path={['switches', p.spec.headend]}>{p.spec.headend}</To> to{' '}
        <To path={['switches', p.spec.endpoint]}>{p.spec.endpoint}</To>
        {p.spec.segments?.length
          ? ' over the segments of its document'
          : `, the way that is shortest by ${p.spec.metric || 'igp'}`}
        .
      </p>
      <h2>Its path</h2>
      {p.status.path?.length ? (
        <ol className="path" aria-label="Path">
          {p.status.path.map((s) => (
            <li key={s}>
              <To path={['switches', s]}>{s}</To>
            </li>
          ))}
        </ol>
      ) : (
        <p className="state">There is none now.</p>
      )}
      <h2>Segments in force</h2>
      <Table<NonNullable<Schemas['Srv6Policy']['status']['segmentList']>[number]>
        rows={p.status.segmentList ?? []}
        id={(s) => s.sid}
        label={`Segments of ${p.name}`}
        empty="There is none."
        columns={[
          linked('Switch', 'switches', (s) => s.node),
          coded('SID', (s) => s.sid, 1.6),
          { name: 'Behavior', key: (s) => s.behavior, width: 1.6 },
        ]}
      />
      <Facts
        label={`SRv6 policy ${p.name}`}
        of={[
          ['Encapsulation', p.spec.mode === 'best-effort' ? 'the last SID alone' : 'an SRH with all segments'],
          ['PFC at', p.status.pfcNodes?.length && <Names of={p.status.pfcNodes} page="switches" />],
          ['Used by', p.status.usedBy?.length && <Resources of={p.status.usedBy} />],
          ...made(p),
        ]}
      />
    </>
  );
}
